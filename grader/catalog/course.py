"""Find the course: the three data folders of exercises, rubrics and templates."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from grader.errors import UsageProblem

_PACKAGE = Path(__file__).resolve().parents[1]
# Others are no exercise: no command line could name them.
_ID = re.compile(r"[a-z]+-[0-9]{2}")


@dataclass(frozen=True)
class Course:
    """A directory that holds `exercises/` and `rubrics/`, and perhaps `solutions/`."""

    root: Path

    @property
    def templates(self) -> list[Path]:
        """Return where templates are looked up: the course's own first, then the shipped ones."""
        return [
            path for path in (self.root / "templates", shipped() / "templates") if path.is_dir()
        ]

    def ids(self) -> list[str]:
        """Return the ids of all exercises, sorted."""
        folder = self.root / "exercises"
        named = (p for p in folder.iterdir() if _ID.fullmatch(p.name))
        return sorted(p.name for p in named if (p / "exercise.toml").is_file())

    def secrets(self) -> list[str]:
        """Return the folders that no learner code may read."""
        names = ("exercises", "solutions", "rubrics", "templates")
        return [str(self.root / name) for name in names] + [str(_PACKAGE)]


def shipped() -> Path:
    """Return the course that comes with the program: the checkout's, else the wheel's."""
    checkout = _PACKAGE.parent
    return checkout if is_course(checkout) else _PACKAGE / "course"


def is_course(path: Path) -> bool:
    """Return whether `path` has both data folders."""
    try:
        return (path / "exercises").is_dir() and (path / "rubrics").is_dir()
    except OSError:  # a folder on the way may not be entered
        return False


def find(given: str | None, start: Path | None = None) -> Course:
    """Return `given`, else $GRADE_COURSE, else the nearest parent course, else the shipped one.

    Raises:
        UsageProblem: a directory was named that is no course.
    """
    named, where = (
        (given, "--course") if given else (os.environ.get("GRADE_COURSE"), "$GRADE_COURSE")
    )
    if named:
        path = Path(named).expanduser().resolve()
        try:
            path.stat()
        except PermissionError as error:
            raise UsageProblem(
                f"{named} cannot be read: {error.strerror}",
                where=where,
                next_step="mend the permissions of the folders on its way",
            ) from error
        except OSError:
            pass  # whatever else it is, it is no course
        if not is_course(path):
            raise UsageProblem(
                f"{named} is not a course: it has no exercises/ and rubrics/",
                where=where,
                next_step="name a directory that has both, or leave the option out",
            )
        return Course(path)
    here = (start or Path.cwd()).resolve()
    for path in (here, *here.parents):
        if is_course(path):
            _refuse_a_stranger_s(path)
            return Course(path)
    return Course(shipped())


def _refuse_a_stranger_s(path: Path) -> None:
    """Refuse a course that nobody named and that another user owns: its oracle is code we run.

    Raises:
        UsageProblem: it belongs to neither this user nor root.
    """
    if not hasattr(os, "geteuid"):
        return
    for place in (path, path / "rubrics", path / "exercises"):
        if place.stat().st_uid not in (os.geteuid(), 0):
            raise UsageProblem(
                f"the course around this folder belongs to another user: {place}",
                next_step=f"name it if you trust it (its oracle.py runs as you): --course {path}",
            )
