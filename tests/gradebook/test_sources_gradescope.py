"""Gradescope's export of submissions."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.errors import UsageProblem
from grader.gradebook import sources
from grader.records.gradebook import Collected
from tests.gradebook import classes
from tests.gradebook.classes import BOB, JANE, WANTED, ZOE, write

relaxed = settings(deadline=None, max_examples=150, derandomize=True)


def collect(path: Path, roster: Path | None = None) -> Collected:
    return sources.collect([str(path)], wanted=WANTED, roster=roster)


def with_record(folder: Path, record: str | bytes) -> Collected:
    raw = record if isinstance(record, bytes) else record.encode()
    return collect(write(folder, {"submission_metadata.yml": raw, "submission_1/a.py": "x = 1"}))


def test_a_group_is_one_hand_in_of_several_people(tmp_path: Path) -> None:
    found = collect(classes.gradescope_zip(tmp_path, ((JANE, BOB), (ZOE,))))
    assert [[one.name for one in hand_in.people] for hand_in in found.hand_ins] == [
        ["Bob O'Neil", "Jane Doe"],
        ["Zoë Šťastná"],
    ]
    assert found.hand_ins[0].ids == {"gradescope_submission": "300"}
    assert found.hand_ins[0].submitted_at == "2026-03-02T18:00:30Z"
    assert (found.people[1].email, found.people[1].ids) == (JANE.email, {"sid": "00001"})
    assert found.notes == ()


def test_who_leaves_a_group_with_a_newer_hand_in_has_their_own(tmp_path: Path) -> None:
    found = collect(classes.gradescope_folder(tmp_path, ((JANE, BOB), (BOB,))))
    assert [[one.name for one in hand_in.people] for hand_in in found.hand_ins] == [
        ["Bob O'Neil"],
        ["Jane Doe"],
    ]
    ((kind, who),) = [(note.kind, note.who) for note in found.notes]
    assert (kind, who) == ("superseded", "Bob O'Neil")


def test_an_older_hand_in_gives_way(tmp_path: Path) -> None:
    later = classes.Learner(1, "Jane", "Doe", {"my_solution.py": "newer = 1"})
    found = collect(classes.gradescope_folder(tmp_path, ((JANE,), (later,), (BOB,))))
    assert [one.read() for one in found.hand_ins] == [BOB.source.encode(), b"newer = 1"]
    assert [note.kind for note in found.notes] == ["superseded"]


def test_a_record_without_a_folder_is_missing_and_its_people_stay(tmp_path: Path) -> None:
    files = classes.gradescope_files(((JANE,), (BOB,)))
    files = {name: text for name, text in files.items() if not name.startswith("submission_301")}
    found = collect(write(tmp_path / "e", files))
    assert [one.name for one in found.people] == ["Bob O'Neil", "Jane Doe"]
    assert [(note.kind, note.who) for note in found.notes] == [("missing", "Bob O'Neil")]


def test_a_folder_without_a_record_is_graded_and_belongs_to_nobody(tmp_path: Path) -> None:
    files = {**classes.gradescope_files(((JANE,),)), "submission_9/a.py": "x", "stray.txt": ""}
    found = collect(write(tmp_path / "e", files))
    assert len(found.hand_ins) == 2
    assert [one.key for one in found.people] == ["submission_9", "Jane Doe-00001"]
    assert sorted(note.kind for note in found.notes) == ["ignored", "unmatched"]


def test_an_export_without_its_record_is_known_by_its_folders(tmp_path: Path) -> None:
    found = collect(write(tmp_path / "e", {"submission_1/a.py": "x", "submission_2/a.py": "y"}))
    assert found.layout == "gradescope"
    assert [note.kind for note in found.notes] == ["unmatched"] * 2


@pytest.mark.parametrize(
    ("record", "name", "sid", "at"),
    [
        ("submission_1:\n  :submitters:\n  - :name: No\n    :sid: 00123\n", "No", "00123", ""),
        ("submission_1: {submitters: [{name: 'A: b', sid: '7'}]}", "A: b", "7", ""),
        ("submission_1: {':submitters': [{':name': X, ':sid': ~}]}", "X", "", ""),
        (
            "submission_1:\n  :submitters: [{':name': X}]\n  :created_at: 2026-03-02 10:20:30 Z\n",
            "X",
            "",
            "2026-03-02T10:20:30Z",
        ),
        (
            "submission_1: {submitters: [{name: X}], created_at: '2026-03-02T10:20:30+0100'}",
            "X",
            "",
            "2026-03-02T09:20:30Z",
        ),
        (
            "submission_1:\n  :submitters: [{':name': X}]\n"
            "  :created_at: !ruby/object:ActiveSupport::TimeWithZone\n"
            "    utc: 2026-03-02 10:20:30.123456000 Z\n    zone: !ruby/object:X\n      name: Y\n",
            "X",
            "",
            "2026-03-02T10:20:30Z",
        ),
        ("submission_1:\n  :submitters: [{':name': X}]\n  :created_at: soon\n", "X", "", ""),
        (
            "submission_1:\n  :submitters: [{':name': X}]\n  :created_at: 2026-99-99 99:99:99\n",
            "X",
            "",
            "",
        ),
    ],
)
def test_a_record_is_read_as_text_whatever_yaml_would_make_of_it(
    tmp_path: Path, record: str, name: str, sid: str, at: str
) -> None:
    (one,) = with_record(tmp_path, record).hand_ins
    assert (one.people[0].name, one.people[0].ids.get("sid", "")) == (name, sid)
    assert one.submitted_at == at


@pytest.mark.parametrize(
    "record", ["submission_1:", "submission_1: 5", "submission_1: {submitters: 5}"]
)
def test_a_record_that_says_nothing_leaves_the_file_to_nobody(tmp_path: Path, record: str) -> None:
    found = with_record(tmp_path, record)
    assert len(found.hand_ins) == 1
    assert [note.kind for note in found.notes] == ["unmatched"]


@pytest.mark.parametrize(
    ("record", "what"),
    [
        ("a: [", "line [12]: no sound YAML"),
        ("a: 1\n b: 2\n", "line 2: no sound YAML"),
        ("- a\n", "does not list submissions"),
        ("", "does not list submissions"),
        (b"\xff\xfe\xff", "no sound YAML"),
        ("[" * 100_000, "no sound YAML"),
        ("? [a]\n: 1\n", "no sound YAML"),
    ],
)
def test_a_record_that_cannot_be_read_is_a_usage_problem(
    tmp_path: Path, record: str | bytes, what: str
) -> None:
    with pytest.raises(UsageProblem, match=what) as caught:
        with_record(tmp_path, record)
    assert caught.value.next_step == "export the submissions again"


def test_a_record_runs_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    record = f"submission_1: !!python/object/apply:os.mkdir ['{mark}']\n"
    with contextlib.suppress(UsageProblem):
        with_record(tmp_path / "e", record)
    assert not mark.exists()


@relaxed
@given(st.text(alphabet="submission_1:{}[]-&*!?|>'\"%@`#, \n\tab~0", max_size=80))
def test_garbage_never_raises_anything_but_a_usage_problem(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    with contextlib.suppress(UsageProblem):
        with_record(tmp_path_factory.getbasetemp() / "garbage", text)


def test_without_the_library_it_says_what_to_install(tmp_path: Path) -> None:
    path = classes.gradescope_folder(tmp_path)
    code = (
        "import sys; sys.modules['yaml'] = None\n"
        "from grader.gradebook import sources\n"
        "from grader.errors import EnvironmentProblem\n"
        "try:\n"
        f"    sources.collect([{str(path)!r}], wanted='x')\n"
        "except EnvironmentProblem as error:\n"
        "    print(error.next_step)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "pip install 'shardgrade[lms]'"
