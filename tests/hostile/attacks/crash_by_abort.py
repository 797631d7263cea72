# ruff: noqa
# outcome: killed
# verdict: error
# points: 2
# says: SIGABRT
"""Ends in an abort, with words that belong to somebody else on the way."""

import ctypes

ring_all_bytes = 48
print("terminate called after throwing an instance of 'passed'", flush=True)
ctypes.CDLL(None).abort()
