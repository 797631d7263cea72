"""The page says what the receipts say: progress, attempts, and answers apart from both."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from grader.portfolio import page
from grader.portfolio.chart import chart
from grader.portfolio.gather import Attempt
from grader.portfolio.progress import portfolio
from grader.records.receipt import Checkpoint, LearnerPart, Receipt, Separate
from tests.portfolio.factory import TEMPLATES, attempts, failed, passed, receipts
from tests.receipt import factory


def attempt(receipt: Receipt, place: str = "distributed-03/x") -> Attempt:
    return Attempt(receipt, place, {"json": b"{}"})


def undecided(**more: Any) -> Receipt:
    return factory.undecided(**more)


def shown(*own: Receipt) -> str:
    given = [attempt(one, f"{one.exercise}/{n}") for n, one in enumerate(own)]
    return page.page(given, [], TEMPLATES, page.inside([]))


def words(text: str) -> str:
    """Return a page's text without marks, on one line."""
    text = re.sub(r"(?s)<(style|svg).*?</\1>", " ", text)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def test_the_best_attempt_counts_and_the_last_verdict_is_told() -> None:
    own = portfolio([attempt(passed()), attempt(failed())], 0, lambda _: [])
    (one,) = own.exercises
    assert (one.passed, one.best and one.best.points, one.last.verdict) == (True, 100, "failed")
    assert own.passed == 1


def test_an_undecided_attempt_neither_counts_nor_is_hidden() -> None:
    own = portfolio([attempt(undecided())], 0, lambda _: [])
    (one,) = own.exercises
    assert (one.passed, one.best, len(one.lines), one.chart.best) == (False, None, 1, "")
    said = words(shown(undecided()))
    assert "0 of 1 exercise passed" in said
    assert "no decided attempt yet" in said


def test_the_page_depends_on_the_receipts_alone(tmp_path: Path) -> None:
    own = attempts(receipts(tmp_path / "one")), attempts(receipts(tmp_path / "two"))
    one, two = (page.page(each, [], TEMPLATES, page.inside([])) for each in own)
    assert one == two


def test_links_lead_to_the_files_in_the_zip(tmp_path: Path) -> None:
    from grader.portfolio.submissions import path_of

    own = attempts(receipts(tmp_path))
    there = {path_of(own[1])}
    text = page.page(own, there, TEMPLATES, page.inside(there))
    links = [one for one in re.findall(r'href="([^"#]+)"', text) if not one.startswith("data:")]
    assert "receipts/distributed-03/my_solution.html" in links
    assert there <= set(links)
    assert not [one for one in links if one.startswith(("/", "http", ".."))]


def test_links_of_the_page_outside_lead_to_the_disk(tmp_path: Path) -> None:
    folder = receipts(tmp_path / "a folder #1")
    text = page.page(attempts(folder), [], TEMPLATES, page.on_disk(tmp_path), inside=False)
    assert 'href="a%20folder%20%231/receipts/distributed-03/my_solution.html"' in text
    assert "manifest.json" not in text


def test_hostile_text_does_nothing() -> None:
    evil = "</title><script>alert(1)</script>\u202e<img src=x onerror=alert(1)>"
    receipt = passed(
        exercise_title=evil,
        separate=Separate(
            prediction=None,
            checkpoint=Checkpoint(answer="<b>", correct=False),
            explanation={evil: evil},
        ),
    )
    text = shown(receipt)
    assert "<script" not in text and "<img" not in text and "\u202e" not in text
    assert "&lt;script&gt;" in text


def test_the_page_needs_nothing_from_anywhere() -> None:
    text = shown(passed())
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', text)


def test_answers_stand_apart_and_changed_ones_are_all_shown() -> None:
    def answering(answer: str, correct: bool) -> Receipt:
        checkpoint = Checkpoint(answer=answer, correct=correct)
        return failed(separate=Separate(prediction=None, checkpoint=checkpoint, explanation=None))

    text = shown(answering("a", False), answering("b", True), answering("b", True))
    evidence, _, separate = text.partition("Tracked separately, no points")
    assert "Checkpoint" not in evidence
    said = words(separate)
    assert "a is not right (attempt 1)" in said
    assert "b is right (attempts 2 to 3)" in said
    assert said.count("None was given.") == 2


def test_whose_it_is_is_told_of_everybody_whom_the_receipts_name() -> None:
    ada, bob = LearnerPart(name="Ada <L>"), LearnerPart(id="bob7")
    text = shown(passed(learner=ada), passed(learner=bob), passed(learner=ada), passed())
    assert "<title>Portfolio of Ada &lt;L&gt;, bob7: 1 of 1 exercise passed</title>" in text
    assert words(text).count("Ada <L>, bob7") == 2


def test_environments_are_told_with_their_attempts() -> None:
    other = factory.environment().model_copy(update={"jax": "0.99"})
    said = words(shown(passed(), passed(environment=other), passed()))
    assert "distributed-03: attempts 1 and 3" in said
    assert "distributed-03: attempt 2" in said
    assert "0.99" in said


def test_the_drawing_has_words_and_labelled_axes() -> None:
    text = shown(failed(), undecided(), passed())
    drawing = text[text.index('role="img"') : text.index("</figure>")]
    assert (
        '<title id="drawn-1">Points of each attempt at distributed-03</title>' in drawing
        and "2 decided attempts, from 84 of 100 points at first to 100 of 100 at last" in drawing
    )
    assert ">points</text>" in drawing and ">attempt, oldest first</text>" in drawing
    assert "<title>attempt 2: undecided</title>" in drawing


def test_the_line_of_the_best_never_falls() -> None:
    found = chart([attempt(failed()), attempt(factory.error()), attempt(passed())])
    assert [dot.verdict for dot in found.dots] == ["failed", "error", "passed"]
    heights = [float(one) for one in re.findall(r"[ V]([\d.]+)", found.best)]
    assert heights == sorted(heights, reverse=True) and len(heights) == 2


def test_points_of_different_rubrics_are_drawn_as_shares() -> None:
    found = chart([attempt(passed(max_points=200)), attempt(passed())])
    assert found.unit == "% of the points"
    assert found.dots[0].y > found.dots[1].y


def test_very_many_attempts_keep_few_labels() -> None:
    found = chart([attempt(passed())] * 500)
    assert len(found.columns) <= 12 and len(found.dots) == 500
