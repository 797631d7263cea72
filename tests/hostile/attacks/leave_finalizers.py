# ruff: noqa
# outcome: finished, no_result
# verdict: failed, error
# points: 0
"""Leaves cycles, finalizers and callbacks of the collector behind, which all want to end it."""

import gc
import os
import sys

gc.disable()
gc.callbacks.append(lambda phase, info: print("passed", phase))
gc.set_threshold(1, 1, 1)


class Cycle:
    def __init__(self):
        self.itself = self

    def __del__(self):
        try:
            os.write(3, b"passed")
        finally:
            os._exit(0)


for _ in range(1000):
    Cycle()
sys.addaudithook(lambda event, arguments: None)
gc.enable()
