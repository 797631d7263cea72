"""Receipts in a zip with the names of Moodle's own folders, to upload as feedback files."""

from __future__ import annotations

import re

from grader.gradebook.exports.parts.archive import zipped
from grader.gradebook.exports.parts.receipts import receipt_name, receipt_of, without_receipt
from grader.gradebook.exports.parts.record import Export, Options, counted, listed
from grader.gradebook.looks import has_grade, named
from grader.records.gradebook import Gradebook, Row

NAME = "moodle-feedback"
NEEDS = ("receipt_bytes",)
TAKES = ("form",)

_PLACE = re.compile(r"(?P<who>[^_/]*)_(?P<id>\d+)_(?P<plugin>assignsubmission_[a-z]+)(?P<rest>_?)")
_AGAIN = (
    "Moodle replaces a receipt of the same name when the zip is uploaded again, and notifies each "
    "learner again."
)


def make(gradebook: Gradebook, options: Options) -> Export:
    """Return `moodle-feedback.zip`; each receipt lies in the learner's own folder."""
    members: dict[str, bytes] = {}
    homeless: list[Row] = []
    name = receipt_name(gradebook, options)
    for row in gradebook.rows:
        if not has_grade(row):
            continue
        place = _place(row)
        if place is None:
            homeless.append(row)
        else:
            members[place + name] = receipt_of(row, options)
    said = [f"{counted(len(members), 'receipt')} for Moodle.", *without_receipt(gradebook)]
    if homeless:
        names = listed([named(row) for row in homeless], 50)
        said.append(f"Without a folder of Moodle's, so it cannot take a receipt back: {names}.")
    return Export(
        (("moodle-feedback.zip", zipped(members)),),
        (*said, *([_AGAIN] if members else [])),
    )


def _place(row: Row) -> str | None:
    """Return what stands before the receipt's name: a folder, or a prefix in a flat download.

    A group's folder has the group's number, which Moodle would take for a participant's; then the
    member's own takes its place.
    """
    given = row.ids.get("moodle_folder", "").strip("/")
    path = row.shown.replace("\\", "/").split("/")
    participant = row.person.ids.get("moodle_participant", "")
    for part in ([given] if given else []) + path:
        found = _PLACE.match(part)
        if not found:
            continue
        if participant.isdigit() and found["id"] != participant:
            return f"{_who(row)}_{participant}_{found['plugin']}/"
        if part == path[-1] and part != given:
            return f"{found['who']}_{found['id']}_{found['plugin']}_"
        return f"{part}/"
    if participant.isdigit():
        return f"{_who(row)}_{participant}_assignsubmission_file/"
    return None


def _who(row: Row) -> str:
    # Moodle splits the name at underscores, and clean_filename removes what paths cannot have.
    kept = re.sub(r'[_/\\:*?"<>|&\x00-\x1f]', " ", row.person.name)
    return " ".join(kept.split()).strip(" .~") or "Participant"
