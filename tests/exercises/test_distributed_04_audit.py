"""The solutions of distributed-04 prove it, as `grade audit` has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import ROOT, run

EXERCISE = "distributed-04"


@pytest.mark.slow
def test_every_solution_does_what_its_folder_and_name_promise(tmp_path: Path) -> None:
    ran = run("audit", EXERCISE, "--course", ROOT, cwd=tmp_path)
    assert ran.code == 0, ran.stdout
    assert f"{EXERCISE}: proved by" in ran.stdout
    assert "!!" not in ran.stderr
    rows = [line for line in ran.stdout.splitlines() if "--" in line.split("  ")[0]]
    assert len(rows) >= 40
    assert all(" N" in row for row in rows), "each wrong solution is named by some check"
