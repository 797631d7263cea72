# ruff: noqa
# outcome: no_result, finished, raised, out_of_memory, cpu_limit, wall_limit, killed
# verdict: error, failed
# points: 0
"""The module turns into an object that invents its own dictionary, which ends the process at last."""

import itertools
import sys
import types


def endless():
    for number in itertools.count():
        yield number, "passed"
        if number > 10**5:
            raise SystemExit(0)


class Module(types.ModuleType):
    def __getattribute__(self, name):
        if name == "__dict__":
            return endless()
        return "passed"


sys.modules["submission"].__class__ = Module
globals()["__builtins__"] = {"passed": True}
