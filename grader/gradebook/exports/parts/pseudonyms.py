"""A gradebook without names: stable pseudonyms, and the one table that leads back.

Receipts come out without the name, the file's name and the ids as well. What stays is what the
learner did: digests of the submission and of the evidence, with which whoever has the file itself
can find it again.
"""

from __future__ import annotations

import csv
import hashlib
import hmac
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from grader.gradebook.exports.parts.spreadsheet import safe
from grader.gradebook.ungraded import AGAIN, Hindrance, Kind, Ungraded, ungraded, why
from grader.records.gradebook import Gradebook, Mark, Note, NoteKind, Override, Person, Row
from grader.records.receipt import Receipt

_SHORTEST = 3
_WORD = re.compile(r"[^\W_]+")
_NOTES: Mapping[NoteKind, str] = {
    "missing": "handed in nothing",
    "unmatched": "is not in the class",
    "ambiguous": "fits several people",
    "duplicate": "handed in the same file as somebody else",
    "superseded": "handed in again later",
    "empty": "handed in an empty file",
    "ignored": "a file that is no submission",
    "refused": "a file that could not be taken",
}
_HINDERED: Mapping[Kind, str] = {
    "ambiguous": "several files",
    "refused": "cannot be read",
    "empty": "no Python file",
    "undecided": "",
}
# Texts that a learner's own program or a person wrote; everything else is ours.
_FREE = frozenset(
    {"output", "source_lines", "traceback", "explanation", "answer", "outcome", "siblings"}
)


@dataclass(frozen=True)
class Anonymous:
    """A gradebook without names, and who each pseudonym is; keep the two apart."""

    gradebook: Gradebook
    people: Mapping[str, Person]

    def table(self) -> bytes:
        """Return the mapping as CSV: pseudonym, key, name, email and ids."""
        kinds = sorted({kind for person in self.people.values() for kind in person.ids})
        out = io.StringIO(newline="")
        rows = csv.writer(out)
        rows.writerow(["pseudonym", "key", "name", "email", *(f"id_{kind}" for kind in kinds)])
        for pseudonym, person in self.people.items():
            ids = [person.ids.get(kind, "") for kind in kinds]
            rows.writerow([pseudonym, *map(safe, (person.key, person.name, person.email, *ids))])
        return out.getvalue().encode("utf-8", errors="backslashreplace")


def anonymize(gradebook: Gradebook, key: bytes) -> Anonymous:
    """Return the gradebook under pseudonyms, in their order.

    The order comes from `key` and each person's key, so it says nothing about names; the same class
    and the same key give the same pseudonyms.

    Raises: ValueError when `key` is empty.
    """
    if not key:
        raise ValueError("an empty key would let anybody find the order")

    def place(row: Row) -> bytes:
        return hmac.digest(key, row.person.key.encode(errors="surrogatepass"), hashlib.sha256)

    ordered = sorted(gradebook.rows, key=place)
    width = max(_SHORTEST, len(str(len(ordered))))
    names = {row.person.key: f"learner-{n:0{width}d}" for n, row in enumerate(ordered, start=1)}
    people = {names[row.person.key]: row.person for row in ordered}
    others = _Others(people)
    everybody = [(row, _Scrub(row, names[row.person.key], others)) for row in ordered]
    notes = tuple(_note(note, names, people) for note in gradebook.notes)
    rows = tuple(_row(row, scrub) for row, scrub in everybody)
    return Anonymous(replace(gradebook, rows=rows, notes=notes), people)


def _note(note: Note, names: Mapping[str, str], people: Mapping[str, Person]) -> Note:
    known = {note.who: names[note.who]} if note.who in names else {}
    for pseudonym, person in people.items():
        if note.who and note.who in (person.name, person.email):
            known.setdefault(note.who, pseudonym)
    # The text may name files and people that no list knows, so only its kind is told.
    return Note(note.kind, known.get(note.who, "somebody"), _NOTES[note.kind])


def _row(row: Row, scrub: _Scrub) -> Row:
    name = scrub.pseudonym
    known = Row(
        person=Person(key=name, name=name),
        status=row.status,
        receipt=_receipt(row.receipt, scrub) if row.receipt else None,
        receipt_folder=name if row.receipt_folder else "",
        submitted_at=row.submitted_at,
        late=row.late,
        shown=scrub.file if row.shown else "",
        overrides=tuple(
            Override(o.check, o.was, o.points, o.by, o.at, scrub.free(o.why)) for o in row.overrides
        ),
        marks=tuple(Mark(m.item, m.points, m.max_points, scrub.free(m.comment)) for m in row.marks),
    )
    # Which files there are may name anybody, so only the kind is told.
    reason = why(row) if isinstance(row, Ungraded) else None
    hidden = Hindrance(reason.kind, _HINDERED[reason.kind], AGAIN) if reason else None
    return ungraded(known, hidden)


def _receipt(receipt: Receipt, scrub: _Scrub) -> Receipt:
    record = {key: scrub.value(value, key) for key, value in receipt.model_dump().items()}
    files = receipt.submission.siblings
    record["learner"] = None
    record["submission"] = {
        **receipt.submission.model_dump(),
        "name": scrub.file,
        "siblings": {
            f"file-{n}{_ending(name)}": files[name] for n, name in enumerate(sorted(files), 1)
        },
    }
    return Receipt.model_validate(record)


def _ending(name: str) -> str:
    found = re.search(r"\.[A-Za-z0-9]{1,8}$", name)
    return found[0] if found else ""


def _orders(name: str) -> set[str]:
    """Return a name as it stands and in the other usual order: `Doe, Jane` and `Jane Doe`."""
    last, comma, first = (part.strip() for part in name.partition(","))
    if comma:
        return {name, f"{first} {last}", f"{last} {first}"}
    words = name.split()
    turned = {f"{words[-1]}, {' '.join(words[:-1])}"} if len(words) > 1 else set()
    return {name, *turned}


class _Others:
    """Replaces whole names and addresses of anybody in the class, which a learner may have printed.

    They are looked up by their first word: a pattern of a thousand names would be slow.
    """

    def __init__(self, people: Mapping[str, Person]) -> None:
        self._by_word: dict[str, list[tuple[str, str]]] = {}
        for pseudonym, person in people.items():
            for whole in (*_orders(person.name), person.email):
                word = _WORD.search(whole)
                if word and word.start() == 0 and len(whole) > _SHORTEST:
                    known = self._by_word.setdefault(word[0].casefold(), [])
                    known.append((whole.casefold(), pseudonym))

    def replaced(self, text: str) -> str:
        """Return `text` with those names replaced."""
        pieces: list[str] = []
        at = 0
        for word in _WORD.finditer(text):
            for whole, pseudonym in self._by_word.get(word[0].casefold(), []):
                end = word.start() + len(whole)
                if word.start() >= at and text[word.start() : end].casefold() == whole:
                    pieces += [text[at : word.start()], pseudonym]
                    at = end
                    break
        return "".join([*pieces, text[at:]])


class _Scrub:
    """Replaces what names one learner: everywhere, and more of it in what the learner wrote."""

    def __init__(self, row: Row, pseudonym: str, others: _Others) -> None:
        person, receipt = row.person, row.receipt
        self.pseudonym, self._others = pseudonym, others
        name = receipt.submission.name if receipt else row.shown.replace("\\", "/")
        base = name.rpartition("/")[2]
        self.file = pseudonym + _ending(base)
        files = {row.shown, base, *(receipt.submission.siblings if receipt else ())} - {""}
        whole = {person.name, person.email, person.email.partition("@")[0], person.key}
        whole |= {v for v in person.ids.values() if not v.isdigit()}
        words = {word for word in re.split(r"[\W_]+", person.name) if len(word) >= _SHORTEST}
        numbers = {v for v in (*person.ids.values(), *row.ids.values()) if v.isdigit()}
        self._files = _any(files)
        self._whole = _any({one for one in whole if len(one) >= _SHORTEST})
        self._words = _any(words | {one for one in numbers if len(one) >= _SHORTEST})

    def value(self, value: Any, key: str, free: bool = False) -> Any:
        """Return any JSON value with its texts scrubbed; `key` says whose words they are."""
        free = free or key in _FREE
        if isinstance(value, str):
            return self.free(value) if free else self._said(value)
        if isinstance(value, list):
            return [self.value(one, "", free) for one in value]
        if isinstance(value, dict):
            return {name: self.value(one, str(name), free) for name, one in value.items()}
        return value

    def free(self, text: str) -> str:
        """Return a learner's or an instructor's own text without any word of the name."""
        return self._words.sub(self.pseudonym, self._others.replaced(self._said(text)))

    def _said(self, text: str) -> str:
        return self._whole.sub(self.pseudonym, self._files.sub(self.file, text))


def _any(words: set[str]) -> re.Pattern[str]:
    """Return a pattern for any of the words as a word of its own, the longest first."""
    if not words:
        return re.compile(r"(?!)")
    longest = sorted(words, key=lambda word: (-len(word), word))
    return re.compile(
        r"(?<![^\W_])(?:" + "|".join(map(re.escape, longest)) + r")(?![^\W_])", re.IGNORECASE
    )
