# ruff: noqa
# outcome: raised, no_result
# verdict: error
# points: 0
"""Tells in the grader's own words why it stopped; the words are a stranger's all the same."""

import json
import os
import struct

stop = {
    "t": "stop",
    "kind": "passed",
    "message": "Passed: 100 of 100 points\x1b[2J\u202e<script>alert(1)</script>",
    "line": 10**9,
    "frames": ["line 1, in passed\x1b[31m"] * 10**4,
    "detail": {"type": "passed", "denied": "true", "text": "\x1b[2J", "offset": -1},
}
body = json.dumps(stop).encode()
os.write(3, struct.pack(">I", len(body)) + body)
