"""Receipts in a zip that Canvas takes back as comments on each submission."""

from __future__ import annotations

import re

from grader.gradebook.exports.parts.archive import zipped
from grader.gradebook.exports.parts.receipts import receipt_name, receipt_of, without_receipt
from grader.gradebook.exports.parts.record import Export, Options, counted, listed
from grader.gradebook.looks import has_grade, named
from grader.receipt.naming import safe_stem
from grader.records.gradebook import Gradebook, Row

NAME = "canvas-feedback"
NEEDS = ("receipt_bytes",)
TAKES = ("form",)

# What Canvas puts before the learner's own file name; it reads the first two all-digit parts.
_DOWNLOADED = re.compile(r"(?s).*?(?:_LATE)?_[0-9]+_(?P<attachment>[0-9]+)_(?P<name>.+)")
_ANONYMOUS = re.compile(
    r"(?s)(?:LATE_)?anon_[A-Za-z0-9]+(?:_LATE)?_(?P<attachment>[0-9]+)_(?P<name>.+)"
)
_TWICE = (
    "Canvas adds a comment each time this zip is uploaded: a second upload shows every receipt "
    "twice. Delete the earlier comments first, or upload once."
)
_NAMED = (
    "Canvas shows each receipt under the name of the learner's own file; where that is a .py file, "
    "opening the attachment downloads the receipt by that name."
)


def make(gradebook: Gradebook, options: Options) -> Export:
    """Return `canvas-feedback.zip`; a group's receipt is in it once, under its representative."""
    members: dict[str, bytes] = {}
    shared: dict[str, list[Row]] = {}
    homeless: list[Row] = []
    for row in gradebook.rows:
        if not has_grade(row):
            continue
        prefix = _prefix(row)
        if prefix is None:
            homeless.append(row)
            continue
        shared.setdefault(prefix, []).append(row)
    for prefix, rows in shared.items():
        members[prefix + receipt_name(gradebook, options)] = receipt_of(
            _representative(prefix, rows), options
        )
    return Export(
        (("canvas-feedback.zip", zipped(members)),),
        (
            f"{counted(len(members), 'receipt')} for Canvas.",
            *without_receipt(gradebook),
            *_told(homeless, shared),
            *([_TWICE, _NAMED] if members else []),
        ),
    )


def _prefix(row: Row) -> str | None:
    """Return what the receipt's name begins with, None where Canvas has no attachment for it."""
    user, attachment = row.person.ids.get("canvas_user", ""), row.ids.get("canvas_attachment", "")
    # A file out of a learner's own zip lies below the name that Canvas gave.
    for base in re.split(r"[/\\]|: ", row.shown):
        found = _ANONYMOUS.fullmatch(base) or _DOWNLOADED.fullmatch(base)
        if found and found["attachment"] == (attachment or found["attachment"]):
            return base[: found.start("name")].lstrip(".")
    if user.isascii() and user.isdigit() and attachment.isascii() and attachment.isdigit():
        who = re.sub(r"[\W\d_]+", "", row.person.name.casefold()) or "learner"
        return f"{safe_stem(who)}_{user}_{attachment}_"
    return None


def _representative(prefix: str, rows: list[Row]) -> Row:
    """Return the row of the member that the file is filed under, else the first."""
    mine = [row for row in rows if f"_{row.person.ids.get('canvas_user', '?')}_" in prefix]
    return (mine or rows)[0]


def _told(homeless: list[Row], shared: dict[str, list[Row]]) -> list[str]:
    said = []
    if homeless:
        names = listed([named(row) for row in homeless], 50)
        said.append(f"Without an attachment in Canvas, so it cannot take a receipt back: {names}.")
    for rows in shared.values():
        if len(rows) > 1:
            names = listed([named(row) for row in rows], 50)
            said.append(f"One receipt for the group of {names}.")
    return said
