"""What the learner's own commands remember stands in a receipt, apart from all else in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from grader.answers import Answer, Quiz
from grader.catalog.course import Course
from grader.catalog.load import entry
from grader.catalog.questions import Question, Questions
from grader.portfolio.gather import Attempt
from grader.portfolio.progress import portfolio
from grader.receipt import differences, view
from grader.receipt.recalled import Memory, with_memory
from grader.receipt.render import Form, render, to_json
from grader.records.evidence import Shard
from grader.records.observation import Observation, Replay
from grader.records.receipt import Receipt, Separate
from tests.command import EXERCISE, ROOT
from tests.receipt import factory

pytestmark = pytest.mark.once
ENTRY = entry(Course(ROOT), EXERCISE)
FORMS: tuple[Form, ...] = ("html", "md", "txt")
BARE = Separate(prediction=None, checkpoint=None, explanation=None)
WHY = Question(id="why", kind="text", ask="Why?")
ASKED = Questions(predictions=(*ENTRY.questions.predictions, WHY))
MEMORY = Memory(
    answers={
        "all_gradient": Answer(8, "before"),
        "gather": Answer(2, "before"),
        "complete": Answer(False, "before"),
        "equal_storage": Answer(True, "before"),
        "why": Answer("<b>because</b> `it` | is\n# so", "before"),
        "gone": Answer(1, "before"),
    },
    quiz=Quiz("a", "c", 3),
    hints={"values": 2, "collectives": 1, "gone": 9},
)


def seen(program: str, *, split: bool) -> Observation:
    whole = np.arange(8, dtype=np.float32)
    pieces = [(2 * d, 2 * d + 2) if split else (0, 8) for d in range(4)]
    shards = tuple(Shard(d, (at,), whole[slice(*at)]) for d, at in enumerate(pieces))
    return Observation(program, "replayed", shape=(8,), replays={"lesson": Replay(shards=shards)})


SEEN = {
    "all_gradient": seen("all_gradient", split=False),
    "shard_gradient": seen("shard_gradient", split=True),
    "gather": seen("gather", split=False),
}


def told(
    memory: Memory = MEMORY,
    observations: Mapping[str, Observation] = SEEN,
    separate: Separate = BARE,
) -> Receipt:
    receipt = factory.failed(separate=separate)
    return with_memory(receipt, ENTRY.rubric, ASKED, observations, memory)


def when(**answers: Any) -> str | None:
    memory = Memory({key: Answer(8, at) for key, at in answers.items()}, None, {})
    found = told(memory).separate.predicted
    return found.when if found else None


def test_what_was_predicted_stands_beside_what_was_observed() -> None:
    found = told().separate.predicted
    assert found is not None
    rows = [(one.program, one.predicted, one.observed, one.agrees) for one in found.counts]
    assert rows == [("all_gradient", 8, 8, True), ("gather", 2, 8, False)]
    assert [(one.answer, one.observed, one.agrees) for one in found.answers] == [
        ("no", "no", True),
        ("yes", "no", False),
        ("<b>because</b> `it` | is\n# so", None, None),
    ]
    assert view.separate_summary(told()) == [
        "prediction 2 of 4 as observed",
        "checkpoint answer right",
        "hints seen 3",
        "no explanation yet",
    ]


def test_what_was_not_observed_agrees_with_nothing() -> None:
    found = told(observations={"gather": SEEN["gather"]}).separate.predicted
    assert found is not None
    assert [one.agrees for one in found.counts] == [None, False]
    assert [one.observed for one in found.answers] == [None, None, None]


def test_what_the_submission_says_itself_comes_first() -> None:
    own = factory.passed().separate
    found = told(separate=own).separate
    assert (found.prediction, found.checkpoint) == (own.prediction, own.checkpoint)
    assert found.quiz is None and found.predicted is not None
    assert found.predicted.counts == [] and len(found.predicted.answers) == 3
    assert view.prediction(found) == own.prediction and view.checkpoint(found) == own.checkpoint


def test_when_it_was_answered_is_told_as_it_was() -> None:
    assert when(all_gradient="before", gather="before") == "before"
    assert when(all_gradient="before", gather="after") == "partly after"
    assert when(all_gradient="after") == "after"
    assert when(all_gradient="before", gather="changed") == "changed after"
    assert when(gone="before") is None


def test_an_answer_to_what_is_another_question_by_now_is_left_out() -> None:
    odd = {"all_gradient": True, "gather": "8", "complete": 1, "why": False}
    memory = Memory({key: Answer(value, "before") for key, value in odd.items()}, None, {})
    assert told(memory).separate.predicted is None


def test_hints_are_counted_by_check() -> None:
    assert told().separate.hints == {"values": 2, "collectives": 1}


def test_nothing_else_of_the_receipt_changes_and_its_digest_stands() -> None:
    with_it, without = told(), factory.failed(separate=BARE)
    assert with_it.model_copy(update={"separate": BARE}) == without
    assert differences.recomputed(with_it) == differences.recomputed(without)
    assert differences.beyond(with_it, without) == differences.beyond(without, with_it) == []


def test_a_receipt_without_it_is_written_as_before_there_was_any() -> None:
    for receipt in (factory.failed(), told(Memory({}, None, {}))):
        facts = json.loads(to_json(receipt))["separate"]
        assert list(facts) == ["prediction", "checkpoint", "explanation"]
    assert Receipt.model_validate_json(to_json(told())) == told()


class _Text(HTMLParser):
    text = ""

    def handle_data(self, data: str) -> None:
        self.text += data


def flat(shown: str, form: Form) -> str:
    page = _Text()
    page.feed(shown if form == "html" else "")
    text = page.text if form == "html" else shown
    return re.sub(r"\s+", " ", text.replace("\\", "").replace("`", "").replace("**", ""))


@pytest.mark.parametrize("form", FORMS)
def test_every_form_shows_it_and_says_where_it_is_from(form: Form) -> None:
    shown = render(told(), form, [ROOT / "templates"])
    text = flat(shown, form)
    for fact in (
        "It agreed with what was observed for 1 of 2 programs.",
        "When the reduce-scatter is done, has each device got all eight sums? no (as observed)",
        "store equally many values of it after either? yes (observed: no)",
        "(compared with nothing)",
        "Answered with grade predict before the first graded try.",
        "Given with grade quiz: the first answer was a, this is try 3.",
        "values 2, collectives 1",
    ):
        assert fact in text, fact
    assert form == "txt" or "<b>because" not in shown
    assert form == "html" or "\n# so" not in shown
    none = "none was given" if form == "txt" else "None was given."
    assert text.count(none) == 1  # of an explanation


@pytest.mark.parametrize("form", FORMS)
def test_a_quiz_alone_and_answers_without_a_count_are_shown_as_well(form: Form) -> None:
    memory = Memory({"complete": Answer(True, "after")}, Quiz("b", "b", 1), {})
    text = flat(render(told(memory), form, [ROOT / "templates"]), form)
    assert "Answered with grade predict after the first graded try." in text
    assert "Given with grade quiz, at the first try." in text
    assert "Hints seen" not in text and "could be compared" not in text


def test_a_portfolio_takes_it_like_what_the_submission_says() -> None:
    (one,) = portfolio([Attempt(told(), "r", {})], 1, lambda _: ()).exercises
    assert [row.predicted for row in one.separate.predictions] == [8, 2]
    assert [answer.checkpoint.answer for answer in one.separate.answers] == ["c"]
