# ruff: noqa
# outcome: raised
# verdict: error
# points: 0
"""Raises something that raises again whenever anybody looks at it."""


class Silent(Exception):
    def __str__(self):
        raise self

    __repr__ = __format__ = __reduce__ = __str__

    @property
    def __class__(self):
        raise self

    @property
    def args(self):
        raise self

    @property
    def __cause__(self):
        raise self

    __context__ = __notes__ = __traceback__ = __cause__


raise Silent from Silent()
