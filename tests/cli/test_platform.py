"""`--platform` with the real command, on a machine that has no accelerator."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.command import EXERCISE, SOLUTIONS, STARTER_FILLED, run

LESSON = SOLUTIONS / "accepted" / "lesson_form.py"
NEXT = {
    "gpu": 'pip install "jax[cuda12]" in this environment, on a machine with four GPUs',
    "tpu": 'pip install "jax[tpu]" in this environment, on a TPU VM with four chips (docs/tpu.md)',
}
DEVICES = [Path("/dev") / name for name in ("nvidia0", "accel0", "vfio/0", "kfd")]
without_accelerator = pytest.mark.skipif(
    any(device.exists() for device in DEVICES) or sys.platform != "linux",
    reason="says what is said where there is no accelerator",
)


@without_accelerator
@pytest.mark.parametrize("name", ["gpu", "tpu"])
def test_no_such_device_is_told_with_the_count_and_the_next_step(name: str, tmp_path: Path) -> None:
    ran = run(EXERCISE, LESSON, "--platform", name, cwd=tmp_path)
    assert ran.code == 4
    assert ran.said == (
        f"grade: --platform {name} needs 4 devices, and JAX found 0 here; nothing was run (JAX's "
        f"plugin for it is not installed) Next: {NEXT[name]}; without --platform the file is "
        "graded on 4 logical CPU devices"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.once
@pytest.mark.parametrize("options", [["--require-confinement", "full"], ["--sign", "key.pem"]])
def test_full_confinement_and_an_accelerator_exclude_each_other(
    options: list[str], tmp_path: Path
) -> None:
    if options[0] == "--sign":
        made = run("keygen", "--out", "key.pem", cwd=tmp_path)
        assert made.code == 0, made.said
    ran = run(EXERCISE, LESSON, "--platform", "tpu", *options, cwd=tmp_path)
    assert ran.code == 4
    assert ran.said == (
        "grade: nothing was run: full confinement is required, and --platform tpu does without "
        "namespaces, scratch, rlimits, landlock, seccomp, which a driver cannot live with Next: "
        "--require-confinement auto runs files that you trust; without --platform the file is "
        "graded on the CPU, with all layers"
    )


@pytest.mark.once
def test_a_class_is_not_graded_on_an_accelerator(tmp_path: Path) -> None:
    ran = run(EXERCISE, SOLUTIONS / "accepted", "--platform", "tpu", cwd=tmp_path)
    assert ran.code == 2
    assert ran.said == (
        "grade: --platform is for one file, and this is a class Next: leave --platform out"
    )


@pytest.mark.once
def test_an_unknown_platform_is_told_with_the_known_ones(tmp_path: Path) -> None:
    ran = run(EXERCISE, LESSON, "--platform", "npu", cwd=tmp_path)
    assert ran.code == 2
    assert "'cpu', 'gpu', 'tpu'" in ran.said


@without_accelerator
@pytest.mark.once
def test_a_grade_on_an_accelerator_is_made_again_there_alone(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_bytes(STARTER_FILLED.read_bytes())
    # `cpu` is what there is without the option, too.
    made = run(EXERCISE, mine, "--platform", "cpu", "--instructor", cwd=tmp_path)
    assert made.graded["verdict"] == "passed"
    assert "execution" not in made.graded["environment"]
    (file,) = tmp_path.glob("receipts/*/mine.json")
    execution = {"platform": "tpu", "kind": "TPU v5 lite", "matmul_precision": "highest"}
    made.graded["environment"]["execution"] = execution
    file.write_text(json.dumps(made.graded), encoding="utf-8")
    again: list[str | Path] = ["reproduce", file, "--submission", mine]
    # A receipt may come from anybody: by itself it lifts nothing.
    alone = run(*again, "--require-confinement", "auto", cwd=tmp_path)
    assert alone.code == 2
    assert alone.said == (
        "grade: this receipt is of an accelerator execution (--platform tpu), where confinement is "
        "partial Next: add --platform tpu, on such a machine and for a file that you trust"
    )
    again += ["--platform", "tpu"]
    ran = run(*again, "--require-confinement", "auto", cwd=tmp_path)
    assert ran.code == 4
    assert ran.said == (
        "grade: this receipt is of an accelerator execution (--platform tpu, TPU v5 lite) and can "
        "be made again on such a machine alone: --platform tpu needs 4 devices, and JAX found 0 "
        "here; nothing was run (JAX's plugin for it is not installed) Next: "
        f"{NEXT['tpu']}; without --platform the file is graded on 4 logical CPU devices"
    )
    # Without a word it would be full confinement.
    assert "--require-confinement auto" in run(*again, cwd=tmp_path).said
    made.graded["environment"]["execution"]["platform"] = "npu"
    file.write_text(json.dumps(made.graded), encoding="utf-8")
    other = run(*again, cwd=tmp_path)
    assert other.code == 2
    assert other.said == (
        "grade: this receipt is of an execution on 'npu', not on 'tpu' "
        "Next: leave --platform tpu out"
    )
    unknown = run(*again[:-2], cwd=tmp_path)
    assert unknown.code == 2
    assert "this receipt is of an accelerator execution on 'npu', which grade" in unknown.said
