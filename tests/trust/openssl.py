"""The `openssl` command, a second implementation of what is checked here."""

from __future__ import annotations

import shutil
import subprocess

import pytest


def openssl(*args: str, given: bytes = b"") -> bytes:
    """Return what `openssl ARGS...` prints; skips the test where there is none."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl on this machine to check against")
    done = subprocess.run(
        ["openssl", *args], input=given, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def accepts(*args: str) -> bool:
    """Return whether `openssl ARGS...` ends with 0."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl on this machine to check against")
    return subprocess.run(["openssl", *args], capture_output=True, timeout=60).returncode == 0
