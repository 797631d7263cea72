"""Reads address zero: the process dies without a Python exception."""

import ctypes

print("about to fall", flush=True)
ctypes.string_at(0)
