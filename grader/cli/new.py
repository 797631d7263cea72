"""`grade new EXERCISE`: a small exercise that works, to be changed into another."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

import click

from grader.catalog import course as courses
from grader.cli import early, options
from grader.cli.paragraphs import say
from grader.errors import EnvironmentProblem, UsageProblem

_PLACEHOLDER, _SCHEMA = "new-01", "SCHEMA"
_PARTS = ("exercises", "rubrics", "solutions")
_TEXT = (".py", ".toml", ".md")


@click.command("new")
@click.argument("exercise")
@options.course
def command(exercise: str, course: str | None) -> None:
    """Write the three folders of EXERCISE: a small one that works and passes its audit.

    With --course, DIR becomes a course if it is none yet. Nothing is overwritten.

    Example: grade new sharding-01 --course my_course
    """
    if not early.EXERCISE.match(exercise):
        raise UsageProblem(
            f"{exercise!r} cannot be an exercise's id",
            next_step="take lower-case letters, a dash and two digits, for example sharding-01",
        )
    root = _root(course, exercise)
    for part in _PARTS:
        if (root / part / exercise).exists():
            raise UsageProblem(
                f"{part}/{exercise} exists already and is left as it is",
                where=str(root),
                next_step="take another id, or change what is there",
            )
    try:
        _write(root, exercise)
    except OSError as error:
        raise EnvironmentProblem(
            f"the exercise cannot be written: {error.strerror}",
            where=str(root),
            next_step="name a folder that can be written with --course",
        ) from error
    _say(root, exercise, course)


def _root(course: str | None, exercise: str) -> Path:
    """Return the course to write into. Raises: UsageProblem where it would be the program's own."""
    if course is not None and not courses.is_course(Path(course).expanduser()):
        path = Path(course).expanduser().resolve()
        if path.exists() and not path.is_dir():
            raise UsageProblem(f"{course} is not a folder", next_step="name a folder with --course")
        return path
    found = courses.find(course)
    here = Path.cwd()
    named = course is not None or os.environ.get("GRADE_COURSE")
    # Without a course around this folder, the one that is found is the program's own.
    if not named and found.root not in (here, *here.parents):
        raise UsageProblem(
            "there is no course here to write into",
            where=os.getcwd(),
            next_step=f"`grade new {exercise} --course my_course` makes one and writes into it",
        )
    return found.root


def _write(root: Path, exercise: str) -> None:
    """Make everything beside its place first, so that a failure leaves no half of an exercise."""
    from grader.catalog import starter

    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=root) as aside:
        for part in _PARTS:
            _copy(courses.shipped() / "templates" / "exercise" / part, Path(aside, part), exercise)
        made = Path(aside, "exercises")
        (made / "starter.ipynb").write_bytes(starter.of(made, exercise))
        for part in _PARTS:
            (root / part).mkdir(exist_ok=True)
            os.rename(Path(aside, part), root / part / exercise)
    _write_schemas(root / ".schema")


def _copy(source: Path, target: Path, exercise: str) -> None:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    for path in target.rglob("*"):
        if path.suffix in _TEXT:
            text = path.read_text(encoding="utf-8").replace(_PLACEHOLDER, exercise)
            path.write_text(text.replace(_SCHEMA, "../../.schema"), encoding="utf-8")


def _write_schemas(folder: Path) -> None:
    """Write what editors complete and check the TOML files with."""
    from grader import described

    folder.mkdir(exist_ok=True)
    for name in described.FILES:
        text = json.dumps(described.file_schema(name), indent=1, ensure_ascii=False)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def _say(root: Path, exercise: str, course: str | None) -> None:
    shown = os.path.relpath(root)
    for part in _PARTS:
        say(f"wrote {os.path.join('' if shown == '.' else shown, part, exercise)}")
    named = f" --course {course}" if course is not None else ""
    say(f"  Next: grade audit {exercise}{named}")
    say("  Then change one thing after the other: docs/writing-an-exercise.md goes along with you")
