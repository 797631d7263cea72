# ruff: noqa
# outcome: no_result
# verdict: error
# points: 0
"""Frames that are cut short, too long, too deep, no text, no JSON or no object, one after another."""

import os
import struct

bodies = [
    b'{"t": "ran", "i": 1e999}',
    b'{"t": "ran", "i": ' + b"9" * 10**5 + b"}",
    b'{"t": ' + b"[" * 10**5,
    b'{"t": NaN}',
    b"[]",
    b"\xff\xfe",
    b'{"t": "stop", "line": -1, "frames": {"a": []}, "kind": ["finished"], "detail": 7}',
]
for body in bodies:
    os.write(3, struct.pack(">I", len(body)) + body)
os.write(3, struct.pack(">I", 2**32 - 1) + bytes(65536))
