"""The real command on a made-up class: what is handed in, and what is read back."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.command import EXERCISE, ROOT, SOLUTIONS, Ran, run
from tests.gradebook.classes import CLASS, Learner

FULL = (SOLUTIONS / "accepted" / "starter_filled.py").read_text(encoding="utf-8")
PARTIAL = (SOLUTIONS / "rejected" / "collectives--psum-then-slice.py").read_text(encoding="utf-8")
HANG = "import time\ntime.sleep(10**6)\n"
CRASH = "import os\nos.abort()\n"
FLOOD = "while True:\n    print('passed 100/100 ' * 4096)\n"


def broken(number: int | str = 0) -> str:
    """Return a module that is graded in no time, and no two of them alike."""
    return f"def broken(:  # {number}\n"


def handing_in(*texts: str, learners: Iterable[Learner] = CLASS) -> tuple[Learner, ...]:
    """Return as many learners as there are texts, each with one of them."""
    pairs = zip(learners, texts, strict=False)
    return tuple(replace(one, files={"my_solution.py": text}) for one, text in pairs)


def grade(cwd: Path, *args: str | Path, env: Mapping[str, str] | None = None) -> Ran:
    """Grade a class without the cache of compiled programs."""
    return run(EXERCISE, "--no-cache", *args, cwd=cwd, env=env)


def root(cwd: Path, out: str = "results") -> Path:
    return cwd / out / EXERCISE


def table(text: str | bytes, key: str = "key") -> dict[str, dict[str, str]]:
    """Return the lines of a CSV by the cell of one column."""
    plain = text.decode("utf-8-sig") if isinstance(text, bytes) else text
    return {line[key]: line for line in csv.DictReader(io.StringIO(plain, newline=""))}


def book(cwd: Path, out: str = "results") -> dict[str, dict[str, str]]:
    return table((root(cwd, out) / "gradebook.csv").read_bytes())


def receipt(cwd: Path, key: str, out: str = "results") -> dict[str, Any]:
    """Return the JSON receipt of one learner, who has exactly one."""
    (path,) = (root(cwd, out) / "receipts" / key).glob("*.json")
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def export(cwd: Path, form: str, *options: str | Path, out: str = "results") -> dict[str, bytes]:
    """Export, and return the files that were written."""
    place = cwd / "exports" / form
    ran = run("export", out, "--to", form, "--out", place, *options, cwd=cwd)
    assert ran.code == 0, ran.said
    return {one.name: one.read_bytes() for one in place.iterdir()}


def files(folder: Path) -> dict[str, bytes]:
    """Return everything below a folder but the ledger's own files."""
    return {
        str(one.relative_to(folder)): one.read_bytes()
        for one in sorted(folder.rglob("*"))
        if one.is_file() and not one.name.startswith("ledger.sqlite")
    }


def course_with(folder: Path, **limits: int) -> Path:
    """Return a copy of our course with other limits."""
    for name in ("exercises", "rubrics", "templates"):
        shutil.copytree(ROOT / name, folder / name)
    path = folder / "exercises" / EXERCISE / "exercise.toml"
    text = path.read_text(encoding="utf-8")
    for name, value in limits.items():
        text, count = re.subn(rf"(?m)^{name} = \d+$", f"{name} = {value}", text)
        assert count == 1, name
    path.write_text(text, encoding="utf-8")
    return folder
