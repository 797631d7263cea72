"""Shapes a receipt's record for the eye: words, tables and drawings, the same for every form.

It escapes nothing and judges nothing: it only arranges what the receipt says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from grader.records.finding import Finding, Status, VerdictKind
from grader.records.receipt import (
    Answered,
    Checkpoint,
    CollectivePart,
    CompiledRow,
    OutcomePart,
    Prediction,
    Receipt,
    Separate,
)

_HEADLINES: dict[VerdictKind, str] = {
    "passed": "Passed",
    "failed": "Not passed yet",
    "error": "Stopped before its end",
    "undecided": "Undecided",
}
_SUMMARIES: dict[VerdictKind, str] = {
    "passed": "Every check passed.",
    "failed": "The module ran to its end; some checks did not pass.",
    "error": "The module did not run to its end; what it had defined by then was judged.",
    "undecided": "The grader could not reach a verdict. The submission is not to blame.",
}
_GLYPHS: dict[Status, str] = {"passed": "✓", "failed": "✗", "blocked": "…", "undecided": "?"}
_WORDS: dict[Status, str] = {
    "passed": "passed",
    "failed": "failed",
    "blocked": "waiting",
    "undecided": "undecided",
}
_WHEN = {
    "before": "Answered with `grade predict` before the first graded try.",
    "partly after": "Answered with `grade predict`, partly after the first graded try.",
    "after": "Answered with `grade predict` after the first graded try.",
    "changed after": "Answered with `grade predict`, and changed after the first graded try.",
}
_UNITS = {"us": "µs", "s": "s", "ms": "ms"}


def headline(receipt: Receipt) -> str:
    """Return the verdict in two or three words."""
    return _HEADLINES[receipt.verdict]


def summary(receipt: Receipt) -> str:
    """Return what the verdict means, in a sentence."""
    return _SUMMARIES[receipt.verdict]


def glyph(status: Status) -> str:
    """Return the mark of a status; it always stands beside `word`, never alone."""
    return _GLYPHS[status]


def word(status: Status) -> str:
    """Return a status as a word for a reader."""
    return _WORDS[status]


def stopped(outcome: OutcomePart) -> bool:
    """Return whether the module ended in any way but its own end."""
    return outcome.kind != "finished"


def words(name: str) -> str:
    """Return an identifier as words, a trailing unit in brackets: `median_us` -> `median (µs)`."""
    parts = name.split("_")
    if len(parts) > 1 and parts[-1] in _UNITS:
        return f"{' '.join(parts[:-1])} ({_UNITS[parts[-1]]})"
    return " ".join(parts)


def number(value: object) -> str:
    """Return a number as a reader writes it: `48.0` -> `48`, None -> `unknown`."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.4g}"
    return str(value)


def shape(dimensions: list[int]) -> str:
    """Return a shape as Python writes it: `(8,)`."""
    return str(tuple(dimensions))


def collectives(row: CompiledRow) -> list[tuple[str, CollectivePart]]:
    """Return the requested collectives and then the compiled ones, each with where it was found."""
    requested = [("requested", part) for part in row.requested]
    return requested + [("compiled", part) for part in row.compiled]


def share(value: float, values: list[float]) -> str:
    """Return `value` as a percentage of the largest of `values`, for the length of a bar."""
    largest = max(values, default=0)
    return f"{100 * value / largest:.1f}" if largest else "0"


_NAMED = re.compile(r"^(`[^`]+`)(:? )(.*)$", re.DOTALL)
_PLURALS = {"is": "are", "was": "were", "has": "have", "does": "do"}
# What is said further on of one, as it is said of several.
RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"^is not a function \(it is "), "is not a function (each is "),
    (re.compile(r"^is (?=an? )"), "is each "),
    (re.compile(r"\bbut is\b"), "but are"),
    (re.compile(r"\bheld against it\b"), "held against them"),
    (re.compile(r"\bas it was saved$"), "as they were saved"),
    (re.compile(r"\bwhen it was replayed\b"), "when they were replayed"),
    (re.compile(r"^left its result\b"), "left their results"),
    (re.compile(r"\bwhatever its input$"), "whatever their input"),
    (re.compile(r"\bthan its part\b"), "than their part"),
)
_VERB = re.compile(r"[a-z]+(?=[ ;,]|$)")
MOST_MESSAGES = 6


def grouped(messages: Iterable[str]) -> list[str]:
    """Return the messages with those that say the same of several names made into one.

    "`a` is not defined" and "`b` is not defined" become "`a` and `b` are not defined".
    """
    names: dict[tuple[str, str], list[str]] = {}
    for message in messages:
        found = _NAMED.match(message)
        key = (found[2], found[3]) if found else ("", message)
        names.setdefault(key, []).append(found[1] if found else "")
    return [_of_all(said, joint, rest) for (joint, rest), said in names.items()]


def _of_all(names: list[str], joint: str, rest: str) -> str:
    if len(names) == 1:
        return names[0] + joint + rest
    for one, several in RULES if joint == " " else ():
        rest = one.sub(several, rest)
    verb = _VERB.match(rest)
    told = rest if joint == ": " or verb is None else _plural(verb[0]) + rest[verb.end() :]
    return f"{', '.join(names[:-1])} and {names[-1]}{joint}{told}"


def _plural(verb: str) -> str:
    return _PLURALS.get(verb) or (verb[:-1] if verb.endswith("s") else verb)


def observed(check: Finding) -> list[str]:
    """Return what a check observed: its own sentence, then those of the items that did not pass.

    Each is there once, and what is the same of several names is one.
    """
    messages = [part.message for part in check.items if part.status != "passed" and part.message]
    return grouped(dict.fromkeys([check.message, *messages]))


def observed_in_one(check: Finding) -> str:
    """Return what a check observed in one text: the first few of its sentences."""
    return "; ".join(observed(check)[:MOST_MESSAGES])


def sentence(text: str) -> str:
    """Return words with a capital first letter; an identifier comes out as words."""
    if text == "syntax_error":
        # Also the kind of what is no text at all.
        return "Not valid Python"
    if text == "cpu_limit":
        return "CPU limit"
    text = words(text) if text.isidentifier() else text
    return text[:1].upper() + text[1:]


def moment(created_at: str) -> str:
    """Return a receipt's date for a reader: `2026-03-01 10:20:30 UTC`."""
    return created_at.replace("T", " ", 1).replace("Z", " UTC")


def prediction(separate: Separate) -> list[Prediction] | None:
    """Return the submission's prediction, else the one given with `grade predict`, if any."""
    if separate.prediction is not None or separate.predicted is None:
        return separate.prediction
    return separate.predicted.counts or None


def checkpoint(separate: Separate) -> Checkpoint | None:
    """Return the submission's answer to the checkpoint, else the latest to `grade quiz`, if any."""
    return separate.checkpoint if separate.checkpoint is not None else separate.quiz


def predicted_when(separate: Separate) -> str:
    """Return in a sentence when `grade predict` was answered; empty where the receipt has none."""
    return _WHEN[separate.predicted.when] if separate.predicted else ""


def answers(separate: Separate) -> list[tuple[str, str, str]]:
    """Return question, answer and what was observed, of what is no number of stored values."""
    given = separate.predicted.answers if separate.predicted else []
    return [(one.question, one.answer, _compared(one)) for one in given]


def _compared(one: Answered) -> str:
    if one.agrees:
        return "as observed"
    return "compared with nothing" if one.observed is None else f"observed: {one.observed}"


def quiz_tries(separate: Separate) -> str:
    """Return in a sentence how the checkpoint was answered with `grade quiz`; empty where not."""
    quiz = separate.quiz
    if quiz is None or separate.checkpoint is not None:
        return ""
    if quiz.tries == 1:
        return "Given with `grade quiz`, at the first try."
    return f"Given with `grade quiz`: the first answer was {quiz.first}, this is try {quiz.tries}."


def hints_seen(separate: Separate) -> str:
    """Return how many hints of each check were shown; empty where none is known of."""
    return ", ".join(f"`{check}` {count}" for check, count in separate.hints.items())


def agreement(separate: Separate) -> str:
    """Return in a sentence whether the prediction agreed with what was observed."""
    rows = prediction(separate) or []
    known = [row.agrees for row in rows if row.agrees is not None]
    if all(row.predicted is None for row in rows):
        return "It holds no whole number yet."
    if not known:
        return "Nothing of it could be compared with what was observed."
    right = known.count(True)
    if right == len(rows):
        return "It agreed with what was observed."
    rest = "".join(f"; {told}" for told in _uncompared(rows))
    count = f"{len(known)} program{'' if len(known) == 1 else 's'}"
    return f"It agreed with what was observed for {right} of {count}{rest}."


def _uncompared(rows: list[Prediction], more: int = 0) -> list[str]:
    """Return of what no prediction can be compared; `more` are not observed beside the rows."""
    unread = sum(row.predicted is None for row in rows)
    unseen = more + sum(row.predicted is not None and row.observed is None for row in rows)
    told = [f"{unread} no whole number"] if unread else []
    return [*told, f"{unseen} not observed yet"] if unseen else told


def explanations(separate: Separate) -> list[tuple[str, str]]:
    """Return the explanation as pairs of question and answer; one text has no question."""
    given = separate.explanation
    if isinstance(given, dict):
        return [(words(question), answer) for question, answer in given.items()]
    return [("", given)] if given else []


def record(receipt: Receipt) -> list[tuple[str, str]]:
    """Return where, when and with what the grade was made."""
    at = receipt.environment
    packages = ", ".join(f"{name} {version}" for name, version in at.packages.items())
    return [
        *_learner(receipt),
        ("Submission", f"{receipt.submission.name}, {receipt.submission.size_bytes} bytes"),
        ("Graded", f"{moment(receipt.created_at)}, in {number(receipt.wall_s)} s"),
        ("Grader", at.grader),
        ("Python", at.python),
        ("JAX", f"{at.jax}, jaxlib {at.jaxlib}, NumPy {at.numpy}"),
        ("Packages", packages or "none recorded"),
        ("Platform", f"{at.platform}, {at.told_devices()}"),
        ("Blame", receipt.blame or "none"),
    ]


def _learner(receipt: Receipt) -> list[tuple[str, str]]:
    if receipt.learner is None:
        return []
    told = (receipt.learner.name, receipt.learner.id, receipt.learner.email)
    return [("Learner", ", ".join(filter(None, told)) or "not named")]


def digests(receipt: Receipt) -> list[tuple[str, str]]:
    """Return the SHA-256 digests that tie the grade to its inputs."""
    return [
        ("Submission", receipt.submission.sha256),
        ("Rubric", receipt.environment.rubric_sha256),
        ("Seed", receipt.environment.seed_sha256),
        ("Evidence", receipt.evidence_digest),
    ]


def separate_summary(receipt: Receipt) -> list[str]:
    """Return what is tracked apart from the points, a short phrase for each part."""
    separate, parts = receipt.separate, []
    parts += _prediction_summary(separate)
    answered = checkpoint(separate)
    if answered is not None:
        right = answered.correct
        parts.append("checkpoint answer right" if right else "checkpoint answer not right")
    if separate.hints:
        parts.append(f"hints seen {sum(separate.hints.values())}")
    parts.append("explanation given" if separate.explanation else "no explanation yet")
    return parts


def _prediction_summary(separate: Separate) -> list[str]:
    rows = prediction(separate) or []
    # A text of the learner's own is compared with nothing, ever.
    given = separate.predicted.answers if separate.predicted else []
    asked = [one for one in given if one.agrees is not None or one.answer in ("yes", "no")]
    if not rows and not asked:
        return ["prediction made"] if given else []
    marks = [*(row.agrees for row in rows), *(one.agrees for one in asked)]
    known = [mark for mark in marks if mark is not None]
    if not asked and all(row.predicted is None for row in rows):
        return ["no prediction yet"]
    if not known:
        return ["prediction made, nothing observed yet"]
    rest = _uncompared(rows, sum(one.agrees is None for one in asked))
    return [", ".join([f"prediction {known.count(True)} of {len(known)} as observed", *rest])]
