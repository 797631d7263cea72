"""A custom call runs as JAX writes it, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.replay import jax_process

HONEST = """
import json
import jax, jax.export
import jax.numpy as jnp
from jax import lax
from grader.replay import requested

jax.config.update("jax_enable_x64", True)
SHAPES = ((6, 6), (5, 6), (6, 5), (3, 2, 5, 6), (0, 6), (2, 0, 6, 6))
SQUARE = {
    "cholesky": jnp.linalg.cholesky,
    "solve": lambda a: jnp.linalg.solve(a, a),
    "eigh": jnp.linalg.eigh,
    "eigvalsh": jnp.linalg.eigvalsh,
    "eig": jnp.linalg.eig,
    "eigvals": jnp.linalg.eigvals,
    "inv": jnp.linalg.inv,
    "det": jnp.linalg.det,
    "triangular": lambda a: lax.linalg.triangular_solve(
        a, a, left_side=False, lower=True, transpose_a=True, unit_diagonal=True
    ),
    "conjugate": lambda a: lax.linalg.triangular_solve(
        a, a, left_side=True, transpose_a=True, conjugate_a=True
    ),
}
ANY = {
    "lu": lambda a: lax.linalg.lu(a),
    "qr": jnp.linalg.qr,
    "qr complete": lambda a: jnp.linalg.qr(a, mode="complete"),
    "qr raw": lambda a: jnp.linalg.qr(a, mode="raw"),
    "svd": jnp.linalg.svd,
    "svd thin": lambda a: jnp.linalg.svd(a, full_matrices=False),
    "svd values": lambda a: jnp.linalg.svd(a, compute_uv=False),
    "pinv": jnp.linalg.pinv,
}


def refused(function, shape, dtype):
    exported = jax.export.export(jax.jit(function))(jax.ShapeDtypeStruct(shape, dtype))
    return requested.read(exported).refused


found = {}
for dtype in ("float32", "float64", "complex64", "complex128"):
    for shape in ((6, 6), (2, 3, 6, 6), (0, 0)):
        for name, function in SQUARE.items():
            found[f"{name} {shape} {dtype}"] = refused(function, shape, dtype)
for shape in SHAPES:
    for name, function in ANY.items():
        if name != "pinv" or 0 not in shape:
            found[f"{name} {shape}"] = refused(function, shape, "float32")
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def calls() -> dict[str, Any]:
    read: dict[str, Any] = jax_process.run("from tests.replay import calls\ncalls.main()")
    return read


def test_what_jax_itself_makes_of_linear_algebra_is_let_through() -> None:
    said = jax_process.run(HONEST)
    assert len(said) > 150
    assert {name: why for name, why in said.items() if why} == {}


def test_a_call_written_as_jax_writes_it_is_let_through(calls: dict[str, Any]) -> None:
    assert set(calls["good"].values()) == {""}


def test_a_call_that_differs_in_any_one_thing_is_refused(calls: dict[str, Any]) -> None:
    reached = [name for name, why in calls["wrong"].items() if why != "MLIR"]
    assert len(reached) > 200
    assert [name for name, why in calls["wrong"].items() if not why] == []


def test_it_is_said_what_of_a_call_is_wrong(calls: dict[str, Any]) -> None:
    said = calls["wrong"]
    assert said["potrf: shared extent 0 is 1"] == (
        "it calls lapack_spotrf_ffi with shapes that JAX would not give it"
    )
    assert "options" in said["unknown letter"]
    assert "attributes" in said["a matrix split by rows"]
    assert said["Sharding"] == "it calls Sharding, which is not plain XLA"
