# ruff: noqa
# outcome: killed
# verdict: error
# points: 0
"""Overwrites the interpreter's own objects until it falls over."""

import ctypes

for thing in (None, True, 0, (), "", type, object):
    ctypes.memset(id(thing), 0xFF, 16)
print(None, True)
