"""The list of a class: who should have handed something in, read from any platform's own table.

Columns are found by their names, in any order; nothing is guessed from a cell's content.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.errors import UsageProblem
from grader.gradebook.archive import shown
from grader.records.gradebook import Note, Person

MOST_BYTES = 16 << 20
# The field of a person, then what platforms call its column, in lower case without signs.
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "canvas_user": ("canvas user id", "canvas id"),
    "sis_user": ("sis user id", "sis id", "user id"),
    "sis_login": ("sis login id", "login id", "login", "username", "user name", "user", "netid"),
    "moodle_participant": ("identifier", "participant", "participant id"),
    "sid": ("sid", "student id", "student number", "id number", "matriculation number", "id"),
    "github": ("github username", "github", "github login", "github user"),
    "roster": ("roster identifier",),
    "email": ("email", "e mail", "email address", "e mail address", "mail", "sis email"),
    "name": ("name", "full name", "fullname", "student", "student name", "display name", "learner"),
    "first": ("first name", "firstname", "first", "given name", "forename"),
    "last": ("last name", "lastname", "last", "surname", "family name"),
    "group": ("group", "group name", "team", "team name"),
    "role": ("role",),
}
_FIELD = {name: field for field, names in _COLUMNS.items() for name in names}
ID_KINDS = tuple(list(_COLUMNS)[:7])
_SEPARATORS = (",", ";", "\t")
_LEARNER_ROLES = ("", "student", "learner")
_NUMBER = re.compile(r"[0-9]+")


@dataclass(frozen=True)
class Roster:
    """Everybody in the class in the table's order, the members of each group by its name."""

    people: tuple[Person, ...]
    groups: Mapping[str, tuple[Person, ...]] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()


def plain(text: str) -> str:
    """Return a name as it is compared: no case, no signs or spaces, one form of each accent."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return "".join(c for c in folded if c.isalnum() or unicodedata.category(c)[0] == "M")


def forms(name: str) -> frozenset[str]:
    """Return what a name may be compared as: `Doe, Jane`, `Jane Doe` and `doejane` meet in one."""
    words = [word for part in name.split(",") for word in part.replace("_", " ").split()]
    turned = (plain("".join(words[at:] + words[:at])) for at in range(len(words)))
    return frozenset(form for form in turned if form)


def load(path: Path) -> Roster:
    """Return the roster in a CSV file.

    Raises:
        UsageProblem: it cannot be read, or no column says who a row is about.
    """
    where = shown(str(path))
    rows = _rows(_decoded(_bytes(path, where), where), where)
    header, *body = rows or [[]]
    columns = _columns(header)
    if not {"name", "first", "last", "email", *ID_KINDS} & columns.keys():
        raise UsageProblem(
            f"{where} has no column that says who a row is about",
            where=", ".join(shown(cell) for cell in header[:12]) or "it is empty",
            next_step="name the columns in its first line: Name, Email, SID, SIS Login ID, "
            "github_username, …",
        )
    return _roster(columns, body, where)


def _bytes(path: Path, where: str) -> bytes:
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageProblem(
            f"{where} cannot be read: {reason}", next_step="name the roster's CSV file"
        ) from error
    if len(raw) > MOST_BYTES:
        raise UsageProblem(
            f"{where} is larger than {MOST_BYTES >> 20} MiB", next_step="name the roster's CSV file"
        )
    return raw


def _decoded(raw: bytes, where: str) -> str:
    encoding = "utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UsageProblem(
            f"{where}, line {line}: not UTF-8 text", next_step="save it again as CSV UTF-8"
        ) from error


def _rows(text: str, where: str) -> list[list[str]]:
    """Return the rows that hold anything, split at the separator that the header is split at."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    try:
        known = {
            mark: len(_columns(next(csv.reader([first], delimiter=mark), [])))
            for mark in _SEPARATORS
        }
        mark = max(_SEPARATORS, key=lambda one: known[one])
        rows = [
            [cell.strip() for cell in row] for row in csv.reader(io.StringIO(text), delimiter=mark)
        ]
    except csv.Error as error:
        raise UsageProblem(
            f"{where} is no table: {error}", next_step="export it again as CSV"
        ) from error
    return [row for row in rows if any(row)]


def _columns(header: Iterable[str]) -> dict[str, int]:
    """Return where the fields of a person stand."""
    named = [" ".join(re.split(r"[\W_]+", cell.strip().lower())).strip() for cell in header]
    found: dict[str, int] = {}
    for at, name in enumerate(named):
        kind = _FIELD.get(name)
        if kind is not None and _preferred(kind, name, found, named):
            found[kind] = at
    # Canvas's own `ID` is its user, whatever other ids the sheet has.
    has = set(named)
    if "id" in has and {"student", "lastname"} & has and {"section", "sis login id"} & has:
        at = named.index("id")
        found["canvas_user"] = at
        if found.get("sid") == at:
            del found["sid"]
    # GitHub Classroom has two tables, and calls its own id `identifier` and its users `username`.
    if {"github id", "github username"} & has:
        if "identifier" in has:
            found["roster"] = found.pop("moodle_participant")
        if "github" not in found and "username" in has:
            found["github"] = found.pop("sis_login")
    return found


def _preferred(kind: str, name: str, found: Mapping[str, int], named: list[str]) -> bool:
    if kind not in found:
        return True
    order = _COLUMNS[kind]
    return order.index(name) < order.index(named[found[kind]])


def _roster(columns: Mapping[str, int], body: list[list[str]], where: str) -> Roster:
    notes: list[Note] = []
    people: dict[tuple[str, str], Person] = {}
    groups: dict[str, list[Person]] = {}
    for row in body:
        cells = {kind: _cell(row, at) for kind, at in columns.items()}
        found = _person(cells)
        if found is not None and cells.get("role", "").lower() not in _LEARNER_ROLES:
            who = found.name or found.email
            notes.append(Note("ignored", who, f"{where}: their role is {cells['role']}"))
            continue
        person = _apart(found, people, where, notes) if found else None
        if person is None:
            continue
        people[identity(person)] = person
        if cells.get("group"):
            groups.setdefault(plain(cells["group"]), []).append(person)
    return Roster(
        tuple(people.values()),
        {name: tuple(members) for name, members in groups.items()},
        tuple(notes),
    )


def _apart(
    person: Person, people: Mapping[tuple[str, str], Person], where: str, notes: list[Note]
) -> Person | None:
    """Return the person of a row so that nobody before is the same, None for a second row."""
    while (other := people.get(identity(person))) is not None:
        kind, value = identity(person)
        who = person.name or person.email or value
        if kind not in person.ids or forms(person.name) & forms(other.name):
            notes.append(Note("duplicate", who, f"{where}: there twice; the first row counts"))
            return None
        # A spreadsheet turns long numbers into one; a shared id tells nobody apart.
        text = f"{where}: has the {kind} {value} of {other.name}, so it is not used"
        notes.append(Note("ambiguous", who, text))
        ids = {name: one for name, one in person.ids.items() if name != kind}
        person = Person("", person.name, person.email, ids)
    return person


def _cell(row: list[str], at: int) -> str:
    text = row[at] if at < len(row) else ""
    # What a spreadsheet must not take for a number or a formula is written ="00123".
    quoted = re.fullmatch(r'="(.*)"', text)
    return unicodedata.normalize("NFC", quoted[1].replace('""', '"') if quoted else text).strip()


def _person(cells: Mapping[str, str]) -> Person | None:
    """Return the person of a row, None where it is about nobody."""
    name = cells.get("name", "")
    if cells.get("first") or cells.get("last"):
        name = f"{cells.get('first', '')} {cells.get('last', '')}".strip()
    ids = {kind: cells[kind] for kind in ID_KINDS if cells.get(kind)}
    if "moodle_participant" in ids:
        # The sheet says `Participant 123`, in the site's language.
        number = _NUMBER.findall(ids["moodle_participant"])
        ids["moodle_participant"] = number[-1] if number else ids["moodle_participant"]
    # Rows that Canvas puts between the header and the class, and its made-up learner.
    if not ids.get("canvas_user") and plain(name) in ("pointspossible", "manualposting"):
        return None
    if plain(name) == "studenttest" and "," in name:
        return None
    email = cells.get("email", "")
    if not (name or email or ids):
        return None
    return Person("", name or ids.get("roster", ""), email, ids)


def identity(person: Person) -> tuple[str, str]:
    """Return what makes a person the same one in two places: the strongest id, e-mail, name."""
    for kind in ID_KINDS:
        if person.ids.get(kind):
            return kind, person.ids[kind].casefold()
    for kind, value in sorted(person.ids.items()):
        if value:
            return kind, value
    if person.email:
        return "email", person.email.casefold()
    return "name", plain(person.name)
