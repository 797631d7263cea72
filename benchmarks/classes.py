"""Classes to measure with: their files, and ledgers that know a thousand grades already.

A grade takes half a second of CPU, and how fast a class is looked up again or exported has nothing
to do with it. So a few are really graded, and each is entered for many files that differ in a line.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from grader.gradebook.ledger import Attempt, Key, Ledger

ROOT = Path(__file__).resolve().parents[1]
SOLUTIONS = ROOT / "solutions" / "distributed-03"
EXERCISE = "distributed-03"
# It needs its own mesh around the call, which the plain check does not make.
LEFT_OUT = {"explicit_axes.py"}
CHEAP = ("def broken(:\n", "x = 1\n", "raise ValueError('no')\n", "import math\ny = math.pi\n")
NAME = "my_solution.py"
# Who hands in what, as each platform names it in its download.
PLACES = {
    "plain": "learner-{n:04d}/" + NAME,
    "canvas": "numberlearner{n:04d}_{id}_{file}_" + NAME,
    "moodle": "Learner Number{n:04d}_{id}_assignsubmission_file/" + NAME,
}


def forms(wanted: str) -> list[str]:
    """Return the texts to hand in: `all` accepted ones, `starter`, `mixed` or `cheap`."""
    if wanted == "cheap":
        return list(CHEAP)
    if wanted == "starter":
        return [(SOLUTIONS / "accepted" / "starter_filled.py").read_text(encoding="utf-8")]
    folders = ["accepted", "rejected"] if wanted == "mixed" else ["accepted"]
    found = [path for one in folders for path in sorted((SOLUTIONS / one).glob("*.py"))]
    return [path.read_text(encoding="utf-8") for path in found if path.name not in LEFT_OUT]


def write_class(
    folder: Path, count: int, texts: list[str], layout: str = "plain", first: int = 0
) -> list[Path]:
    """Write `count` submissions of these forms, each with a line of its own; return their paths."""
    made = []
    for number in range(first, first + count):
        name = PLACES[layout].format(n=number, id=1000 + number, file=50000 + number)
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        text = texts[number % len(texts)]
        place.write_text(f"{text}\n# handed in by learner {number}\n", encoding="utf-8")
        made.append(place)
    return made


def environment(home: Path) -> dict[str, str]:
    """Return an environment with a cache and keys of this benchmark's own."""
    return {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}


def grade(folder: Path, out: Path, *more: str) -> list[str]:
    """Return the command that grades a class."""
    start = [sys.executable, "-m", "grader", EXERCISE, str(folder), "--out", str(out), "--quiet"]
    return [*start, *more]


@dataclass(frozen=True)
class Known:
    """Attempts at a few forms that were really graded, one for each."""

    texts: list[str]
    attempts: list[Attempt]


def learn(home: Path, texts: list[str], env: dict[str, str]) -> Known:
    """Grade each form once."""
    paths = write_class(home / "few", len(texts), texts)
    subprocess.run(
        grade(home / "few", home / "few-out"), env=env, cwd=ROOT, check=True, capture_output=True
    )
    with Ledger(home / "few-out" / EXERCISE / "ledger.sqlite") as ledger:
        keys = {member.person.key: member.key for member in ledger.members()}
        found = [ledger.standing(keys[path.parent.name]) for path in paths]
    return Known(texts, [one for one in found if one is not None])


def entered(known: Known, files: list[Path]) -> list[Attempt]:
    """Return attempts at these files as if they had been graded."""
    made = []
    for number, path in enumerate(files):
        like = known.attempts[number % len(known.attempts)]
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        receipt = like.receipt.replace(like.key.submission.encode(), digest.encode())
        key = Key(digest, like.key.rubric, like.key.environment)
        made.append(replace(like, key=key, receipt=receipt))
    return made


def keep(out: Path, attempts: list[Attempt]) -> None:
    """Write the ledger, as grading does: each attempt in a transaction of its own."""
    root = out / EXERCISE
    root.mkdir(parents=True)
    with Ledger(root / "ledger.sqlite") as ledger:
        for one in attempts:
            ledger.add(one)


def template(path: Path, layout: str, count: int) -> Path:
    """Write the file that a platform gives to be filled in."""
    if layout == "canvas":
        lines = [f"Student,ID,SIS User ID,SIS Login ID,Section,{EXERCISE} (4711)"]
        lines += ["    Points Possible,,,,,100"]
        lines += [f'"Learner{n:04d}, Number",{1000 + n},S{n},l{n},A,' for n in range(count)]
    else:
        lines = [
            'Identifier,"Full name","Email address",Status,Grade,"Maximum grade",'
            '"Grade can be changed","Last modified (submission)","Last modified (grade)",'
            '"Feedback comments"'
        ]
        lines += [
            f'"Participant {1000 + n}","Learner Number{n:04d}",l{n}@example.org,"Submitted",,'
            "100.00,Yes,-,-,"
            for n in range(count)
        ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
