"""`grade predict EXERCISE`: the lesson's questions before the first run, asked one by one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader import answers, hints
from grader.catalog import course as courses
from grader.catalog.load import entry
from grader.cli import asking, memory, options, written
from grader.cli.paragraphs import say, show
from grader.errors import UsageProblem
from grader.receipt.escape import visible_line

if TYPE_CHECKING:
    from grader.catalog.load import Entry
    from grader.catalog.questions import Question

_FORMS = {
    "values_per_device": "a whole number",
    "text": "a sentence",
}
_YES_NO = "yes or no"
_WHEN = {
    "before": "",
    "after": "given after the first graded try",
    "changed": "changed after the first graded try",
}
_SAID = {True: "yes", False: "no"}


@click.command("predict")
@click.argument("exercise")
@click.option("--answers", "file", metavar="FILE", help="Take them from a TOML or JSON file.")
@click.option("--show", "shown", is_flag=True, help="Only show what was answered.")
@click.option("--forget", is_flag=True, help="Forget what is remembered of you and EXERCISE.")
@options.course
def command(exercise: str, file: str | None, shown: bool, forget: bool, course: str | None) -> int:
    """Ask what you expect of EXERCISE, best before you run anything; every answer may be skipped.

    The receipt shows your answers beside what was observed. They cost no points.

    Answers, hints and the first graded try are remembered for your user of this machine, whatever
    the folder. --forget begins anew, for example where somebody else used it before you.

    Example: grade predict distributed-03

    Example: grade predict distributed-03 --answers answers.toml
    """
    found = entry(courses.find(course), exercise)
    questions = found.questions.predictions
    if forget and (shown or file is not None):
        raise UsageProblem(
            "--forget only forgets", next_step="leave --show and --answers out, or --forget"
        )
    if forget:
        _forget(exercise)
        return 0
    if not questions:
        raise UsageProblem(
            f"{exercise} asks for no prediction", next_step=f"grade start {exercise}"
        )
    if shown and file is not None:
        raise UsageProblem(
            "--show only shows, and --answers answers", next_step="leave one of them out"
        )
    if shown:
        _show(found, questions)
        return 0
    if file is not None:
        from grader.cli import answered

        answers.predict(exercise, answered.read(Path(file), questions))
        _show(found, questions)
        return 0
    return _ask(found, questions)


def _forget(exercise: str) -> None:
    known = memory.known(exercise)
    if not known:
        say(f"Nothing of {exercise} is remembered for you.")
        return
    answers.forget(exercise)
    hints.forget(exercise)
    say(f"Forgotten of {exercise}: {known}.")
    say("Receipts stay as they are.")


def _ask(found: Entry, questions: Sequence[Question]) -> int:
    exercise = found.exercise.id
    first = memory.first_try(exercise)
    if first:
        say(f"Your first graded try was on {first}, here or elsewhere.")
        say("What you answer or change now is marked as given after it.")
        say(f"  To begin anew, as somebody else or again: grade predict {exercise} --forget")
    say("Enter skips a question or leaves your answer to it; Ctrl-D stops. No points are at stake.")
    kept, stopped, code = 0, True, 0
    try:
        for number, question in enumerate(questions, start=1):
            say()
            show(question.ask, _number(number, questions))
            value = _answer(question, answers.given(exercise).get(question.id))
            if value is None:
                break
            if value != "":
                answers.predict(exercise, {question.id: value})
                kept += 1
        else:
            stopped = False
    except KeyboardInterrupt:
        say()
        code = 130
    say()
    counted = {0: "No new answer", 1: "1 answer is kept"}.get(kept, f"{kept} answers are kept")
    say(f"Stopped. {counted}; run it again for the rest." if stopped else f"{counted}.")
    _next(found)
    return code


def _number(number: int, questions: Sequence[Question]) -> str:
    return f"{number} of {len(questions)}"


def _answer(question: Question, known: answers.Answer | None) -> answers.Value | None:
    """Return the answer, the empty text where the question is skipped, None where all ends."""
    form = _FORMS.get(question.kind, _YES_NO)
    so_far = f", now {_said(known.value)}" if known else ""
    while True:
        typed = asking.line(f"{'':14}{form}{so_far}: ")
        if not typed:
            return typed
        value = understood(question, typed)
        if value is not None:
            return value
        say(f"{'':14}That is not {form}. Enter skips it.")


def understood(question: Question, typed: str) -> answers.Value | None:
    """Return what was typed as the question's kind of answer, None where it is none."""
    if question.kind == "text":
        return typed[: answers.LONGEST]
    if question.kind == "values_per_device":
        whole = typed.isascii() and typed.isdigit() and len(typed) <= 16
        return int(typed) if whole and int(typed) <= answers.MOST_COUNT else None
    return {"yes": True, "y": True, "no": False, "n": False}.get(typed.lower())


def _show(found: Entry, questions: Sequence[Question]) -> None:
    exercise = found.exercise.id
    given = answers.given(exercise)
    for number, question in enumerate(questions, start=1):
        one = given.get(question.id)
        show(question.ask, _number(number, questions))
        told = _said(one.value) if one else "not answered"
        late = f" ({_WHEN[one.when]})" if one and _WHEN[one.when] else ""
        show(f"{question.id}: {told}{late}", "  answer")
        say()
    left = sum(question.id not in given for question in questions)
    if left:
        say(f"  Next: grade predict {exercise}   ({left} of {len(questions)} not answered)")
    else:
        _next(found)


def _said(value: answers.Value) -> str:
    return _SAID[value] if isinstance(value, bool) else visible_line(str(value))


def _next(found: Entry) -> None:
    exercise, name = found.exercise.id, found.exercise.separate.prediction
    given = answers.given(exercise)
    if given:
        say("  The receipt will show your answers beside what was observed.")
    counts = {one.id for one in found.questions.predictions if one.kind == "values_per_device"}
    own = written.found(found, name) if counts & given.keys() else None
    if own is not None:
        say(f"  But {own.file} sets `{name}` at {own.place}: in a grade of that file,")
        say("  its numbers count and not those given here.")
    say(f"  Next: grade {exercise} FILE   (`grade start {exercise}` writes one)")
