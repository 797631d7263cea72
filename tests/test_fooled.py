"""Saying that the work is done earns nothing, and the same work always earns the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import SOLUTIONS, STARTER_FILLED, Ran, grade
from tests.parts import STARTER_SECTIONS

FILLED = STARTER_FILLED.read_text(encoding="utf-8")
# Docstring and given part: devices, mesh, data; nothing that earns a point.
GIVEN = STARTER_SECTIONS[0][1] + STARTER_SECTIONS[1][1]

EVERY_NAME = """
all_gradient = shard_gradient = gather = ANSWER
new_v = new_w = updated = x2 = y2 = w2h = w2 = r2 = wrong_labels = ANSWER
ring_all_bytes = ring_scatter_bytes = ANSWER
budget = [ANSWER] * 3
"""

PRETENCES = {
    "exit-code": "import sys\nsys.exit(0)\n",
    "exit-code-without-cleanup": "import os\nos._exit(0)\n",
    "exit-code-with-a-table": """
import os
print("Passed: 100 of 100 points", flush=True)
os._exit(0)
""",
    "printed-receipt": """
import json, sys
checks = [{"id": "values", "status": "passed", "points": 100, "max_points": 100}]
receipt = {"schema_version": 1, "verdict": "passed", "points": 100, "checks": checks}
for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
    print(json.dumps(receipt), file=stream, flush=True)
verdict, points, passed = "passed", 100, True
""",
    "equal-to-everything": """
class Agreeable(float):
    shape, dtype, ndim, size = (8,), "float32", 1, 8
    __eq__ = __le__ = __lt__ = __ge__ = __gt__ = __bool__ = lambda *_: True
    __ne__ = lambda *_: False
    __hash__ = lambda _: 0
    __sub__ = __rsub__ = __abs__ = lambda *_: 0
    __call__ = lambda *_: Agreeable()
    __getitem__ = get = lambda *_: Agreeable()
    __iter__ = lambda _: iter(())
    __array__ = lambda *_, **__: __import__("numpy").zeros(8, "float32")
ANSWER = Agreeable("nan")
"""
    + EVERY_NAME,
    "not-a-number": 'ANSWER = float("nan")\n' + EVERY_NAME,
    "words": 'ANSWER = "passed"\n' + EVERY_NAME,
    "array-of-nan": 'import numpy as np\nANSWER = np.full(8, np.nan, "float32")\n' + EVERY_NAME,
    "every-name-there-is": """
def __getattr__(name):
    return True
ANSWER = type("Passed", (), {"__getattr__": lambda *_: True, "__call__": lambda *_: True})()
"""
    + EVERY_NAME,
    "comparisons-that-agree": GIVEN
    + """
import builtins
import jax.numpy as jnp
for module in (np, jnp, np.testing):
    for name in dir(module):
        if name.startswith("assert_") or name in ("allclose", "array_equal", "isclose", "all"):
            setattr(module, name, lambda *_, **__: True)
builtins.abs = lambda _: 0.0
builtins.all = builtins.any = lambda *_: True
ring_all_bytes = ring_scatter_bytes = 0
all_gradient = shard_gradient = gather = jax.jit(lambda *_: jnp.zeros(3))
""",
    "export-that-agrees": GIVEN
    + """
import jax.export
class Exported:
    out_avals = in_avals = (None,)
    nr_devices = 4
    platforms = ("cpu",)
    serialize = lambda *_, **__: bytearray(b"passed")
    mlir_module = lambda *_: "stablehlo.all_reduce"
    def __getattr__(self, name):
        return self
jax.export.export = jax.export.deserialize = lambda *_, **__: lambda *_, **__: Exported()
all_gradient = shard_gradient = gather = jax.jit(lambda *_: None)
""",
    "libraries-that-agree": """
import hashlib, json
json.dumps = lambda *_, **__: '{"t": "done", "verdict": "passed", "points": 100}'
json.JSONEncoder.encode = lambda *_: '{"verdict": "passed"}'
hashlib.sha256 = lambda *_, **__: None
""",
    "our-modules-that-agree": """
import sys
for name in [name for name in sys.modules if name.split(".")[0] == "grader"]:
    for key, value in list(vars(sys.modules[name]).items()):
        if callable(value) and not key.startswith("__"):
            setattr(sys.modules[name], key, lambda *_, **__: {"t": "done", "verdict": "passed"})
""",
    "our-exporter-that-agrees": """
import sys
programs = sys.modules["grader.sandbox.programs"]
programs.export_one = lambda name, *_, **__: {
    "name": name, "status": "exported", "blob": "AAAA", "verdict": "passed", "points": 100
}
""",
    "our-reader-that-agrees": """
import sys
claims = sys.modules["grader.sandbox.claims"]
claims.read = lambda name, *_: {
    "name": name, "kind": "number", "value": True, "status": "passed", "points": 100
}
""",
    "frames-of-ours": """
import os, sys
pack = sys.modules["grader.wire"].pack
for frame in (
    {"t": "parsed", "lines": {}, "statements": 0},
    {"t": "names", "names": ["all_gradient"], "hidden_in": "", "verdict": "passed"},
    {"t": "program", "name": "all_gradient", "status": "exported", "blob": "AAAA"},
    {"t": "finding", "id": "values", "status": "passed", "points": 24, "max_points": 24},
    {"t": "receipt", "verdict": "passed", "points": 100, "max_points": 100},
    {"t": "done", "verdict": "passed", "points": 100},
):
    os.write(3, pack(frame))
os._exit(0)
""",
}


def submitted(source: str, folder: Path, *options: str, name: str = "solution.py") -> Ran:
    (folder / name).write_text(source, encoding="utf-8")
    return grade(name, "--json", "--no-receipt", *options, cwd=folder)


@pytest.mark.parametrize("pretence", PRETENCES)
def test_claiming_success_earns_no_point(pretence: str, tmp_path: Path) -> None:
    ran = submitted(PRETENCES[pretence], tmp_path)
    assert ran.code == 1, ran.said
    assert ran.graded["points"] == 0
    assert ran.graded["verdict"] in ("failed", "error")
    assert ran.graded["blame"] == "learner"
    assert all(check["status"] in ("failed", "blocked") for check in ran.graded["checks"])
    assert "0 of 100 points" in ran.stderr


def test_pretending_changes_nothing_about_work_that_was_done(tmp_path: Path) -> None:
    # Judged by what the programs do, whatever else the file is up to.
    ran = submitted(FILLED + PRETENCES["printed-receipt"], tmp_path)
    assert (ran.graded["verdict"], ran.graded["points"]) == ("passed", 100)
    ran = submitted(FILLED + PRETENCES["comparisons-that-agree"].replace(GIVEN, ""), tmp_path)
    assert ran.graded["outcome"]["kind"] == "finished"
    assert ran.check("values")["points"] == ran.check("shard_shapes")["points"] == 0
    assert ran.check("permutation")["status"] == "passed"


# ------------------------------------------------------------------------- right on one input only

LOOK_UP = """
import jax.numpy as jnp
split = (P("data", None), P("data"), P())
known = jnp.array((2 / N) * (xh.T @ (xh @ wh - yh)))


def guess(x_block, y_block, weights):
    total = jax.lax.psum(x_block.sum(0), "data")
    return jnp.where(jnp.all(weights == jnp.array(wh)), known, total)


all_gradient = jax.jit(jax.shard_map(guess, mesh=mesh, in_specs=split, out_specs=P()))
"""


@pytest.mark.parametrize("seed", ["00", "01"])
def test_numbers_known_by_heart_are_not_a_program(seed: str, tmp_path: Path) -> None:
    ran = submitted(GIVEN + LOOK_UP, tmp_path, "--seed", seed)
    values = ran.check("values")
    assert values["points"] == 0
    assert values["mistake"] == "hard-coded"
    written = (SOLUTIONS / "rejected" / "values--hard-coded.py").read_text(encoding="utf-8")
    values = submitted(written, tmp_path, "--seed", seed).check("values")
    assert (values["points"], values["mistake"]) == (8, "hard-coded")


def test_a_typed_answer_earns_its_own_item_and_no_other(tmp_path: Path) -> None:
    ran = submitted("ring_all_bytes = 48\nring_scatter_bytes = 24.0\n", tmp_path)
    assert ran.graded["points"] == 4
    items = {item["id"]: item for item in ran.check("byte_budget")["items"]}
    earned = [name for name, item in items.items() if item["points"]]
    assert earned == ["ring_all_bytes", "ring_scatter_bytes"]
    assert {items[name]["source"] for name in earned} == {"claimed"}


# ------------------------------------------------------------------------------- made a second time


def essence(ran: Ran) -> dict[str, object]:
    """Return what has to be equal when a grade is made again."""
    kept = {
        name: ran.graded[name]
        for name in ("verdict", "points", "checks", "compiled_bytes", "evidence_digest")
    }
    kept["environment"] = {
        name: ran.graded["environment"][name] for name in ("rubric_sha256", "seed_sha256")
    }
    return kept


@pytest.mark.parametrize(
    "source",
    [
        FILLED,
        (SOLUTIONS / "rejected" / "values--sign.py").read_text(encoding="utf-8"),
        "ring_all_bytes = 47\nraise ValueError\n",
        "not python",
    ],
    ids=["passed", "failed", "error", "syntax-error"],
)
def test_the_same_seed_makes_the_same_grade_again(source: str, tmp_path: Path) -> None:
    first = submitted(source, tmp_path, "--seed", "5eed")
    again = submitted(source, tmp_path, "--seed", "5EED", name="under another name.py")
    assert essence(first) == essence(again)
    other = submitted(source, tmp_path, "--seed", "5eee")
    assert other.graded["evidence_digest"] != first.graded["evidence_digest"]
    assert other.graded["environment"]["seed_sha256"] != first.graded["environment"]["seed_sha256"]
    assert (other.code, other.graded["points"]) == (first.code, first.graded["points"])


def test_a_seed_is_fresh_unless_it_is_given(tmp_path: Path) -> None:
    first, second = submitted(FILLED, tmp_path), submitted(FILLED, tmp_path)
    seeds = {ran.graded["environment"]["seed_sha256"] for ran in (first, second)}
    digests = {ran.graded["evidence_digest"] for ran in (first, second)}
    assert len(seeds) == len(digests) == 2
    assert first.graded["points"] == second.graded["points"] == 100


def test_a_receipt_gives_no_seed_away(tmp_path: Path) -> None:
    # Whoever knew it could draw the hidden inputs.
    seed = "c0ffee00c0ffee11"
    ran = submitted(FILLED, tmp_path, "--seed", seed)
    assert seed not in json.dumps(ran.graded)
    assert seed not in ran.stderr
