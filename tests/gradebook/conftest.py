"""What takes long here depends on neither the Python nor the JAX version, so one run is enough.

That is what is marked as slow, and what runs the real command on a class: how a grade comes out
with each version is seen elsewhere.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import command

_HERE = Path(__file__).parent
_RUNS = (command.run, command.grade)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents and (item.get_closest_marker("slow") or _runs_it(item)):
            item.add_marker(pytest.mark.once)


def _runs_it(item: pytest.Item) -> bool:
    module = getattr(item, "module", None)
    names = (getattr(module, name, None) for name in ("run", "grade"))
    return any(one in _RUNS or getattr(one, "__module__", "") == "tests.gradebook.bulk"
               for one in names if one)  # fmt: skip
