"""Which submissions look alike: places for a person to look at, never a score and never a verdict.

Equal bytes are found by digest, the rest by fingerprints of syntax trees (`sandbox/outline.py`),
without those of the starter and those that much of the class has. Of a notebook the code cells are
compared, with other notebooks and with modules. No source is parsed in this process.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import heapq
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from grader import wire
from grader.errors import Undecided, WireProblem
from grader.gradebook import notebooks
from grader.process import Child, Deadline
from grader.sandbox.host import Host
from grader.sandbox.launching import Allowance

# More than any solution written by hand has; of a notebook its code.
MOST_SOURCE_BYTES = 256 * 1024
# Fewer fingerprints of their own say nothing: about five lines.
LEAST_PRINTS = 12
MOST_PAIRS = 500
# A child is replaced after so many files, so that each batch has its own allowance.
BATCH = 200
FILE_S = 10.0
_ALLOWANCE = Allowance(cpu_s=60, memory_bytes=1 << 30, output_bytes=1 << 16)
_STARTED_S = 60.0
_MOST_PRINTS = 200_000

How = Literal["equal bytes", "equal but for names, texts and layout"]


@dataclass(frozen=True)
class Group:
    """Submissions that are one and the same."""

    names: tuple[str, ...]
    how: How


@dataclass(frozen=True)
class Pair:
    """Two submissions, and how much of the smaller one's own code is in the other, in percent.

    Of a group the first one stands for all.
    """

    first: str
    second: str
    percent: int


@dataclass(frozen=True)
class Found:
    """Everything to look at: groups, pairs (the most alike first), and what hangs together.

    `typical` is the percentage of the middle pair of this class, None where there is no pair;
    `more` counts the pairs that are left out; `unread` says of whom only the bytes were compared.
    """

    groups: tuple[Group, ...]
    pairs: tuple[Pair, ...]
    clusters: tuple[tuple[str, ...], ...]
    typical: int | None
    more: int
    unread: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Outline:
    """A module's syntax tree as a digest of the whole and its fingerprints."""

    digest: str
    prints: frozenset[int]


def lookalikes(
    texts: Iterable[tuple[str, bytes]], starter: bytes, host: Host, *, at_least: int = 80
) -> Found:
    """Return who looks alike.

    Args:
        texts: every submission's name and bytes, taken one at a time; no bytes are kept.
        starter: what everybody was given.
        host: starts the processes that parse.
        at_least: the least percentage of a pair that is listed.
    """
    with contextlib.closing(Outliner(host)) as outliner:
        given = outliner.outline(starter)
        known: dict[str, list[str]] = {}
        outlines: dict[str, Outline | str] = {}
        for name, raw in texts:
            digest = hashlib.sha256(raw).hexdigest()
            known.setdefault(digest, []).append(name)
            if digest not in outlines:
                code = notebooks.code(raw)
                outlines[digest] = (
                    outliner.outline(raw)
                    if code is None
                    else (outliner.outline(code) if isinstance(code, bytes) else code)
                )
    free = given if isinstance(given, Outline) else Outline("", frozenset())
    untouched = hashlib.sha256(starter).hexdigest()
    groups = [Group(tuple(n), "equal bytes") for d, n in known.items() if len(n) > 1]
    groups = [group for group in groups if known.get(untouched) != list(group.names)]
    forms: dict[str, list[tuple[str, Outline]]] = {}
    for digest, outline in outlines.items():
        if isinstance(outline, Outline) and outline.digest != free.digest:
            forms.setdefault(outline.digest, []).append((known[digest][0], outline))
    own = {
        members[0][0]: prints
        for members in forms.values()
        if len(prints := members[0][1].prints - free.prints) >= LEAST_PRINTS
    }
    groups += [
        Group(tuple(name for name, _ in members), "equal but for names, texts and layout")
        for members in forms.values()
        if len(members) > 1 and members[0][0] in own
    ]
    pairs, more, typical = _near(own, at_least)
    unread = [(n, o) for d, o in outlines.items() if isinstance(o, str) for n in known[d]]
    links = [*(group.names for group in groups), *((p.first, p.second) for p in pairs)]
    return Found(tuple(groups), tuple(pairs), _clusters(links), typical, more, tuple(unread))


class Outliner:
    """Has one file after another parsed in throw-away processes.

    One that ends, hangs or answers nonsense costs the file that it was asked about and no other.
    """

    def __init__(self, host: Host, file_s: float = FILE_S) -> None:
        self._host, self._file_s = host, file_s
        self._child: Child | None = None
        self._asked = 0
        self._workdir = tempfile.TemporaryDirectory(prefix="run-", dir=host.room)

    def close(self) -> None:
        """End the process that is left."""
        self._end()
        self._workdir.cleanup()

    def outline(self, source: bytes) -> Outline | str:
        """Return the outline of a module, or why there is none.

        Raises: Undecided where no process can be started.
        """
        if len(source) > MOST_SOURCE_BYTES:
            return f"larger than {MOST_SOURCE_BYTES >> 10} KiB"
        if self._asked >= BATCH:
            self._end()
        child = self._child or self._start()
        self._asked += 1
        child.send({"source": base64.b64encode(source).decode("ascii")})
        try:
            answer = child.receive(Deadline(self._file_s))
            if answer is not None:
                return _checked(answer)
        except (TimeoutError, WireProblem, *wire.MALFORMED):
            pass
        self._end()
        return "the parser did not come to an end with it"

    def _start(self) -> Child:
        child = self._host.start("outline", self._workdir.name, _ALLOWANCE)
        self._child, self._asked = child, 0
        with contextlib.suppress(TimeoutError, WireProblem):
            if (child.receive(Deadline(_STARTED_S)) or {}).get("t") == "layers":
                return child
        self._end()
        words = child.output.result().text.strip().splitlines()
        raise Undecided(
            "the process that reads syntax trees did not start",
            where=words[-1][:300] if words else "",
            next_step="`grade doctor` shows what this machine lacks",
        )

    def _end(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.finish()
        self._child = None


def _checked(answer: dict[str, Any]) -> Outline | str:
    found = answer["outline"]
    if found is None:
        return "no Python that can be parsed"
    prints = frozenset(map(wire.integer, found["prints"][:_MOST_PRINTS]))
    return Outline(wire.text(found["digest"], 64), prints)


def _near(own: dict[str, frozenset[int]], at_least: int) -> tuple[list[Pair], int, int | None]:
    """Return the pairs that are alike enough, how many more there are, and the middle percentage.

    A fingerprint that a tenth of the class has is how the exercise is solved, and not counted. So
    the work grows with the matches that are left, and not with the number of pairs.
    """
    spread = Counter(one for prints in own.values() for one in prints)
    common = {one for one, count in spread.items() if count > max(10, len(own) // 10)}
    names = [name for name, prints in own.items() if len(prints - common) >= LEAST_PRINTS]
    holders: dict[int, list[int]] = {}
    seen = [0] * 101
    found: list[tuple[int, int, int]] = []
    sizes: list[int] = []
    for place, name in enumerate(names):
        prints = own[name] - common
        sizes.append(len(prints))
        shared = Counter(other for one in prints for other in holders.get(one, ()))
        for other, count in shared.items():
            percent = 100 * count // min(sizes[place], sizes[other])
            seen[percent] += 1
            if percent >= at_least:
                found.append((percent, other, place))
        for one in prints:
            holders.setdefault(one, []).append(place)
    best = heapq.nsmallest(MOST_PAIRS, found, key=lambda one: (-one[0], one[1], one[2]))
    pairs = [Pair(names[a], names[b], percent) for percent, a, b in best]
    return pairs, len(found) - len(best), _middle(seen, len(names))


def _middle(seen: Sequence[int], members: int) -> int | None:
    pairs = members * (members - 1) // 2
    passed = pairs - sum(seen)
    for percent, count in enumerate(seen):
        passed += count
        if passed * 2 >= pairs > 0:
            return percent
    return None


def _clusters(links: Iterable[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Return what hangs together by links, the largest first."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = name = parent[parent[name]]
        return name

    for first, *others in links:
        for other in others:
            parent[root(other)] = root(first)
    members: dict[str, list[str]] = {}
    for name in parent:
        members.setdefault(root(name), []).append(name)
    return tuple(sorted(map(tuple, members.values()), key=lambda one: (-len(one), one)))


def read_all(hand_ins: Iterable[Any]) -> Iterator[tuple[str, bytes]]:
    """Give each hand-in's name, made of its people's keys, and its bytes."""
    for one in hand_ins:
        yield " + ".join(person.key for person in one.people), one.read()


def starter_of(folder: Path) -> bytes:
    """Return the starter of an exercise's folder, nothing where it has none."""
    try:
        return (folder / "starter.py").read_bytes()
    except OSError:
        return b""
