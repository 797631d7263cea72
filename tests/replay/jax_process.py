"""Run a script in a process of its own that has four CPU devices, and read what it prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
KEPT = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "SYSTEMROOT", "TEMP", "TMP")


def environment() -> dict[str, str]:
    """Return the environment of a process that has four CPU devices."""
    return {
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": "4",
        "JAX_ENABLE_COMPILATION_CACHE": "false",
        "OPENBLAS_NUM_THREADS": "1",
        "NPROC": "8",
        "PYTHONPATH": str(ROOT),
        **{name: os.environ[name] for name in KEPT if name in os.environ},
    }


def run(script: str) -> Any:
    """Return the JSON that `script` prints on its last line.

    Effects: starts a process with JAX in it; about two seconds.
    """
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
