"""What the fork server does once for all its children leaves it as forkable as before."""

from __future__ import annotations

import pytest

from grader.sandbox.launching import quick_flags
from tests.replay import jax_process

_AROUND = """
import json, os
import jax, jax.export
from jax._src import xla_bridge
from jax._src.interpreters import mlir
from grader.sandbox import ahead
own = mlir.make_ir_context
{before}
ahead.prepare()
print(json.dumps({{
    "threads": len(os.listdir("/proc/self/task")),
    "backends": len(xla_bridge._backends),
    "stocked": mlir.make_ir_context is not own or own() is own(),
    "works": float(jax.jit(lambda x: x + 1)(1.0)),
    "devices": len(jax.devices()),
}}))
"""


def prepared(before: str = "") -> dict[str, object]:
    """Return what a process is like after `prepare`, and that JAX still works in it."""
    found: dict[str, object] = jax_process.run(_AROUND.format(before=before))
    return found


def test_no_thread_and_no_backend_is_left_and_jax_still_works() -> None:
    assert prepared() == {
        "threads": 1,
        "backends": 0,
        "stocked": True,
        "works": 2.0,
        "devices": 4,
    }


def test_more_contexts_than_are_in_stock_can_be_made() -> None:
    assert prepared("ahead.CONTEXTS = 2")["works"] == 2.0


@pytest.mark.parametrize(
    "broken",
    [
        "ahead._rehearse = lambda: 1 / 0",
        "import threading; ahead._rehearse = lambda: threading.Thread(target=print).start()",
        "ahead._rehearse = jax.devices",
    ],
)
def test_a_rehearsal_that_fails_or_leaves_something_is_left_out(broken: str) -> None:
    found = prepared(broken)
    assert (found["threads"], found["backends"]) == (1, 0)


@pytest.mark.parametrize("version", ["0.9.0", "0.9.2", "0.10.0", "0.10.2"])
def test_versions_that_know_the_flags_get_them(version: str) -> None:
    assert "fusion_emitters=false" in quick_flags(["jax-9.9.9.dist-info", f"jaxlib-{version}.x"])


@pytest.mark.parametrize("version", ["0.8.3", "0.11.2", "0.12.0.1", "1.10.0"])
def test_an_unknown_flag_would_end_the_child_so_others_get_none(version: str) -> None:
    assert quick_flags([f"jaxlib-{version}.dist-info"]) == ""


def test_two_installed_versions_are_no_known_version() -> None:
    assert quick_flags(["jaxlib-0.10.1.dist-info", "jaxlib-0.10.2.dist-info"]) == ""
    assert quick_flags([]) == ""
