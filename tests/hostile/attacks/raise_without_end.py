# ruff: noqa
# outcome: cpu_limit, raised
# verdict: error
# points: 0
# limits: cpu_s=2
"""Raises something whose message never ends."""


class Talkative(Exception):
    def __str__(self):
        while True:
            pass

    __repr__ = __str__


raise Talkative
