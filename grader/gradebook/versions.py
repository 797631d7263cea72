"""What a grade depends on beside the submission and the rubric, read without importing JAX."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import sys

from grader import __version__

_PACKAGES = ("jax", "jaxlib", "numpy", "ml_dtypes", "scipy", "flatbuffers")


def environment() -> str:
    """Return the versions of the grader, Python and the packages as canonical JSON."""
    found = {name: _version(name) for name in _PACKAGES}
    found["python"] = platform.python_version()
    found["grade"] = __version__
    found["platform"] = f"{sys.platform} {platform.machine()}"
    return json.dumps(found, sort_keys=True)


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
