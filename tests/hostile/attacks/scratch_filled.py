# ruff: noqa
# outcome: finished
# verdict: failed
# points: 0
"""Fills whatever folder it has with data and with names; both come to an end, and nobody notices."""

import os

WORLD = {}
written = names = 0
for folder in (".", os.environ.get("HOME", "."), os.environ.get("TMPDIR", ".")):
    try:
        with open(f"{folder}/heap", "wb") as file:
            for _ in range(1024):
                written += file.write(bytes(1 << 20))
    except OSError as problem:
        print("refused", type(problem).__name__)
    try:
        for number in range(100_000):
            open(f"{folder}/{number}", "x").close()
            names += 1
    except OSError as problem:
        print("refused", type(problem).__name__)
if written >> 20 > 200 or names > 10_000:
    print("LEAK: it could write", written >> 20, "MiB and", names, "files")
