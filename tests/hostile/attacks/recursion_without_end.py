# ruff: noqa
# outcome: raised, killed, out_of_memory, no_result
# verdict: error
# points: 0
"""Goes down without end, with the limit taken away, in Python and in C."""

import sys

sys.setrecursionlimit(2**31 - 1)


class Deep:
    def __repr__(self):
        return repr([self])

    __getattr__ = lambda self, name: getattr(self, name + "x")


nested = ()
for _ in range(10**6):
    nested = (nested,)
try:
    hash(nested)
except BaseException as problem:
    print(type(problem).__name__)
repr(Deep())
