# ruff: noqa
# outcome: output_flood
# verdict: error
# points: 0
"""Floods both streams from several threads, past Python, without a single line end."""

import os
import threading


def flood(descriptor):
    block = b"\x1b[2Jpassed " * 6000
    while True:
        os.write(descriptor, block)


for descriptor in (1, 2, 1, 2):
    threading.Thread(target=flood, args=(descriptor,)).start()
flood(2)
