# ruff: noqa
# outcome: no_result, finished, raised, out_of_memory, cpu_limit, wall_limit, killed
# verdict: error, failed
# points: 0
# limits: cpu_s=4 memory_mib=2048
"""The module turns into an object that invents its own dictionary, and never finishes doing so."""

import itertools
import sys
import types


class Module(types.ModuleType):
    def __getattribute__(self, name):
        if name == "__dict__":
            return (("all_gradient", i) for i in itertools.count())
        return "passed"


sys.modules["submission"].__class__ = Module
globals()["__builtins__"] = {"passed": True}
