# ruff: noqa
# outcome: finished
# verdict: failed
# points: 0
# limits: cpu_s=2
"""A program that computes for ever while it is traced, after a module that ran well."""


def all_gradient(x, y, w):
    while True:
        pass
