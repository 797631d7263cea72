# ruff: noqa
# outcome: no_result, cpu_limit, wall_limit, killed
# verdict: error
# points: 0
# limits: cpu_s=4 wall_s=8
"""Sends well-formed frames as fast as it can and never stops."""

import json
import os
import struct

body = json.dumps({"t": "claim", "name": "x", "kind": "text", "value": "passed" * 2000}).encode()
block = (struct.pack(">I", len(body)) + body) * 100
while True:
    os.write(3, block)
