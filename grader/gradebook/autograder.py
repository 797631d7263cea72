"""An exercise as an autograder for Gradescope: the zip to upload, and what runs in its container.

A fault of our side never looks like a mistake of the learner's: it has a text of its own.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import io
import json
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Literal

from grader import __version__
from grader.catalog import course as courses
from grader.catalog.load import Entry
from grader.errors import EnvironmentProblem
from grader.gradebook import exports
from grader.gradebook.exports.parts.archive import zipped
from grader.gradebook.sources.found import Found, Picked, Wanted, pick
from grader.gradebook.sources.tree import of_path
from grader.intake import MOST_BYTES, MOST_SIBLING_BYTES
from grader.receipt.escape import markdown
from grader.records.gradebook import Gradebook, Person, Row
from grader.records.receipt import Receipt

Confinement = Literal["auto", "full"]
DISTRIBUTION = "shardgrade"
_SCRIPTS = Path(__file__).parent / "gradescope"
_PACKAGE = Path(__file__).parents[1]
_EXECUTABLE = ("setup.sh", "run_autograder")
_EARLIEST = (1980, 1, 1, 0, 0, 0)
_NAME = re.compile(r"[A-Za-z0-9._-]+")
# Beside what the package itself asks for: what JAX computes with.
_PINNED = ("jaxlib", "ml_dtypes", "scipy")
_MEMORY = (
    "The smallest, 0.5 CPU and 768 MB, holds one submission, which took about 400 MB at most. With "
    "a whole CPU JAX loads sooner."
)
_LEARNER = Person("learner", "Learner")
_NO_GRADE = (
    "This is not a grade, and no fault of the submission: Gradescope shows a score of 0 because it "
    "accepts no result without one. Run the autograder again, or ask your instructor."
)
DID_NOT_FINISH = "The grader did not finish."
_ENDINGS = {
    3: "The course's own files are wrong.",
    4: "The container lacks something that the grader needs.",
    5: "The grader could not reach a verdict.",
    70: "The grader itself failed.",
    -9: "The grader was ended from outside, often for lack of memory: a larger container may help.",
}


# ------------------------------------------------------------------------------------ the zip


def package(entry: Entry, confinement: Confinement) -> bytes:
    """Return the zip to upload: the same course and grader give the same bytes.

    Raises: EnvironmentProblem where the grader runs from files that were never installed.
    """
    members = {f"{DISTRIBUTION}-{__version__}-py3-none-any.whl": wheel()}
    members |= {f"course/{name}": raw for name, raw in _course(entry)}
    members["constraints.txt"] = _constraints().encode()
    members["undecided.json"] = results(entry, fault=DID_NOT_FINISH)
    words = {
        "EXERCISE": entry.exercise.id,
        "CONFINEMENT": confinement,
        "PYTHON": f"{sys.version_info.major}.{sys.version_info.minor}",
        "VERSION": __version__,
        "POINTS": str(entry.rubric.max_points),
        "MEMORY": _MEMORY,
    }
    for path in sorted(_SCRIPTS.iterdir()):
        text = path.read_text(encoding="utf-8")
        for word, value in words.items():
            text = text.replace(f"@{word}@", value)
        members[path.name] = text.encode()
    return _zip(members)


def _zip(members: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, _EARLIEST)
            info.create_system = 3
            info.external_attr = (0o100755 if name in _EXECUTABLE else 0o100644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, members[name])
    return out.getvalue()


def _course(entry: Entry) -> Iterator[tuple[str, bytes]]:
    """Yield what grading this exercise reads; warming programs are close to a solution."""
    folders = (entry.folder, entry.rubric_folder, entry.course.root / "templates")
    for folder in folders:
        for path in _files(folder):
            if not path.is_relative_to(entry.rubric_folder / "warm"):
                yield path.relative_to(entry.course.root).as_posix(), path.read_bytes()


def _files(folder: Path) -> list[Path]:
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]


def wheel() -> bytes:
    """Return the grader as a wheel that pip installs, put together from what is installed here.

    It holds the shipped templates and no exercise. Raises: EnvironmentProblem.
    """
    own = [path for path in _files(_PACKAGE) if not path.is_relative_to(_PACKAGE / "course")]
    files = {f"grader/{path.relative_to(_PACKAGE).as_posix()}": path for path in own}
    templates = courses.shipped() / "templates"
    files |= {f"grader/course/templates/{path.name}": path for path in _files(templates)}
    members = {name: path.read_bytes() for name, path in files.items()}
    info = f"{DISTRIBUTION}-{__version__}.dist-info"
    members |= {f"{info}/{name}": raw for name, raw in _metadata().items()}
    members[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: grade {__version__}\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n"
    ).encode()
    record = "".join(
        f'"{name}",sha256={_record_digest(raw)},{len(raw)}\n' for name, raw in members.items()
    )
    members[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    return zipped(members)


def _record_digest(raw: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(raw).digest()).rstrip(b"=").decode()


def _metadata() -> dict[str, bytes]:
    found = _distribution()
    kept = {name: found.read_text(name) for name in ("METADATA", "entry_points.txt")}
    kept["licenses/LICENSE"] = found.read_text("licenses/LICENSE")
    return {name: text.encode() for name, text in kept.items() if text}


def _distribution(name: str = DISTRIBUTION) -> importlib.metadata.Distribution:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError as error:
        raise EnvironmentProblem(
            "grade is not installed here, so there is nothing to put into an autograder",
            where=str(_PACKAGE),
            next_step="pip install it (`pip install -e .` in a checkout), then run this again",
        ) from error


def _constraints() -> str:
    """Return the versions installed here, so that the container grades with the same."""
    asked = [_NAME.match(text) for text in _distribution().requires or () if "extra ==" not in text]
    names = {found[0] for found in asked if found} | set(_PINNED)
    return "".join(f"{name}=={importlib.metadata.version(name)}\n" for name in sorted(names))


# ------------------------------------------------------------------------------ in the container


@dataclass(frozen=True)
class Chosen:
    """The file to grade with those beside it that are allowed; without a `name`, why there is none.

    `notes` are for the learner.
    """

    name: str = ""
    files: Mapping[str, bytes] | None = None
    notes: tuple[str, ...] = ()


def choose(folder: Path, entry: Entry) -> Chosen:
    """Return what was handed in, by the rules that hold for every class.

    Raises: UsageProblem where the folder cannot be read.
    """
    found = Found((_LEARNER,), of_path(folder), "the submission", opens_zip=True)
    picked, notes = pick(found, Wanted(entry.exercise.id))
    said = tuple(note.text for note in notes)
    if not isinstance(picked, Picked):
        return Chosen(notes=said)
    name = picked.entry.name
    files = {
        one.name: one.read(MOST_SIBLING_BYTES + 1)
        for one in picked.beside
        if one.name in entry.exercise.siblings
    }
    return Chosen(name, {**files, name: picked.entry.read(MOST_BYTES + 1)}, said)


def maximum(metadata: bytes) -> Decimal | None:
    """Return the assignment's points from `submission_metadata.json`, None where it has none."""
    try:
        found = Decimal(str(json.loads(metadata)["assignment"]["total_points"]))
    except (ValueError, KeyError, TypeError, InvalidOperation, RecursionError):
        return None
    return found if found.is_finite() and 0 < found < 1_000_000 else None


def ended(code: int) -> str:
    """Return what it means that the grader ended with `code` and left no receipt."""
    return _ENDINGS.get(code, _ENDINGS[70])


def results(
    entry: Entry,
    receipt: Receipt | None = None,
    *,
    fault: str = "",
    notes: tuple[str, ...] = (),
    options: exports.Options | None = None,
) -> bytes:
    """Return `results.json`: of a receipt, of nothing handed in, or of a fault of ours."""
    undecided = bool(fault) or (receipt is not None and receipt.verdict == "undecided")
    status: Literal["graded", "undecided", "missing"] = "undecided" if undecided else "graded"
    row = Row(_LEARNER, status if receipt or fault else "missing", None if fault else receipt)
    book = Gradebook(
        exercise=entry.exercise.id,
        title=entry.exercise.title,
        max_points=entry.rubric.max_points,
        checks=tuple(check.id for check in entry.rubric.checks),
        layout="gradescope",
        rows=(row,),
    )
    [(_, data)] = exports.export("gradescope", book, options).files
    record: dict[str, Any] = json.loads(data)
    more = [fault, _NO_GRADE] if fault else list(notes)
    record["output"] = "\n\n".join([record["output"], *map(markdown, more)])
    return f"{json.dumps(record, indent=2, ensure_ascii=True, allow_nan=False)}\n".encode()
