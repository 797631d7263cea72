"""Who is who: hand-ins joined to a roster, and a key for everybody.

A join that is not certain is not made: nobody gets another's grade.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from grader.gradebook.roster import ID_KINDS, Roster, forms, identity, plain
from grader.receipt import naming
from grader.records.gradebook import Note, Person

Identity = tuple[str, str]

# Numbers that a platform counts for itself say nothing anywhere else.
_OWN = frozenset({"canvas_user", "moodle_participant", "canvas_anonymous", "gradescope_submission"})
_MOST_NAME_CHARS = 30
_MOST_ID_CHARS = 40


class Directory:
    """Everybody who is known, each once: the roster's people, and whom platforms name besides.

    `people` are all whom platforms name. Which of two claims is heard does not depend on order.
    """

    def __init__(self, roster: Roster | None, people: Iterable[Person]) -> None:
        self._people: dict[Identity, Person] = {}
        # As the roster has them, or else a platform: a key must not change with a hand-in.
        self._first: dict[Identity, Person] = {}
        self._roster = roster
        self._by: dict[Identity, dict[Identity, None]] = {}
        self._known: dict[Identity, tuple[Identity, ...]] = {}
        self.notes: list[Note] = []
        school_mail = _one_domain(roster) != ""
        for person in roster.people if roster else ():
            self._people[identity(person)] = self._first[identity(person)] = person
            for handle in _handles(person, school_mail):
                self._by.setdefault(handle, {})[identity(person)] = None
        named: dict[Identity, Person] = {}
        for person in people:
            key = identity(person)
            named[key] = _merged(named.get(key, person), person)
        claims: dict[Identity, list[tuple[int, Person]]] = {}
        for key, person in sorted(named.items()):
            if members := self._group(person):
                self._known[key] = members
                continue
            strength, found = self._matches(person)
            if len(found) == 1:
                claims.setdefault(found[0], []).append((strength, person))
            else:
                self._admit(person, [_called(self._people[one]) for one in found])
        for known, claimants in claims.items():
            self._settle(known, claimants)

    def who(self, person: Person) -> tuple[Identity, ...]:
        """Return who a platform's person is: one identity, or those of a whole group."""
        return self._known[identity(person)]

    def _group(self, person: Person) -> tuple[Identity, ...]:
        """Return the members, where the name is that of a group and of no learner."""
        name = plain(person.name)
        if self._roster is None or self._by.get(("name", name)):
            return ()
        return tuple(identity(one) for one in self._roster.groups.get(name, ()))

    def _settle(self, known: Identity, claimants: list[tuple[int, Person]]) -> None:
        """Give a row of the roster to who claims it best, to nobody where two do equally."""
        strongest = min(strength for strength, _ in claimants)
        first = [person for strength, person in claimants if strength == strongest]
        row = _called(self._people[known])
        for _, person in claimants:
            if any(_contradicts(other, person) for other in first):
                self._admit(person, [f"{row}, whom others may be as well"])
            else:
                self._known[identity(person)] = (known,)
                self._people[known] = _merged(self._people[known], person)

    def _admit(self, person: Person, maybe: list[str]) -> None:
        """Add somebody whom the roster does not have, or not for certain."""
        own = key = identity(person)
        if key in self._people:
            # Somebody of the roster has it, and it is not certain that this is who.
            key = ("unsure", "\0".join(own))
        self._known[own] = (key,)
        self._people[key] = self._first[key] = person
        if maybe:
            text = f"in the roster this may be: {', '.join(sorted(maybe))}"
            self.notes.append(Note("ambiguous", _called(person), text))
        elif self._roster is not None:
            text = "the roster has nobody of that id, e-mail or name"
            self.notes.append(Note("unmatched", _called(person), text))

    def _matches(self, person: Person) -> tuple[int, list[Identity]]:
        """Return whom the strongest handle leads to, and which it is: 0 is the strongest.

        Weaker ones are not asked once one answers.
        """
        for strength, handles in enumerate(_questions(person)):
            found = {
                key: None
                for handle in handles
                for key in self._by.get(handle, {})
                if not _contradicts(self._people[key], person, ID_KINDS[:strength])
            }
            if found:
                return strength, list(found)
        return 0, []

    def missing(self, present: Iterable[Identity]) -> list[Note]:
        """Return a note for everybody in the roster who is not present."""
        here = set(present)
        return [
            Note("missing", _called(self._people[identity(one)]), "in the roster, no hand-in")
            for one in (self._roster.people if self._roster else ())
            if identity(one) not in here
        ]

    def keyed(self) -> dict[Identity, Person]:
        """Return everybody with a key; it depends on who is there, not on the order of reading."""
        stems = {known: _stem(person) for known, person in self._first.items()}
        for length in (8, 16, 32, 64):
            # macOS and Windows hold names that differ in case for one.
            count = Counter(stem.casefold() for stem in stems.values())
            clash = [known for known, stem in stems.items() if count[stem.casefold()] > 1]
            if not clash:
                break
            for known in clash:
                digest = hashlib.sha256("\0".join(known).encode(errors="replace")).hexdigest()
                stems[known] = f"{_stem(self._first[known])}-{digest[:length]}"
        return {known: replace(self._people[known], key=stem) for known, stem in stems.items()}


def _called(person: Person) -> str:
    return person.name or person.email or " ".join(person.ids.values())


def _stem(person: Person) -> str:
    """Return the key where nobody else has it: the name, and the strongest id."""
    folder = person.ids.get("folder", "")
    name = person.name[:_MOST_NAME_CHARS].strip()
    kinds = [*ID_KINDS, *sorted(person.ids.keys() - {*ID_KINDS, "folder"})]
    number = next((person.ids[kind] for kind in kinds if person.ids.get(kind)), "")
    if len(number) > _MOST_ID_CHARS:
        number = hashlib.sha256(number.encode(errors="replace")).hexdigest()[:_MOST_ID_CHARS]
    if number and plain(number) not in plain(name):
        return naming.safe_stem(f"{name}-{number}" if name else number)
    return naming.safe_stem((name if number else folder) or person.name or person.email)


def _merged(known: Person, other: Person) -> Person:
    """Return what two sources know together; the first one's word counts."""
    ids = {**other.ids, **{kind: value for kind, value in known.ids.items() if value}}
    return Person("", known.name or other.name, known.email or other.email, ids)


def _contradicts(known: Person, other: Person, kinds: Iterable[str] = ID_KINDS) -> bool:
    """Return whether the two have different ids of one of these kinds."""
    return any(
        known.ids[kind].casefold() != other.ids[kind].casefold()
        for kind in kinds
        if known.ids.get(kind) and other.ids.get(kind)
    )


def _one_domain(roster: Roster | None) -> str:
    """Return the domain that all e-mails of a roster share, which then come from the school."""
    emails = [one.email for one in roster.people if one.email] if roster else []
    domains = {email.rpartition("@")[2].casefold() for email in emails}
    return domains.pop() if len(domains) == 1 else ""


def _handles(person: Person, school_mail: bool) -> set[Identity]:
    """Return everything that a person of the roster can be found by."""
    found = {(kind, value.casefold()) for kind, value in person.ids.items() if value}
    found |= {
        ("any", value.casefold())
        for kind, value in person.ids.items()
        if kind not in _OWN and value
    }
    identifier = person.ids.get("roster", "")
    for email in (person.email, identifier if "@" in identifier else ""):
        if email:
            found.add(("email", email.casefold()))
            if school_mail:
                found.add(("any", email.partition("@")[0].casefold()))
    return found | {("name", form) for name in (person.name, identifier) for form in forms(name)}


def _questions(person: Person) -> list[list[Identity]]:
    """Return what to ask for, the strongest first; each kind has its own place."""
    asked: list[list[Identity]] = [
        [(kind, person.ids[kind].casefold())] if person.ids.get(kind) else [] for kind in ID_KINDS
    ]
    words = [value for kind, value in person.ids.items() if kind not in _OWN | {"folder"}]
    # A folder is called by whatever the instructor knows learners by.
    words += [person.ids["folder"].rpartition("/")[2]] if "folder" in person.ids else []
    asked.append([("any", word.casefold()) for word in words if word])
    emails = [text for text in (person.email, *words) if "@" in text]
    asked.append([("email", text.casefold()) for text in emails])
    asked.append([("name", form) for form in sorted(forms(person.name))])
    return asked


def order(person: Person) -> tuple[str, str]:
    """Return what people are sorted by: their name, then their key."""
    return person.name.casefold(), person.key


def by_name(people: Iterable[Person]) -> list[Person]:
    """Return people in their order."""
    return sorted(people, key=order)
