from __future__ import annotations

from pathlib import Path

import pytest

from grader import checks, described
from grader.case import Case
from grader.catalog.course import Course, shipped
from grader.catalog.load import Entry, entry
from grader.errors import ContentProblem, GradeError, UsageProblem
from grader.records.evidence import Evidence, Outcome
from grader.records.finding import Item
from grader.records.truth import Truth
from tests.catalog.course import ID, make, spoil, write

EXERCISE, RUBRIC = f"exercises/{ID}/exercise.toml", f"rubrics/{ID}/rubric.toml"


def load_checks(found: Entry) -> list[checks.Check]:
    return checks.load(found.rubric, found.exercise)


def problem(root: Path, exercise: str = ID) -> GradeError:
    """Return what is wrong with the course, from loading it to loading its checks."""
    with pytest.raises(GradeError) as caught:
        load_checks(entry(Course(root), exercise))
    return caught.value


def test_a_good_exercise_is_read_with_its_defaults(tmp_path: Path) -> None:
    found = entry(make(tmp_path), ID)
    assert (found.exercise.id, found.rubric.exercise) == (ID, ID)
    assert found.exercise.program("double").arguments[0].shape == (4,)
    assert found.exercise.limits.cpu_s == 20
    assert [check.spec.id for check in load_checks(found)] == ["values", "answer"]
    assert found.folder == tmp_path / "exercises" / ID
    assert found.rubric_folder == tmp_path / "rubrics" / ID
    assert found.solutions == tmp_path / "solutions" / ID
    with pytest.raises(KeyError):
        found.exercise.program("halve")


def test_every_shipped_exercise_is_read_and_its_checks_accept_their_parameters() -> None:
    course = Course(shipped())
    assert course.ids()
    for exercise in course.ids():
        found = entry(course, exercise)
        assert load_checks(found)
        assert found.oracle.cases(b"seed")


def test_every_mistake_that_a_shipped_rubric_names_has_words() -> None:
    course = Course(shipped())
    for exercise in course.ids():
        rubric = entry(course, exercise).rubric
        for spec in rubric.checks:
            rules = [rule["mistake"] for rule in spec.params.get("mistakes", ())]
            rules += spec.params.get("layout_mistakes", {}).values()
            rules += spec.params.get("reductions", {})
            assert [name for name in rules if rubric.mistake(name) is None] == []


def test_an_unknown_exercise_is_a_usage_problem_with_the_nearest_one(tmp_path: Path) -> None:
    make(tmp_path)
    found = problem(tmp_path, "tyni-01")
    assert isinstance(found, UsageProblem)
    assert found.what == "there is no exercise 'tyni-01'"
    assert found.next_step == "did you mean tiny-01? `grade list` shows them all"
    assert problem(tmp_path, "zzz-99").next_step == "`grade list` shows the exercises there are"


SPOILT = {
    "no TOML at all": (EXERCISE, 'title = "Tiny"', "title = Tiny", "exercise.toml is not TOML", ""),
    "a rubric that is no TOML": (RUBRIC, "[[mistakes]]", "[[mistakes", "rubric.toml is not", ""),
    "a key twice": (
        EXERCISE,
        "minutes = 5",
        "minutes = 5\nminutes = 6",
        "exercise.toml is not",
        "",
    ),
    "a missing key": (EXERCISE, "minutes = 5\n", "", "exercise.toml: minutes is missing", ""),
    "an unknown key": (
        EXERCISE,
        "minutes",
        "points = 3\nminutes",
        "exercise.toml: unknown key points (line 5), which nothing reads",
        "",
    ),
    "a wrong type": (EXERCISE, "minutes = 5", 'minutes = "x"', "exercise.toml: minutes", "integer"),
    "a key missing deeper": (
        EXERCISE,
        ', dtype = "float32"',
        "",
        "exercise.toml: program double, argument x: dtype is missing",
        "",
    ),
    "an unknown dtype": (
        EXERCISE,
        "float32",
        "float31",
        "exercise.toml: program double, argument x, dtype: should be 'float32'",
        "",
    ),
    "an id that is none": (
        EXERCISE,
        'id = "tiny-01"',
        'id = "Tiny 1"',
        "exercise.toml: id",
        "match",
    ),
    "the id of another": (
        EXERCISE,
        'id = "tiny-01"',
        'id = "tiny-02"',
        "exercise.toml of tiny-01 says it belongs to 'tiny-02'",
        "",
    ),
    "the rubric of another": (
        RUBRIC,
        'exercise = "tiny-01"',
        'exercise = "tiny-02"',
        "rubric.toml of tiny-01 says it belongs to 'tiny-02'",
        "",
    ),
    "a limit out of range": (
        EXERCISE,
        "[separate]",
        "[limits]\ncpu_s = 0\n[separate]",
        "exercise.toml: limits, cpu_s: should be",
        "greater",
    ),
    "a sibling that would stand in for a module": (
        EXERCISE,
        "minutes = 5",
        'minutes = 5\nsiblings = ["json.py"]',
        "exercise.toml: siblings, entry 1",
        "json.py has the name of the module json, which it may not stand for",
    ),
    "a sibling that is a path": (
        EXERCISE,
        "minutes = 5",
        'minutes = 5\nsiblings = ["../notes.txt"]',
        "exercise.toml: siblings, entry 1",
        "match",
    ),
    "points that are not finite": (
        RUBRIC,
        "max_points = 10",
        "max_points = nan",
        "rubric.toml: max_points",
        "",
    ),
    "a rubric without checks": (
        RUBRIC,
        "max_points = 10",
        "max_points = 10\nchecks = []\n[x]",
        "rubric.toml",
        "",
    ),
    "a check without items": (
        RUBRIC,
        'items = [{ id = "answer", points = 4, name = "answer" }]',
        "items = []",
        "rubric.toml: check answer, items: should have",
        "at least 1",
    ),
    "an unknown kind": (
        RUBRIC,
        'kind = "claims"',
        'kind = "claim"',
        "rubric of tiny-01: checks.answer.kind: there is no kind 'claim'",
        "",
    ),
    "a kind that is a path": (
        RUBRIC,
        'kind = "claims"',
        'kind = "../claims"',
        "checks.answer.kind: there is no kind",
        "",
    ),
    "an unknown parameter": (
        RUBRIC,
        'open_case = "lesson"',
        'open_case = "lesson"\ntolerance = 1',
        "rubric of tiny-01: check values: unknown key tolerance",
        ", which nothing reads",
    ),
    "a missing parameter": (
        RUBRIC,
        "relative_tolerance = 1e-6\n",
        "",
        "rubric of tiny-01: check values: relative_tolerance is missing",
        "",
    ),
    "an unknown key of an item": (
        RUBRIC,
        'name = "answer" }',
        'nmae = "answer" }',
        "rubric of tiny-01: check answer, item answer: unknown key nmae; did you mean name?",
        "",
    ),
    "points below zero": (
        RUBRIC,
        "points = 4",
        "points = -4",
        "rubric of tiny-01: check answer, item answer, points: should be",
        "greater",
    ),
    "points that are no whole number": (
        RUBRIC,
        "points = 4",
        "points = 4.5",
        "rubric of tiny-01: check answer, item answer, points: should be",
        "",
    ),
    "points that do not add up": (
        RUBRIC,
        "points = 4",
        "points = 5",
        "rubric of tiny-01: the items' points sum to 11, max_points says 10",
        "",
    ),
    "a check's id twice": (
        RUBRIC,
        'id = "answer"\nkind',
        'id = "values"\nkind',
        "rubric of tiny-01: checks.values is there twice",
        "",
    ),
    "an item's id twice": (
        RUBRIC,
        '{ id = "answer", points = 4, name = "answer" }',
        '{ id = "a", points = 2, name = "answer" }, { id = "a", points = 2, name = "answer" }',
        "rubric of tiny-01: checks.answer.items.a is there twice",
        "",
    ),
}


@pytest.mark.parametrize(("file", "old", "new", "what", "why"), SPOILT.values(), ids=SPOILT)
def test_wrong_content_is_told_with_its_file_and_key(
    tmp_path: Path, file: str, old: str, new: str, what: str, why: str
) -> None:
    make(tmp_path)
    spoil(tmp_path, file, old, new)
    found = problem(tmp_path)
    assert isinstance(found, ContentProblem)
    assert found.exit_code == 3
    assert what in found.what
    assert why in found.what
    assert Path(file).name in found.sentence()
    assert found.next_step


def test_a_file_that_is_no_utf_8_is_told(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / RUBRIC).write_bytes("title = 'ö'".encode("latin-1"))
    assert "rubric.toml is not UTF-8 text (byte 9)" in problem(tmp_path).what


def test_a_missing_rubric_is_told(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / RUBRIC).unlink()
    found = problem(tmp_path)
    assert (type(found), found.what) == (ContentProblem, "rubric.toml is missing")
    assert found.where == str(tmp_path / RUBRIC)


def test_the_digest_follows_every_file_that_decides_a_grade(tmp_path: Path) -> None:
    before = entry(make(tmp_path), ID).digest
    assert entry(make(tmp_path), ID).digest == before
    seen = {before}
    for name in (EXERCISE, RUBRIC, f"rubrics/{ID}/oracle.py"):
        make(tmp_path)
        write(tmp_path, name, (tmp_path / name).read_text(encoding="utf-8") + "\n# more\n")
        seen.add(entry(Course(tmp_path), ID).digest)
    assert len(seen) == 4


def test_mistakes_that_nothing_tells_apart_are_worded_together() -> None:
    course = Course(shipped())
    rubric = entry(course, course.ids()[0]).rubric
    one, two = rubric.mistakes[:2]
    both = rubric.mistake(f"{one.id}-or-{two.id}")
    assert both is not None
    assert both.title == f"{one.title}; or {two.title}"
    assert rubric.mistake("no-such-mistake") is None
    assert rubric.mistake(one.id) == one


def test_a_name_that_the_exercise_does_not_ask_for_is_course_content(tmp_path: Path) -> None:
    make(tmp_path)
    spoil(tmp_path, RUBRIC, 'program = "double"', 'program = "duoble"')
    found = problem(tmp_path)
    assert isinstance(found, ContentProblem)
    assert "exercise.toml asks for no program 'duoble'" in found.what
    assert found.next_step == "correct the name, or add it there"


def test_a_mistake_without_words_is_course_content() -> None:
    found = entry(Course(shipped()), "distributed-03")
    bare = found.rubric.model_copy(update={"mistakes": ()})
    with pytest.raises(ContentProblem, match="there are no words for the mistake"):
        checks.load(bare, found.exercise)


X = '{ name = "x", shape = [4], dtype = "float32", split = 0 }'
AT_LOAD = {
    "a split past the last dimension": (
        EXERCISE,
        "split = 0",
        "split = 5",
        "exercise.toml: program double, argument x: split = 5, and shape = [4] has dimension 0"
        " alone",
    ),
    "a split of a matrix": (
        EXERCISE,
        X,
        '{ name = "x", shape = [4, 8], dtype = "float32", split = -1 }',
        "exercise.toml: program double, argument x: split = -1, and shape = [4, 8] has the"
        " dimensions 0 to 1",
    ),
    "a number that is split": (
        EXERCISE,
        "shape = [4]",
        "shape = []",
        "exercise.toml: program double, argument x: split = 0, and shape = [] has no dimension",
    ),
    "an extent that four cannot share": (
        EXERCISE,
        "shape = [4]",
        "shape = [6]",
        "exercise.toml: program double, argument x: split = 0 cuts 6 of [6], which four devices"
        " cannot share evenly",
    ),
    "a negative extent": (
        EXERCISE,
        "shape = [4]",
        "shape = [-4]",
        "exercise.toml: program double, argument x: shape = [-4] has the extent -4",
    ),
    "a misspelt key of an argument": (
        EXERCISE,
        "split = 0",
        "splitt = 0",
        "exercise.toml: program double, argument x: unknown key splitt (line 15); did you mean"
        " split?",
    ),
    "a misspelt parameter that is missing then": (
        RUBRIC,
        "relative_tolerance",
        "relative_tolerence",
        "rubric of tiny-01: check values: unknown key relative_tolerence; did you mean"
        " relative_tolerance?",
    ),
    "several at once": (
        RUBRIC,
        "relative_tolerance = 1e-6",
        "relative_tolerance = -1e-6\nopne_case = 1",
        "rubric of tiny-01 has 2 problems (rubric.toml):\n"
        "  check values, relative_tolerance: should be greater than or equal to 0\n"
        "  check values: unknown key opne_case, which nothing reads",
    ),
    "a floor above its ceiling": (
        RUBRIC,
        'kind = "claims"\ntitle = "The answer"\nhint = "Think."\n'
        'items = [{ id = "answer", points = 4, name = "answer" }]',
        'kind = "byte_budget"\ntitle = "B"\nhint = "Think."\n'
        'items = [{ id = "a", points = 4, program = "double", floor = 9, ceiling = 4 }]',
        "rubric of tiny-01: check answer, item a: floor = 9 lies above ceiling = 4, so nothing"
        " passes",
    ),
    "a misspelt key of one of three sorts": (
        RUBRIC,
        'kind = "claims"\ntitle = "The answer"\nhint = "Think."\n'
        'items = [{ id = "answer", points = 4, name = "answer" }]',
        'kind = "byte_budget"\ntitle = "B"\nhint = "Think."\n'
        'items = [{ id = "a", points = 4, program = "double", flor = 9, ceiling = 4 }]',
        "rubric of tiny-01: check answer, item a: unknown key flor; did you mean floor?",
    ),
    "one program of several results": (
        EXERCISE,
        'name = "double"',
        'name = "double"\nresults = ["new", "total"]',
        "rubric of tiny-01: checks.values: 'double' gives several results, and program_values"
        " looks at one",
    ),
}


@pytest.mark.parametrize(("file", "old", "new", "what"), AT_LOAD.values(), ids=AT_LOAD)
def test_what_could_never_work_is_told_when_it_is_read(
    tmp_path: Path, file: str, old: str, new: str, what: str
) -> None:
    make(tmp_path)
    spoil(tmp_path, file, old, new)
    found = problem(tmp_path)
    assert found.what == what
    if "several results" in what:
        assert found.next_step == "name double.new or double.total"


def test_a_program_of_several_results_may_be_asked_for_its_collectives(tmp_path: Path) -> None:
    make(tmp_path)
    spoil(tmp_path, EXERCISE, 'name = "double"', 'name = "double"\nresults = ["new", "total"]')
    text = (tmp_path / RUBRIC).read_text(encoding="utf-8")
    for name in ("double", "double.new"):
        changed = text.replace('kind = "program_values"', 'kind = "collectives"').replace(
            'program = "double"', f'program = "{name}", op = "all-reduce", floor = 1, ceiling = 2'
        )
        changed = changed.replace('relative_tolerance = 1e-6\nopen_case = "lesson"\n', "")
        write(tmp_path, RUBRIC, changed)
        assert len(load_checks(entry(Course(tmp_path), ID))) == 2


def test_a_mistake_that_a_kind_names_by_itself_has_words_without_the_rubric_s(
    tmp_path: Path,
) -> None:
    found = entry(make(tmp_path), ID)
    named = Item(
        id="double",
        status="failed",
        points=0,
        max_points=6,
        source="replayed",
        message="`double` is wrong",
        mistake="low-precision",
    )
    case = Case(found.rubric, Evidence(outcome=Outcome("finished")), {}, Truth({}, {}))
    finding = checks._finding(found.rubric.checks[0], [named], [], case)
    assert finding.mistake_title == "a 16-bit format is used, whose digits do not suffice"
    assert finding.hint == "Multiply by two."


def test_every_kind_s_own_mistakes_are_on_the_page_about_kinds() -> None:
    assert checks.names("program_values").keys() == {
        *("host-round-trip", "one-replica-only", "low-precision", "hard-coded")
    }
    assert checks.names("round_trip") == {}
    every = {one for kind in checks.kinds() for one in checks.names(kind)}
    for kind in checks.kinds():
        section = described.kind_section(kind)
        source = Path(checks.__path__[0], f"{kind}.py").read_text(encoding="utf-8")
        assert all(one in checks.names(kind) for one in every if f'"{one}"' in source)
        assert all(f"| `{one}` | {words} |" in section for one, words in checks.names(kind).items())
