"""`grade quiz EXERCISE`: the lesson's checkpoint, with a reason for each choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from grader import answers
from grader.catalog import course as courses
from grader.catalog.load import entry
from grader.cli import asking, options, written
from grader.cli.paragraphs import say, show
from grader.errors import ContentProblem, UsageProblem
from grader.receipt.escape import visible_line

if TYPE_CHECKING:
    from grader.catalog.load import Entry
    from grader.catalog.models import CheckpointSpec, Letter
    from grader.catalog.questions import CheckpointQuestion


@click.command("quiz")
@click.argument("exercise")
@click.option("--answer", metavar="LETTER", help="Answer at once: exit code 0 if right, else 1.")
@options.course
def command(exercise: str, answer: str | None, course: str | None) -> int:
    """Ask the checkpoint of EXERCISE, and say of your choice why it is right or not.

    You may try again. The first answer and the number of tries stand in the receipt; no points.

    Example: grade quiz distributed-03

    Example: grade quiz distributed-03 --answer c
    """
    found = entry(courses.find(course), exercise)
    asked, told = _content(found)
    if answer is not None:
        letter = _letter(answer, asked)
        if letter is None:
            raise UsageProblem(
                f"the checkpoint of {exercise} has no choice {visible_line(repr(answer))}",
                next_step=f"one of {', '.join(sorted(asked.choices))}",
            )
        return 0 if _take(found, letter, told) else 1
    return _ask(found, asked, told)


def _content(found: Entry) -> tuple[CheckpointQuestion, CheckpointSpec]:
    from grader.catalog import questions

    asked, told = found.questions.checkpoint, found.rubric.checkpoint
    if asked is None:
        raise UsageProblem(
            f"{found.exercise.id} has no checkpoint", next_step=f"grade show {found.exercise.id}"
        )
    for problem in questions.problems(found.questions, found.exercise, found.rubric):
        raise ContentProblem(
            problem,
            where=str(found.folder / "questions.toml"),
            next_step="make the choices and the rubric's [checkpoint.feedback] the same letters",
        )
    assert told is not None
    return asked, told


def _ask(found: Entry, asked: CheckpointQuestion, told: CheckpointSpec) -> int:
    exercise = found.exercise.id
    show(asked.ask, "checkpoint")
    say()
    for letter, text in sorted(asked.choices.items()):
        show(text, letter)
    say()
    letters = ", ".join(sorted(asked.choices))
    code, right = 0, answers.checkpoint(exercise) == told.answer
    if right:
        say("You answered it right before. What you choose now is not counted.")
    try:
        while typed := asking.line(f"  your choice ({letters}; Enter to leave): "):
            letter_of = _letter(typed, asked)
            if letter_of is None:
                say(f"  That is none of {letters}.")
            elif _take(found, letter_of, told):
                return 0
    except KeyboardInterrupt:
        say()
        code = 130
    say(_left(exercise, right))
    return code


def _left(exercise: str, right: bool) -> str:
    if right or answers.checkpoint(exercise) is None:
        return f"Left as it was. `grade quiz {exercise}` asks again."
    return f"What you answered is kept. `grade quiz {exercise}` asks again."


def _letter(typed: str, asked: CheckpointQuestion) -> Letter | None:
    letter = typed.strip().strip("().").lower()
    return next((known for known in asked.choices if known == letter), None)


def _take(found: Entry, letter: Letter, told: CheckpointSpec) -> bool:
    """Count an answer, say what is to be said of it, and return whether it is right."""
    exercise, right = found.exercise.id, letter == told.answer
    was = answers.quiz(exercise)
    if was is None or was.latest != told.answer:
        was = answers.answer_quiz(exercise, letter)
    show(told.feedback[letter], f"{letter}: right" if right else letter)
    if right:
        say(f"  {_after(was)}")
        say(f"  {_shown_where(found, letter)}")
    else:
        say("  Not this one; try again.")
    return right


def _shown_where(found: Entry, letter: Letter) -> str:
    """Return what becomes of a right answer, beside what a submission here says of itself."""
    own = written.found(found, found.exercise.separate.checkpoint)
    if own is None:
        return "The receipt shows it beside your points."
    if own.text is not None and own.text.strip().strip("().").lower() == letter:
        return f"{own.file} says the same at {own.place}, and a grade of it shows that."
    return (
        f"But {own.file} answers it as well, at {own.place}, and a grade of that file counts what"
        " the file says: change it there."
    )


def _after(found: answers.Quiz) -> str:
    if found.tries == 1:
        return "Right at the first try."
    return f"Right at try {found.tries}; the first answer was {found.first}."
