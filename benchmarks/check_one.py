"""The plain way to check one solution: import it in a fresh process, call it, compare.

This is what a short script of an instructor would do, and what bulk grading is measured against. It
is no grader: it trusts the file, knows one input and gives no points.
"""

from __future__ import annotations

import os
import runpy
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "4")

import numpy as np


def main(path: str) -> None:
    names = runpy.run_path(path, run_name="submission")
    x = np.arange(128, dtype=np.float32).reshape(16, 8) % 7 - 3
    y = np.arange(16, dtype=np.float32) % 5 - 2
    w = np.linspace(-1, 1, 8, dtype=np.float32)
    right = 2 * x.T @ (x @ w - y) / 16
    for name in ("all_gradient", "shard_gradient"):
        found = np.asarray(names[name](x, y, w))
        np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-4)
    found = np.asarray(names["gather"](names["shard_gradient"](x, y, w)))
    np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    main(sys.argv[1])
