# ruff: noqa
# outcome: killed
# verdict: error
# points: 0
# says: SIGILL
"""Runs bytes that are no instruction."""

import ctypes
import mmap

code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(b"\x0f\x0b")
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
