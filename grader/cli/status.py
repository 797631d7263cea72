"""`grade` alone, and `grade status`: where a learner stands in this folder, and what comes next."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.catalog import course as courses
from grader.cli import options
from grader.cli.paragraphs import WIDTH, said, say
from grader.receipt.escape import visible, visible_line

if TYPE_CHECKING:
    from grader.portfolio.gather import Told
    from grader.portfolio.standing import Standing, Step
    from grader.portfolio.tries import Try

_LABEL = 12
_MOST_TOLD = 3
# A space at which no line is broken.
_TIE = "\u00a0"
_STANDS = {"blocked": f"{_TIE}(waits)", "undecided": f"{_TIE}(undecided)"}
_RECEIPTS = "receipts"


@click.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@options.course
def command(as_json: bool, course: str | None) -> int:
    """Show where you stand in this folder: points, what is open, and the one next step.

    It reads your files here and the receipts in receipts/, and changes nothing. `grade` alone
    does the same.

    Example: grade status
    """
    from grader.catalog.load import entry
    from grader.errors import ContentProblem
    from grader.portfolio import standing, tries
    from grader.portfolio.gather import Told

    found, code = courses.find(course), 0
    here = Path()
    read = tries.read(here / _RECEIPTS)
    stands = []
    for exercise in found.ids():
        try:
            stands.append(standing.standing(entry(found, exercise), read.tries, here))
        except ContentProblem as problem:
            # One that is wrong hides none of the others.
            click.echo(visible(f"grade: {problem.sentence()}"), err=True)
            code = problem.exit_code
    foreign = sorted({one.exercise for one in read.tries}.difference(found.ids()))
    told = [*read.told, *(Told(name, "no exercise of this course") for name in foreign)]
    step = standing.next_step(stands)
    if as_json:
        click.echo(json.dumps(_json(stands, told, step), indent=2))
    elif any(one.begun for one in stands):
        _show(stands, told, step)
    else:
        _welcome(stands, told, step)
    return code


def _welcome(stands: Sequence[Standing], told: Sequence[Told], step: Step) -> None:
    _line("Nothing of an exercise lies in this folder yet.")
    _left_out(told)
    say()
    for one in stands:
        _line(f"{one.id} · {one.title} ({one.max_points} points)", hang=4)
    if stands:
        say()
    say("  grade list    says what each is about; grade --help shows every command")
    _next(step)


def _show(stands: Sequence[Standing], told: Sequence[Told], step: Step) -> None:
    for one in (one for one in stands if one.begun):
        if one.finished and not one.changed:
            points = f"{one.best.points} of {one.best.max_points} points" if one.best else ""
            _line(f"{one.id} · {one.title}: passed, {points}", hang=4)
        else:
            _exercise(one)
    fresh = [one.id for one in stands if not one.begun]
    if fresh:
        _line(f"not begun yet: {', '.join(fresh)}", hang=4)
    _left_out(told)
    _next(step)


def _exercise(one: Standing) -> None:
    _line(f"{one.id} · {one.title}", hang=4)
    _row("file", _file(one))
    _row("points", _points(one))
    if one.last is not None and one.last.verdict != "passed" and not one.fresh:
        if one.last.stopped:
            _row("stopped", one.last.stopped)
        _row("open", _open(one.last))
    _row("not counted", _strays(one))
    _row("hints", _hints(one))
    _row("also", _also(one))


def _file(one: Standing) -> str:
    if one.file is None:
        return f"none here; the last try was of {one.last.name}" if one.last else ""
    if one.file.untouched:
        state = "fresh from the starter"
    elif not one.graded:
        state = "not graded yet"
    elif one.changed:
        state = "changed since the last try"
    else:
        state = "as in the last try"
    others = [mine.path for mine in one.files[1:]]
    also = f"; also {', '.join(others[:2])}" if others else ""
    also += f" and {len(others) - 2} more" if len(others) > 2 else ""
    return f"{one.file.path}, {state}{also}"


def _points(one: Standing) -> str:
    if one.last is None:
        return f"no try yet, {one.max_points} to get"
    when = f"{one.last.when:%Y-%m-%d %H:%M} {one.last.when.tzname()}".strip()
    last, most = _of(one.last), one.last.max_points
    of_last = f"last try {last} on {when}"
    if one.best is None or _is_as_good(one.best, one.last):
        best = of_last if one.fresh else f"{last} of {most} on {when}"
    else:
        best = f"best {one.best.points} of {one.best.max_points}{_apart(one)}; {of_last}"
    tries = f"{len(one.tries)} tr{'y' if len(one.tries) == 1 else 'ies'}"
    return f"{'passed, ' if one.passed else ''}{best}; {tries}"


def _is_as_good(best: Try, last: Try) -> bool:
    passed = (best.verdict == "passed", last.verdict == "passed")
    return (best.points, best.max_points) == (last.points, last.max_points) and passed != (
        True,
        False,
    )


def _apart(one: Standing) -> str:
    """Return what tells the best try from the one shown beside it, in brackets."""
    best, last = one.best, one.last
    if best is None or last is None:
        return ""
    name = [best.name] if best.name != last.name else []
    stopped = ["stopped before its end"] if best.stopped and best.verdict != "passed" else []
    return f" ({', '.join(name + stopped)})" if name or stopped else ""


def _strays(one: Standing) -> str:
    if not one.strays:
        return ""
    names = dict.fromkeys(stray.name for stray in one.strays)
    count = "1 try" if len(one.strays) == 1 else f"{len(one.strays)} tries"
    return f"{count} of a file that is another exercise's by its name: {', '.join(names)}"


def _of(one: Try) -> str:
    return f"{one.points}{' so far' if one.verdict == 'undecided' else ''}"


def _open(last: Try) -> str:
    return ", ".join(
        f"{check.id}{_TIE}{check.points}/{check.max_points}{_STANDS.get(check.status, '')}"
        for check in last.open
    )


def _hints(one: Standing) -> str:
    used = {name: count for name, count in one.hints.items() if name in one.has_hints}
    if not used:
        return ""
    return f"{sum(used.values())} used: {', '.join(f'{n} {count}' for n, count in used.items())}"


def _also(one: Standing) -> str:
    """Return what is tracked apart from the points."""
    parts = []
    if one.asks:
        parts.append("predicted" if one.predicted else "nothing predicted")
    if one.has_quiz:
        parts.append("quiz answered" if one.answered else "quiz open")
    return ", ".join(parts)


def _left_out(told: Sequence[Told]) -> None:
    if not told:
        return
    count = f"{len(told)} thing{'' if len(told) == 1 else 's'} in {_RECEIPTS}/ left out"
    _line(f"{count}:", hang=4)
    for one in told[:_MOST_TOLD]:
        _line(f"  {one.who}: {one.why}", hang=4)
    if len(told) > _MOST_TOLD:
        say(f"  and {len(told) - _MOST_TOLD} more; `grade status --json` names them all")


def _next(step: Step) -> None:
    if step.why:
        say()
        _line(step.why)
    # Unwrapped, so that it can be copied.
    say(f"  Next: {visible_line(step.command)}")


def _row(label: str, text: str) -> None:
    if text:
        _line(f"  {label:<{_LABEL}}{text}", hang=_LABEL + 2)


def _line(text: str, hang: int = 0) -> None:
    """Print one line of text, what does not fit `hang` columns in."""
    text = said(text)
    width = min(WIDTH, max(shutil.get_terminal_size((80, 24)).columns, 40))
    start = text[: len(text) - len(text.lstrip())]
    for line in textwrap.wrap(
        _TIE.join(visible_line(part) for part in text.split(_TIE)),
        width,
        drop_whitespace=True,
        subsequent_indent=" " * max(hang, len(start)),
        break_on_hyphens=False,
    ):
        say(line.replace(_TIE, " "))


def _json(stands: Sequence[Standing], told: Sequence[Told], step: Step) -> dict[str, Any]:
    return {
        "exercises": [_facts(one) for one in stands if one.begun],
        "not_begun": [one.id for one in stands if not one.begun],
        "left_out": [asdict(one) for one in told],
        "next": asdict(step),
    }


def _facts(one: Standing) -> dict[str, Any]:
    return {
        "id": one.id,
        "title": one.title,
        "passed": one.passed,
        "max_points": one.max_points,
        "best": _try(one.best),
        "last": _try(one.last),
        "tries": len(one.tries),
        "file": one.file.path if one.file else None,
        "files": [mine.path for mine in one.files],
        "untouched": one.file is not None and one.file.untouched,
        "not_counted": len(one.strays),
        "graded": one.graded,
        "changed": one.changed,
        "hints": dict(one.hints),
        "predicted": one.predicted,
        "quiz_answered": one.answered,
    }


def _try(one: Try | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "when": one.when.isoformat(),
        "name": one.name,
        "verdict": one.verdict,
        "points": one.points,
        "max_points": one.max_points,
        "stopped": one.stopped or None,
        "open": [asdict(check) for check in one.open],
    }
