"""Whatever a machine or a module asks for, a grade is on four CPU devices, or says who asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.command import STARTER_FILLED, Ran, grade

FILLED = STARTER_FILLED.read_text(encoding="utf-8")
IMPORT = "import jax\n"
FOUR = 'jax.config.update("jax_num_cpu_devices", 4)\n'
CPU = 'jax.config.update("jax_platforms", "cpu")\n'
MESH = 'mesh = Mesh(np.array(jax.devices()), ("data",))\n'
EIGHT_BY_ENVIRON = """\
import os
os.environ["JAX_NUM_CPU_DEVICES"] = "8"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
"""


def changed(old: str, new: str) -> str:
    """Return the filled starter with one of its lines replaced."""
    assert FILLED.count(old) == 1
    return FILLED.replace(old, new)


def configured(option: str, value: str, *, touched: bool = False) -> str:
    """Return the filled starter with one more setting, perhaps after a device was touched."""
    touch = "jax.devices()\n" if touched else ""
    return changed(FOUR, f'{FOUR}{touch}jax.config.update("{option}", {value})  # here\n')


def submitted(source: str, folder: Path, **variables: str) -> Ran:
    (folder / "solution.py").write_text(source, encoding="utf-8")
    return grade("solution.py", "--json", "--no-receipt", cwd=folder, env=variables)


@dataclass(frozen=True)
class Wish:
    """A submission, or an environment of the command, that asks for another machine."""

    source: str = FILLED
    variables: dict[str, str] = field(default_factory=dict)
    note: str = ""


UNHEARD = {
    "eight-by-exported-variables": Wish(
        variables={
            "JAX_NUM_CPU_DEVICES": "8",
            "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        }
    ),
    "settings-by-exported-variables": Wish(
        variables={
            "JAX_PLATFORMS": "tpu",
            "JAX_ENABLE_X64": "1",
            "JAX_DEBUG_NANS": "1",
            "JAX_DISABLE_JIT": "1",
            "JAX_NUMPY_RANK_PROMOTION": "raise",
        }
    ),
    "flags-that-do-not-exist": Wish(variables={"XLA_FLAGS": "--nonsense=1"}),
    "eight-by-environ": Wish(changed(IMPORT, EIGHT_BY_ENVIRON + IMPORT)),
    "eight-by-environ-alone": Wish(
        changed(IMPORT, EIGHT_BY_ENVIRON + IMPORT).replace(FOUR, "").replace(CPU, "")
    ),
    "no-configuration": Wish(FILLED.replace(FOUR, "").replace(CPU, "")),
    "four-after-a-device-is-touched": Wish(changed(FOUR, "jax.devices()\n" + FOUR)),
    "platform-cpu": Wish(configured("jax_platforms", '"cpu"', touched=True)),
    "platform-tpu": Wish(changed(CPU, CPU.replace("cpu", "tpu"))),
    "platform-tpu-or-cpu": Wish(changed(CPU, CPU.replace('"cpu"', '"tpu,cpu"'))),
    "platform-tpu-too-late": Wish(configured("jax_platforms", '"tpu"', touched=True)),
    "platform-by-environ": Wish(
        changed(IMPORT, 'import os\nos.environ["JAX_PLATFORMS"] = "tpu"\nimport jax\n')
    ),
    "x64": Wish(configured("jax_enable_x64", "True"), note="jax_enable_x64"),
    "debug-nans": Wish(configured("jax_debug_nans", "True"), note="jax_debug_nans"),
    "disable-jit": Wish(configured("jax_disable_jit", "True"), note="jax_disable_jit"),
    "disable-jit-at-the-end": Wish(
        FILLED + '\njax.config.update("jax_disable_jit", True)\n', note="jax_disable_jit"
    ),
    "rank-promotion": Wish(configured("jax_numpy_rank_promotion", '"raise"')),
    "low-precision-products": Wish(configured("jax_default_matmul_precision", '"bfloat16"')),
    "transfer-guard": Wish(FILLED + '\njax.config.update("jax_transfer_guard", "disallow")\n'),
}


@pytest.mark.parametrize("name", UNHEARD)
def test_the_grade_is_on_four_cpu_devices_all_the_same(name: str, tmp_path: Path) -> None:
    wish = UNHEARD[name]
    ran = submitted(wish.source, tmp_path, **wish.variables)
    assert ran.graded["environment"]["devices"] == 4
    assert (ran.graded["verdict"], ran.graded["points"]) == ("passed", 100), ran.said
    rows = {row["program"]: row for row in ran.graded["compiled_bytes"]["rows"]}
    assert {name: row["bytes_per_rank"] for name, row in rows.items()} == {
        "all_gradient": 48.0,
        "shard_gradient": 24.0,
        "gather": 24.0,
    }
    assert all(len(row["stored_shapes"]) == 4 for row in rows.values())
    # A setting that was undone or that matters is told; one without any effect is not.
    notes = ran.graded["notes"]
    assert [note for note in notes if wish.note and wish.note in note] == notes
    assert bool(notes) == bool(wish.note)


TOLD = {
    "eight-before": changed(FOUR, FOUR.strip().replace("4", "8") + "  # here\n"),
    "two-before": changed(FOUR, FOUR.strip().replace("4", "2") + "  # here\n"),
    "eight-after": configured("jax_num_cpu_devices", "8", touched=True),
}


@pytest.mark.parametrize("name", TOLD)
def test_another_number_of_devices_is_told_with_its_line(name: str, tmp_path: Path) -> None:
    ran = submitted(TOLD[name], tmp_path)
    line = TOLD[name][: TOLD[name].index("# here")].count("\n") + 1
    assert (ran.code, ran.graded["verdict"], ran.graded["points"]) == (1, "error", 0)
    outcome = ran.graded["outcome"]
    assert (outcome["kind"], outcome["line"]) == ("raised", line)
    assert "jax_num_cpu_devices" in outcome["message"]
    assert outcome["next_step"] == "remove that line: the grader always gives four CPU devices"
    assert f"the module stopped at line {line} first" in ran.said
    assert ran.graded["environment"]["devices"] == 4


def test_devices_that_are_not_there_are_told_with_the_line_that_asked(tmp_path: Path) -> None:
    source = changed(MESH, 'mesh = jax.make_mesh((8,), ("data",))  # here\n')
    ran = submitted(source, tmp_path)
    outcome = ran.graded["outcome"]
    assert outcome["line"] == source[: source.index("# here")].count("\n") + 1
    assert "Number of devices 4" in outcome["message"]


EIGHT_BY_FORCE = """\
from jax.extend.backend import clear_backends
clear_backends()
jax.config.update("jax_num_cpu_devices", 8)
assert len(jax.devices()) == 8
"""


@pytest.mark.parametrize(
    ("source", "built_for"),
    [
        (changed(MESH, EIGHT_BY_FORCE + MESH), 8),
        (changed(MESH, MESH.replace("jax.devices()", "jax.devices()[:2]")), 2),
    ],
    ids=["backend-started-anew", "half-of-the-devices"],
)
def test_a_program_for_another_number_of_devices_earns_nothing_and_is_told_why(
    source: str, built_for: int, tmp_path: Path
) -> None:
    ran = submitted(source, tmp_path)
    assert ran.code == 1
    for check_id in ("values", "shard_shapes", "collectives"):
        check = ran.check(check_id)
        assert check["points"] == 0
        assert f"is built for {built_for} devices, not four" in check["message"]


def test_numbers_of_twice_the_width_are_a_named_mistake(tmp_path: Path) -> None:
    source = configured("jax_enable_x64", "True").replace("np.float32", "np.float64")
    ran = submitted(source, tmp_path)
    assert (ran.code, ran.graded["verdict"]) == (1, "failed")
    assert ran.check("byte_budget")["mistake"] == "double-precision"
    assert "64 bits wide" in ran.said
    # The programs themselves are exported for the lesson's float32 and keep their points.
    assert ran.check("values")["status"] == "passed"
    assert any("jax_enable_x64" in note for note in ran.graded["notes"])
