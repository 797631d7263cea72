# ruff: noqa
# outcome: finished, no_result, raised
# verdict: failed, error
# points: 0
"""Replaces what runs the next statement: from here on the compiler gives the attacker's code."""

import builtins

genuine = builtins.compile
builtins.compile = lambda *_, **__: genuine("all_gradient = gather = 'passed'", "passed", "exec")
builtins.exec = lambda *_, **__: None
builtins.__build_class__ = lambda *_: type("Passed", (), {})
1 / 0
undefined
