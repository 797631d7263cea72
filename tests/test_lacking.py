"""Machines that lack a layer: said in every receipt, and refused where full is required."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from grader.records.receipt import Receipt
from tests.command import STARTER_FILLED, command, environment

WITHOUT = Path(__file__).with_name("without.py")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="seccomp filters need Linux")
NO_LANDLOCK = "landlock=ENOSYS"
NO_NAMESPACES = "unshare=EPERM"


def lacking(call: str, *args: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(WITHOUT), call, "--", *command(*args)],
        cwd=cwd,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def graded(call: str, file: Path, *options: str, cwd: Path) -> Receipt:
    ran = lacking(call, "distributed-03", file, "--json", "--no-cache", *options, cwd=cwd)
    assert ran.stdout, ran.stderr
    return Receipt.model_validate_json(ran.stdout)


def test_without_landlock_a_learner_is_graded_and_the_receipt_says_so(tmp_path: Path) -> None:
    receipt = graded(NO_LANDLOCK, STARTER_FILLED, cwd=tmp_path)
    assert receipt.verdict == "passed"
    assert receipt.environment.confinement.level == "partial"
    lacks = next(note for note in receipt.notes if note.startswith("confinement on this machine"))
    assert "landlock" in lacks


def test_full_confinement_that_is_required_and_missing_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text("print('it ran')\n")
    ran = lacking(
        NO_LANDLOCK, "distributed-03", "s.py", "--require-confinement", "full", cwd=tmp_path
    )
    said = " ".join(ran.stderr.split())
    assert ran.returncode == 4
    assert (
        "nothing was run: full confinement is required, and this machine lacks landlock "
        "(this kernel has no Landlock (Linux 5.13 brought it))" in said
    )
    assert "Next: grade on Linux with Landlock and seccomp" in said
    assert "it ran" not in ran.stdout + ran.stderr
    assert not (tmp_path / "receipts").exists()


def test_without_namespaces_confinement_is_full_and_a_write_says_why_it_fails(
    tmp_path: Path,
) -> None:
    (tmp_path / "s.py").write_text("import numpy as np\nnp.save('a.npy', np.zeros(3))\n")
    receipt = graded(
        NO_NAMESPACES, tmp_path / "s.py", "--require-confinement", "full", cwd=tmp_path
    )
    layers = {layer.name: layer for layer in receipt.environment.confinement.layers}
    assert receipt.environment.confinement.level == "full"
    assert (layers["namespaces"].on, layers["scratch"].on) == (False, False)
    assert receipt.outcome.kind == "blocked"
    assert "opening 'a.npy' for writing at line 2" in receipt.outcome.message
    assert receipt.outcome.next_step == (
        "nothing may be written on this machine, which gives a module no folder of its own:"
        " leave it out; a solution needs no file"
    )


def test_with_a_scratch_a_write_does_no_harm_and_no_failure(tmp_path: Path) -> None:
    text = STARTER_FILLED.read_text(encoding="utf-8")
    saves = (
        "\nimport numpy as np\nnp.save('a.npy', np.zeros(3))\nassert np.load('a.npy').size == 3\n"
    )
    (tmp_path / "s.py").write_text(text + saves, encoding="utf-8")
    ran = subprocess.run(
        command("distributed-03", "s.py", "--json", "--no-cache", "--no-receipt"),
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    receipt = json.loads(ran.stdout)
    layers = {one["name"]: one for one in receipt["environment"]["confinement"]["layers"]}
    if not layers["scratch"]["on"]:
        pytest.skip(f"no scratch on this machine: {layers['scratch']['reason']}")
    assert (receipt["verdict"], receipt["points"]) == ("passed", 100), ran.stderr
    assert not (tmp_path / "a.npy").exists()


@pytest.mark.slow
def test_sixteen_at_once_give_no_false_time_out(tmp_path: Path) -> None:
    args = ("distributed-03", STARTER_FILLED, "--json", "--no-cache", "--no-receipt")
    started = [
        subprocess.Popen(
            command(*args),
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(16)
    ]
    receipts = [json.loads(process.communicate(timeout=600)[0]) for process in started]
    assert [(r["verdict"], r["points"]) for r in receipts] == [("passed", 100)] * 16
