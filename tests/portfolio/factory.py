"""Builds folders of receipts as grades leave them, and portfolios as they ought not to be."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.portfolio import page, paths
from grader.portfolio.gather import Attempt, gather
from grader.portfolio.manifest import manifest, to_json
from grader.portfolio.pack import Sign, contents
from grader.portfolio.submissions import Place, submissions
from grader.receipt import render
from grader.records.receipt import Receipt, SubmissionPart
from tests.receipt import factory

TEMPLATES = [Path(__file__).parents[2] / "templates"]
MADE_AT = "2026-04-01T00:00:00Z"
SOURCE = b"answer = 1\n"


def submission(
    raw: bytes = SOURCE, name: str = "my_solution.py", **siblings: bytes
) -> SubmissionPart:
    """Return what a receipt says of a graded file."""
    return SubmissionPart(
        name=name,
        sha256=hashlib.sha256(raw).hexdigest(),
        size_bytes=len(raw),
        format="py",
        siblings={one: hashlib.sha256(more).hexdigest() for one, more in siblings.items()},
    )


def passed(**more: Any) -> Receipt:
    return factory.passed(**{"submission": submission(), **more})


def failed(**more: Any) -> Receipt:
    given = {"submission": submission(b"answer = 0\n"), "created_at": "2026-02-28T09:00:00Z"}
    return factory.failed(**{**given, **more})


def put(folder: Path, place: str, receipt: Receipt, **forms: bytes) -> Path:
    """Write a receipt's JSON, and other forms, to `folder/place.<ending>`; returns the JSON."""
    given = {"json": render.to_json(receipt).encode(), **forms}
    for ending, raw in given.items():
        path = folder / f"{place}.{ending.replace('_', '.')}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
    return folder / f"{place}.json"


def receipts(folder: Path) -> Path:
    """Make a folder with three attempts at two exercises, and one graded file beside it."""
    place = folder / "receipts"
    page_text = b"<!doctype html><title>receipt</title>"
    put(place, "distributed-03/my_solution", passed(), html=page_text, md=b"# one", dsse_json=b"{}")
    put(place, "distributed-03/history/my_solution.2026-02-28T09-00-00Z", failed(), html=page_text)
    other = passed(
        exercise="distributed-04",
        exercise_title="Pipelines",
        submission=submission(b"other = 1\n", "pipes.py"),
        created_at="2026-03-05T12:00:00Z",
    )
    put(place, "distributed-04/pipes", other)
    (place / "distributed-03" / ".index.json").write_text("{}", encoding="utf-8")
    (folder / "my_solution.py").write_bytes(SOURCE)
    return place


def attempts(folder: Path) -> list[Attempt]:
    return gather(folder).attempts


def files(folder: Path, sign: Sign | None = None, created_at: str = MADE_AT) -> dict[str, bytes]:
    """Return every file of the portfolio of a folder of receipts."""
    own = attempts(folder)
    found = submissions(own, [Place(folder / "submissions", True), Place(folder.parent, False)], {})
    index = page.page(own, found.files, TEMPLATES, page.inside(found.files))
    return contents(own, found.files, index, created_at, sign)


def listed(changed: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files with a manifest that fits them, as a forger without a key would make it."""
    return {**changed, paths.MANIFEST: to_json(manifest(changed, MADE_AT))}


def edited(receipt: Receipt, **changes: Any) -> bytes:
    """Return a receipt's JSON with other values at its top."""
    return json.dumps({**json.loads(render.to_json(receipt)), **changes}).encode()


def tree(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
