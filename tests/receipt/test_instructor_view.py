"""Two views of one record: hidden numbers are in the instructor's, and never in the learner's."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from grader.catalog import course, load
from grader.errors import ContentProblem
from grader.receipt import hidden, instructor
from grader.receipt.read import MARK, is_instructors
from grader.receipt.render import Form, render
from grader.records.evidence import Claim, Shard
from grader.records.instructor import (
    Held,
    HiddenResult,
    InstructorReceipt,
    InstructorRecord,
    InstructorView,
    Values,
)
from grader.records.observation import Observation, Replay
from grader.records.truth import Expected, Truth
from tests.command import EXERCISE, ROOT
from tests.receipt import factory

TEMPLATES = [ROOT / "templates"]
FORMS: tuple[Form, ...] = ("html", "md", "txt", "json")
TEXTS: tuple[Form, ...] = ("html", "md", "txt")
SEED = bytes(range(32))
ENTRY = load.entry(course.Course(ROOT), EXERCISE)
pytestmark = pytest.mark.once


def shards(*rows: list[float]) -> tuple[Shard, ...]:
    width = len(rows[0])
    return tuple(
        Shard(device, ((device * width, device * width + width),), np.array(row, dtype=np.float32))
        for device, row in enumerate(rows)
    )


def observation() -> Observation:
    replays = {
        "lesson": Replay(shards([9.0, 9.0], [9.0, 9.0])),
        "hidden_1": Replay(error="it stopped"),
        "hidden_0": Replay(shards([1.5, float("nan")], [-2.25, float("inf")])),
    }
    return Observation("gather", "replayed", shape=(4,), dtype="float32", replays=replays)


def record(receipt_seed: bytes = SEED) -> InstructorRecord:
    receipt = factory.passed()
    claims = {
        "w2": Claim("w2", "device_array", shape=(4,), shards=shards([1.0, 2.0], [1.0, 2.0])),
        "ring": Claim("ring", "number", value=48),
        "r2": Claim("r2", "text", value="no\x1bidea"),
    }
    answers = {
        "w2": Expected(np.array([1.0, 2.0, 1.0, 2.0]), 1e-6),
        "ring": Expected(np.array(48.0), 0.0),
        "r2": Expected(None, 0.0, needs="w2h"),
        "x2": Expected(np.zeros((2, 2)), float("inf")),
    }
    return InstructorRecord(
        exercise=receipt.exercise,
        submission=receipt.submission,
        rubric_sha256=receipt.environment.rubric_sha256,
        seed=receipt_seed.hex(),
        seed_source="drawn for this grade",
        evidence_digest=receipt.evidence_digest,
        created_at=receipt.created_at,
        observed=hidden.observed({"gather": observation()}),
        written=hidden.written(claims, Truth({}, {}, answers)),
    )


def view(with_record: bool = True) -> InstructorView:
    kept = record() if with_record else None
    return hidden.view(ENTRY.exercise, ENTRY.oracle, SEED, "course secret", kept)


def test_a_record_holds_what_devices_gave_on_hidden_cases_alone() -> None:
    found = hidden.observed({"gather": observation()})
    assert [(one.case, one.error) for one in found] == [
        ("hidden_0", ""),
        ("hidden_1", "it stopped"),
    ]
    assert [piece.data.values for piece in found[0].held] == [[1.5, "nan"], [-2.25, "inf"]]
    assert found[0].held[1].index == [[2, 4]]
    again = InstructorRecord.model_validate_json(instructor.to_json(record()))
    assert again == record()


def test_a_hostile_program_does_not_fill_the_record() -> None:
    many = tuple(Shard(n, ((0, 1),), np.zeros(1, np.float32)) for n in range(1000))
    big = (Shard(0, ((0, 10**6),), np.zeros(10**6, np.float32)),)
    for given in (many, big):
        seen = Observation("p", "replayed", replays={"hidden_0": Replay(given)})
        (one,) = hidden.observed({"p": seen})
        assert len(one.held) <= hidden.MOST_SHARDS
        assert max(len(piece.data.values) for piece in one.held) <= hidden.MOST_VALUES
    assert one.held[0].data.shape == [10**6]
    (told,) = hidden.observed(
        {"p": Observation("p", "crashed", replays={"hidden_0": Replay(error="x" * 10**6)})}
    )
    assert len(told.error) == hidden.MOST_CHARS


def test_written_answers_stand_beside_what_they_are_compared_with() -> None:
    by_name = {one.name: one for one in record().written}
    assert by_name["w2"].held[1].data.values == [1.0, 2.0]
    assert by_name["ring"].found == by_name["ring"].expected
    assert (by_name["r2"].expected, by_name["r2"].needs) == (None, "w2h")
    assert by_name["r2"].text == repr("no\x1bidea")
    assert (by_name["x2"].text, by_name["x2"].atol) == ("missing", "inf")


def test_inputs_and_expected_values_follow_from_the_seed_again() -> None:
    first, again = view(), view()
    assert first == again
    drawn = ENTRY.oracle.cases(SEED)
    assert [case.case for case in first.cases] == [name for name in drawn if name != "lesson"]
    given = first.cases[0].programs[0]
    assert [one.name for one in given.inputs] == ["x", "y", "w"]
    assert given.inputs[0].data.shape == [16, 8]
    assert given.inputs[0].data.values == drawn["hidden_0"]["all_gradient"][0].reshape(-1).tolist()
    right = ENTRY.oracle.answer("all_gradient", drawn["hidden_0"]["all_gradient"]).value
    assert given.expected is not None
    assert given.expected.values == right.tolist()
    assert first.figures["ring_all_bytes"] == 48.0
    assert first.tables[0]["ranks"] == 2.0


def test_the_view_without_a_record_says_what_it_lacks() -> None:
    added = view(with_record=False)
    assert added.note.startswith("What each device held was not kept")
    assert added.written == []
    assert all(one.seen is None for case in added.cases for one in case.programs)


@pytest.mark.parametrize("form", TEXTS)
def test_the_view_under_a_changed_rubric_shows_what_the_record_holds(form: Form) -> None:
    added = hidden.kept(record())
    shown = instructor.render(factory.passed(), added, form, TEMPLATES)
    assert "The rubric has changed since" in shown
    assert "-2.25 inf" in shown
    assert all(one.expected is None for case in added.cases for one in case.programs)


def _digits(number: float | str, digits: int) -> set[str]:
    shown = f"{float(number):.{digits}g}"
    return {shown} if len(re.sub(r"e.*|[-.]|^-?0\.0*", "", shown)) >= digits else set()


def numbers(added: InstructorView, digits: int) -> set[str]:
    """Return the hidden numbers that need so many digits, as text."""
    found: set[str] = set()
    for case in added.cases:
        for one in case.programs:
            arrays = [given.data for given in one.inputs]
            arrays += [one.expected] if one.expected else []
            arrays += [piece.data for piece in (one.seen.held if one.seen else [])]
            found.update(*(_digits(x, digits) for data in arrays for x in data.values))
    return found


@pytest.mark.parametrize("form", FORMS)
def test_hidden_numbers_are_in_the_instructors_forms_and_not_in_the_learners(form: Form) -> None:
    added = view()
    learners = render(factory.failed(), form, TEMPLATES)
    instructors = instructor.render(factory.failed(), added, form, TEMPLATES)
    wanted = numbers(added, 5)
    assert len(wanted) > 500
    if form == "json":
        assert InstructorReceipt.model_validate_json(instructors).instructor == added
        assert json.loads(instructors)["receipt"] == json.loads(learners)
    else:
        assert "For the instructor alone" in instructors
        missing = {number for number in wanted if number not in instructors}
        assert not missing
    found = set(re.findall(r"-?\d+\.\d+(?:e[-+]\d+)?", learners))
    assert not found & (wanted | numbers(added, 6) | numbers(added, 9))
    assert added.seed not in learners
    assert "instructor" not in learners.lower()


@pytest.mark.parametrize("form", TEXTS)
def test_the_learners_part_of_the_instructors_form_is_the_learners_form(form: Form) -> None:
    learners = render(factory.error(), form, TEMPLATES)
    instructors = instructor.render(factory.error(), view(), form, TEMPLATES)
    lines = iter(instructors.splitlines())
    assert all(line in lines for line in learners.splitlines())


@pytest.mark.parametrize("form", TEXTS)
def test_no_text_of_a_learner_acts_in_the_instructors_form(form: Form) -> None:
    shown = instructor.render(factory.passed(), hidden.kept(record()), form, TEMPLATES)
    assert "\x1b" not in shown


@pytest.mark.parametrize("form", TEXTS)
def test_a_course_template_without_the_block_is_told(tmp_path: Path, form: Form) -> None:
    (tmp_path / f"receipt.{form}.j2").write_text("{{ receipt.points }} points\n")
    with pytest.raises(ContentProblem) as caught:
        instructor.render(factory.passed(), view(), form, [tmp_path, *TEMPLATES])
    message = caught.value.sentence()
    assert f"receipt.{form}.j2 leaves the instructor's part out" in message
    assert str(tmp_path) in message
    assert "{% block instructor %}{% endblock %}" in message


def test_the_courses_own_instructor_template_comes_first(tmp_path: Path) -> None:
    (tmp_path / "instructor.txt.j2").write_text("ours: {{ instructor.seed }}")
    shown = instructor.render(factory.passed(), view(), "txt", [tmp_path, *TEMPLATES])
    assert shown == f"{MARK}\nours: {SEED.hex()}"


@pytest.mark.parametrize("form", FORMS)
def test_the_instructors_form_says_so_whatever_its_file_is_called(form: Form) -> None:
    shown = instructor.render(factory.passed(), view(), form, TEMPLATES)
    assert is_instructors(shown.encode())
    assert is_instructors(b"\xef\xbb\xbf" + shown.encode())
    assert not is_instructors(render(factory.passed(), form, TEMPLATES).encode())
    if form == "html":  # nothing comes before a doctype, or browsers draw it as in 1998
        assert shown.lstrip().lower().startswith("<!doctype html>\n<!-- ")


def test_a_result_of_another_rank_than_expected_is_another_shape() -> None:
    added = view()
    program = added.cases[0].programs[0]
    data = Values(shape=[1, 2], dtype="float32", values=[1.0, 2.0])
    piece = Held(device=0, index=[[0, 1], [0, 2]], data=data)
    seen = HiddenResult(case=added.cases[0].case, program=program.program, held=[piece])
    case = added.cases[0].model_copy(
        update={"programs": [program.model_copy(update={"seen": seen})]}
    )
    other = added.model_copy(update={"cases": [case]})
    assert "another shape" in instructor.render(factory.passed(), other, "txt", TEMPLATES)
