"""The optional libraries that sign: whether they are here, and what to install where not."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from grader.errors import EnvironmentProblem

_NEEDED = ("securesystemslib", "cryptography")


def require(needed: Sequence[str] = _NEEDED) -> None:
    """Do nothing where the libraries are installed.

    Raises: EnvironmentProblem where one is missing.
    """
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise EnvironmentProblem(
            f"keys and signatures need {' and '.join(missing)}, which this Python does not have",
            next_step="pip install 'shardgrade[sign]'",
        )
