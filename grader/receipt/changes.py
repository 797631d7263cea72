"""Says what a new try gained and lost beside an earlier one, for a learner who reads it.

It judges nothing and reads no file: both receipts are taken at their word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from grader.receipt import exhibits, view
from grader.receipt.differences import circumstances
from grader.receipt.escape import visible_line
from grader.records.finding import Finding, Item, Status
from grader.records.receipt import Receipt

_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]*")
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?(?:(?:, | and |–)\d+)*")
_NOW: dict[Status, str] = {
    "passed": "passes",
    "failed": "fails",
    "blocked": "waits",
    "undecided": "is undecided",
}
_BEFORE: dict[Status, str] = {
    "passed": "passed",
    "failed": "failed",
    "blocked": "waited",
    "undecided": "was undecided",
}
_MOST_NAMES = 6
_MOST_REASON = 80
# What the learner's file cannot be the cause of.
_NOT_THE_FILE = ("confinement", "rubric")


@dataclass(frozen=True)
class CheckChange:
    """One check that is not as it was; None for points and status where a receipt has it not.

    `gained` and `lost` are the ids of the items with more and with fewer points; an item that the
    grader could not decide has lost nothing.
    """

    id: str
    title: str
    was: int | None
    now: int | None
    max_points: int
    was_status: Status | None
    now_status: Status | None
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


@dataclass(frozen=True)
class MistakeChange:
    """A mistake that one receipt alone names, and the checks that name it there.

    `solved` says of one that is gone that everything that named it passes now; what fails in
    another way, waits or is undecided may still hold it.
    """

    id: str
    title: str
    checks: tuple[str, ...]
    solved: bool = False


@dataclass(frozen=True)
class Changes:
    """What differs between an earlier and a new receipt of one exercise; pairs are (was, now).

    `stopped` says where and why each module stopped, empty where it ran to its end. `same_file`
    means equal bytes, also of the files beside it; then `causes` names what else the two were
    graded with. `other` are the checks that fail as before, and of which another thing was
    observed. `swapped` says that the one called earlier was made later.
    """

    exercise: str
    points: tuple[int, int]
    max_points: tuple[int, int]
    verdicts: tuple[str, str]
    stopped: tuple[str, str]
    checks: tuple[CheckChange, ...]
    other: tuple[str, ...]
    gone: tuple[MistakeChange, ...]
    new: tuple[MistakeChange, ...]
    same_file: bool
    same_rubric: bool
    same_seed: bool
    causes: tuple[str, ...]
    swapped: bool

    @property
    def gained(self) -> int:
        """Return how many points more the new one has; negative where it has fewer."""
        return self.points[1] - self.points[0]

    @property
    def nothing(self) -> bool:
        """Return whether nothing but the file, the rubric and dates can differ."""
        pairs = (self.points, self.max_points, self.verdicts, self.stopped)
        return not (self.checks or self.other or self.gone or self.new) and all(
            a == b for a, b in pairs
        )


def changes(old: Receipt, new: Receipt) -> Changes:
    """Return what became of `old` in `new`; the caller sees to it that both are of one exercise."""
    was, now = _mistakes(old), _mistakes(new)
    return Changes(
        exercise=new.exercise,
        points=(old.points, new.points),
        max_points=(old.max_points, new.max_points),
        verdicts=(old.verdict, new.verdict),
        stopped=(_stopped(old), _stopped(new)),
        checks=tuple(_checks(old.checks, new.checks)),
        other=tuple(_other(old.checks, new.checks)),
        gone=tuple(_change(old, name, was[name], new) for name in was if name not in now),
        new=tuple(_change(new, name, now[name]) for name in now if name not in was),
        same_file=_file(old) == _file(new),
        same_rubric=old.environment.rubric_sha256 == new.environment.rubric_sha256,
        same_seed=old.environment.seed_sha256 == new.environment.seed_sha256,
        causes=tuple(_causes(old, new)),
        swapped=_is_later(old.created_at, new.created_at),
    )


def _is_later(first: str, second: str) -> bool:
    """Return whether one date is after another; one that is none is after nothing."""
    try:
        return datetime.fromisoformat(first) > datetime.fromisoformat(second)
    except (TypeError, ValueError):
        return False


def _file(receipt: Receipt) -> tuple[str, dict[str, str]]:
    return receipt.submission.sha256, receipt.submission.siblings


def _causes(old: Receipt, new: Receipt) -> Iterable[str]:
    if old.environment.seed_sha256 != new.environment.seed_sha256:
        yield "hidden inputs"
    for one in circumstances(old.environment, new.environment):
        if one.what not in _NOT_THE_FILE:
            yield one.what


def _stopped(receipt: Receipt) -> str:
    """Return where and why a module stopped, as `at line 7 (NameError: ...)`, else nothing."""
    if not view.stopped(receipt.outcome):
        return ""
    line = receipt.outcome.line
    where = f"at {exhibits.place(receipt, line)} " if line else ""
    why = receipt.outcome.message.strip().split("\n")[0] or view.sentence(receipt.outcome.kind)
    why = why.rstrip(".")
    cut = why if len(why) <= _MOST_REASON else f"{why[: _MOST_REASON - 1]}…"
    return f"{where}({cut})"


# ------------------------------------------------------------------------------------------- checks


def _checks(old: Sequence[Finding], new: Sequence[Finding]) -> Iterable[CheckChange]:
    before, after = ({one.id: one for one in checks} for checks in (old, new))
    for name in {**after, **before}:
        was, now = before.get(name), after.get(name)
        gained, lost = _items(was, now)
        if gained or lost or _stands(was) != _stands(now):
            known = now or before[name]
            yield CheckChange(
                id=name,
                title=known.title,
                was=was.points if was else None,
                now=now.points if now else None,
                max_points=known.max_points,
                was_status=was.status if was else None,
                now_status=now.status if now else None,
                gained=gained,
                lost=lost,
            )


def _other(old: Sequence[Finding], new: Sequence[Finding]) -> Iterable[str]:
    before = {one.id: one for one in old}
    for now in new:
        was = before.get(now.id)
        if was is None or now.status != "failed" or _stands(was) != _stands(now):
            continue
        if not any(_items(was, now)) and was.mistake == now.mistake and _seen(was) != _seen(now):
            yield now.id


def _seen(one: Finding) -> list[str]:
    """Return what a check says it saw, without numbers: they differ with the hidden inputs."""
    return [_NUMBER.sub("#", text) for text in (one.message, *(part.message for part in one.items))]


def _stands(one: Finding | None) -> tuple[int, int, Status] | None:
    return (one.points, one.max_points, one.status) if one else None


def _items(was: Finding | None, now: Finding | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids of the items with more points than before, and with fewer."""
    if was is None or now is None:
        return (), ()
    before, after = ({one.id: one for one in found.items} for found in (was, now))
    both = [name for name in after if name in before]
    lost = [name for name in both if after[name].points < before[name].points]
    return (
        tuple(name for name in both if after[name].points > before[name].points),
        tuple(name for name in lost if after[name].status != "undecided"),
    )


# ----------------------------------------------------------------------------------------- mistakes


def _mistakes(receipt: Receipt) -> dict[str, list[str]]:
    """Return the mistakes that a receipt names, each with the checks that do."""
    found: dict[str, list[str]] = {}
    for check in receipt.checks:
        for name in dict.fromkeys([check.mistake, *(one.mistake for one in check.items)]):
            if name:
                found.setdefault(name, []).append(check.id)
    return found


def _change(
    receipt: Receipt, name: str, checks: list[str], after: Receipt | None = None
) -> MistakeChange:
    titles = [one.mistake_title for one in receipt.checks if one.mistake == name]
    parts = [one for check in receipt.checks for one in check.items]
    titles += [one.mistake_title for one in parts if one.mistake == name]
    return MistakeChange(
        id=name,
        title=next(filter(None, titles), None) or name.replace("-", " "),
        checks=tuple(checks),
        solved=after is not None and _is_solved(receipt, name, after),
    )


def _is_solved(receipt: Receipt, name: str, after: Receipt) -> bool:
    """Return whether all that named a mistake passes in a later receipt."""
    now: dict[tuple[str, str], Item] = {
        (check.id, one.id): one for check in after.checks for one in check.items
    }
    blamed = [
        (check.id, one.id) for check in receipt.checks for one in check.items if one.mistake == name
    ]
    if not blamed:
        passed = {check.id for check in after.checks if check.status == "passed"}
        return {check.id for check in receipt.checks if check.mistake == name} <= passed
    return all(key in now and now[key].status == "passed" for key in blamed)


# ---------------------------------------------------------------------------------------- sentences


def lines(found: Changes, at: str = "") -> list[str]:
    """Return the changes as sentences, the most important first; each is one safe line.

    `at` is when the earlier try was, where it is not the one just before: the last that ran.
    """
    said = [_points(found, at), *_verdict(found), *_module(found)]
    said += [_check(one) for one in found.checks if one.now_status != "undecided"]
    said += _undecided(found)
    said += [f"{name} fails as before, but for another reason." for name in found.other]
    said += [_gone(one) for one in found.gone]
    said += [_new(one, found.exercise) for one in found.new]
    if found.nothing:
        said.append("Nothing changed in points, checks or mistakes.")
    return [visible_line(text) for text in [*said, *_notes(found, at)]]


def _points(found: Changes, at: str) -> str:
    (was, now), (was_most, most) = found.points, found.max_points
    text = f"{now} of {most} points"
    if found.verdicts[1] == "undecided":
        return f"{text} so far; before it was {was} of {was_most}."
    if was_most != most:
        return f"{text}; before it was {was} of {was_most}."
    if was == now:
        return f"{text}, as in the last try that ran, at {at}." if at else f"{text}, as before."
    much = f"{abs(now - was)} {'more' if now > was else 'fewer'}"
    if at:
        return f"{text}, {much} than in the last try that ran, at {at}."
    return f"{text}, {much} than before."


def _verdict(found: Changes) -> Iterable[str]:
    was, now = found.verdicts
    if now == "undecided":
        yield "The new try is undecided: the grader could not tell all, and that costs no points."
    elif was == "undecided":
        yield "The try before was undecided: not all of its points could be given then."
    elif was != now == "passed":
        yield "It passes now."
    elif was == "passed" != now:
        yield "It passed before and does not now."


def _module(found: Changes) -> Iterable[str]:
    was, now = found.stopped
    if was and not now:
        yield f"The module runs to its end now; before it stopped {was}."
    elif now and not was:
        yield f"The module stops now {now}; before it ran to its end."
    elif was != now:
        yield f"The module stops now {now}; before it stopped {was}."


def _undecided(found: Changes) -> Iterable[str]:
    ids = [one.id for one in found.checks if one.now_status == "undecided"]
    if ids:
        yield f"The grader could not decide now: {_names(ids)}."


def _check(one: CheckChange) -> str:
    if one.was is None or one.now is None:
        whose = "new" if one.was is None else "earlier"
        points = one.now if one.was is None else one.was
        return f"{one.id} is in the {whose} receipt alone: {points} of {one.max_points} points."
    stands = f"{one.now} of {one.max_points}"
    more = one.now - one.was
    if more:
        items, others = (one.gained, one.lost) if more > 0 else (one.lost, one.gained)
        also = f"; {'lost' if more > 0 else 'gained'} {_names(others)}" if others else ""
        much = f"{abs(more)} point{'' if abs(more) == 1 else 's'}"
        what = f": {_names(items)}" if items and one.now_status != "passed" else ""
        state = "passed" if one.now_status == "passed" else stands
        rest = f"{what}{also}"
        if more > 0:
            return f"{one.id} gained {much} ({state}){rest}."
        return f"{one.id} lost {much} ({state}){rest}."
    if one.gained or one.lost:
        return f"{one.id} gained {_names(one.gained)} and lost {_names(one.lost)} ({stands})."
    if one.was_status != one.now_status and one.was_status and one.now_status:
        return (
            f"{one.id} {_NOW[one.now_status]} now; before it {_BEFORE[one.was_status]} ({stands})."
        )
    return f"{one.id} has other points to give now ({stands})."


def _names(ids: Sequence[str]) -> str:
    rest = len(ids) - _MOST_NAMES
    return ", ".join(ids[:_MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def _gone(one: MistakeChange) -> str:
    where = " and ".join(one.checks)
    if one.solved:
        return f"Mistake gone: {one.title} ({where})."
    return f"Mistake no longer seen, but {where} does not pass yet: {one.title}."


def _new(one: MistakeChange, exercise: str) -> str:
    text = f"New mistake: {one.title} ({' and '.join(one.checks)})."
    # A command to copy holds nothing that a shell reads otherwise.
    known = _PLAIN.fullmatch(exercise) and _PLAIN.fullmatch(one.id)
    return f"{text} More: grade explain {exercise} {one.id}" if known else text


def _notes(found: Changes, at: str) -> Iterable[str]:
    if not found.same_rubric:
        yield "The rubric is another one, so the points may not compare."
    if found.same_file and found.nothing and at:
        yield f"The file is again what it was at {at}, byte for byte."
    elif found.same_file and found.nothing:
        yield "The file is the same, byte for byte."
    elif found.same_file:
        others = [*found.causes] if found.same_rubric else ["rubric", *found.causes]
        rest = f"these are not: {', '.join(others)}" if others else "so is all else that is known"
        yield f"The file is the same, byte for byte; {rest}."
    if found.swapped:
        yield "The one named first was graded later: are the two in the wrong order?"
