"""Canvas's submissions zip."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.gradebook import sources
from grader.gradebook.sources.found import Wanted
from grader.gradebook.sources.layouts import canvas
from grader.records.gradebook import Collected
from tests.gradebook import classes
from tests.gradebook.classes import BOB, JANE, WANTED, Learner, zipped

relaxed = settings(deadline=None, max_examples=300, derandomize=True)


def collect(path: Path, source: str | None = None) -> Collected:
    return sources.collect([str(path)], wanted=WANTED, source=source)


def given_zip(folder: Path, *names: str) -> Collected:
    path = zipped(folder / "submissions.zip", [(name, f"x = {name!r}") for name in names])
    return collect(path, "canvas")


# --------------------------------------------------------------------------------- what a name says


@pytest.mark.parametrize(
    ("name", "who", "user", "late", "attachment", "file"),
    [
        ("doejane_1234_56789_my_solution.py", "doejane", "1234", False, 56789, "my_solution.py"),
        ("doejane_LATE_1234_56789_a.py", "doejane", "1234", True, 56789, "a.py"),
        ("doejane_1_2_LATE_3_4_a.py", "doejane", "1", False, 2, "LATE_3_4_a.py"),
        ("doe_jane_1_2_a.py", "doe_jane", "1", False, 2, "a.py"),
        ("_1_2_a.py", "", "1", False, 2, "a.py"),
        ("42_1_2_a.py", "42", "1", False, 2, "a.py"),
        ("šťastnázoë_1_2_úkol 3.py", "šťastnázoë", "1", False, 2, "úkol 3.py"),
        ("王伟_LATE_1_2_a.py", "王伟", "1", True, 2, "a.py"),
        ("हिन्दी_1_2_a.py", "हिन्दी", "1", False, 2, "a.py"),
        ("x_1_2_a(b)[c]+.*$^|?.py", "x", "1", False, 2, "a(b)[c]+.*$^|?.py"),
        ("x_1_2_my solution.py.py", "x", "1", False, 2, "my solution.py.py"),
        ("x_1_2__.py", "x", "1", False, 2, "_.py"),
        ("x_1_2_new\nline.py", "x", "1", False, 2, "new\nline.py"),
        ("anon_1234_56789_a.py", "anon", "1234", False, 56789, "a.py"),
    ],
)
def test_a_name_is_taken_apart_as_canvas_put_it_together(
    name: str, who: str, user: str, late: bool, attachment: int, file: str
) -> None:
    parts = canvas.parse(name)
    assert parts is not None
    assert (parts.person.name, parts.late, parts.attachment) == (who, late, attachment)
    assert (parts.person.ids, parts.file, parts.kind) == ({"canvas_user": user}, file, "file")


@pytest.mark.parametrize(
    ("name", "late", "file"),
    [
        ("anon_aB3xY_56789_my_solution.py", False, "my_solution.py"),
        ("anon_aB3xY_LATE_56789_my_solution.py", True, "my_solution.py"),
        ("LATE_anon_aB3xY_56789_my_solution.py", True, "my_solution.py"),
        ("anon_aB3xY_56789_7_8.py", False, "7_8.py"),
    ],
)
def test_anonymous_grading_has_its_own_form(name: str, late: bool, file: str) -> None:
    parts = canvas.parse(name)
    assert parts is not None
    assert parts.person.ids == {"canvas_anonymous": "aB3xY"}
    assert (parts.late, parts.attachment, parts.file) == (late, 56789, file)


@pytest.mark.parametrize(
    ("name", "ids", "late", "kind"),
    [
        ("doejane_1234_text.html", {"canvas_user": "1234"}, False, "text"),
        ("doejane_LATE_1234_link.html", {"canvas_user": "1234"}, True, "link"),
        ("anon_aB3xY_text.html", {"canvas_anonymous": "aB3xY"}, False, "text"),
        ("anon_aB3xY_LATE_link.html", {"canvas_anonymous": "aB3xY"}, True, "link"),
    ],
)
def test_an_entry_is_no_file(name: str, ids: dict[str, str], late: bool, kind: str) -> None:
    parts = canvas.parse(name)
    assert parts is not None
    assert (dict(parts.person.ids), parts.late, parts.kind) == (ids, late, kind)


@pytest.mark.parametrize(
    "name",
    [
        "my_solution.py",
        "doejane_1234_my_solution.py",
        "doejane_01_02_a.py",
        "doejane_١_٢_a.py",
        "doejane_1_2_",
        "my_text.html",
        "Jane Doe_1_assignsubmission_file_2_3_a.py",
        "",
    ],
)
def test_other_names_are_not_canvas(name: str) -> None:
    assert canvas.parse(name) is None


@relaxed
@given(st.text(max_size=60) | st.text(alphabet="anoLATE_0123456789-.pytexhml\n", max_size=60))
def test_no_name_raises(name: str) -> None:
    parts = canvas.parse(name)
    assert parts is None or name.endswith(parts.file)
    canvas.own_name(name, Wanted(WANTED))


@relaxed
@given(
    st.text(alphabet=st.characters(categories=("Ll", "Lo", "Mn")), max_size=20),
    st.integers(1, 10**18),
    st.integers(1, 10**18),
    st.booleans(),
    st.text(min_size=1, max_size=30).filter(lambda text: not text.startswith("assignsub")),
)
def test_every_name_that_canvas_can_make_is_read_back(
    who: str, user: int, attachment: int, late: bool, file: str
) -> None:
    parts = canvas.parse(f"{who}{'_LATE' if late else ''}_{user}_{attachment}_{file}")
    assert parts is not None
    assert (parts.person.name, parts.late, parts.file) == (who, late, file)
    assert (parts.person.ids["canvas_user"], parts.attachment) == (str(user), attachment)


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("my_solution-1.py", "my_solution.py"),
        ("my_solution-12.py", "my_solution.py"),
        ("my_solution-1.py.py", "my_solution.py.py"),
        ("work-3b1c2f0e-1111-4222-8333-444455556666.ipynb", "work.ipynb"),
        ("distributed-03-2.py", "distributed-03.py"),
        ("distributed-03.py", "distributed-03.py"),
        ("lab-03.py", "lab-03.py"),
        ("work-100.py", "work-100.py"),
        ("-1.py", "-1.py"),
        ("my_solution.py", "my_solution.py"),
        ("my-1-solution.py", "my-1-solution.py"),
    ],
)
def test_only_a_number_that_canvas_put_there_goes(file: str, own: str) -> None:
    assert canvas.own_name(file, Wanted(WANTED)) == own


def test_the_number_of_the_exercise_itself_stays() -> None:
    assert canvas.own_name("sharding-10.py", Wanted("sharding-10")) == "sharding-10.py"
    assert canvas.own_name("sharding-10-1.py", Wanted("sharding-10")) == "sharding-10.py"


# ----------------------------------------------------------------------------------- what comes out


def test_ids_and_lateness_are_kept(tmp_path: Path) -> None:
    found = collect(classes.canvas_zip(tmp_path, (JANE, BOB), late=[BOB.number]))
    assert [(one.people[0].ids, one.ids, one.late) for one in found.hand_ins] == [
        ({"canvas_user": "1001"}, {"canvas_attachment": "50010"}, False),
        ({"canvas_user": "1002"}, {"canvas_attachment": "50020"}, True),
    ]
    # The zip's own dates are those of the download.
    assert [one.submitted_at for one in found.hand_ins] == ["", ""]
    assert [one.people[0].key for one in found.hand_ins] == ["doejane-1001", "oneilbob-1002"]


def test_the_newest_upload_of_a_name_counts_and_the_older_is_told(tmp_path: Path) -> None:
    found = given_zip(
        tmp_path, "doe_1_9_a-1.py", "doe_1_10_a-2.py", "doe_1_8_a.py", "roe_2_11_a.py"
    )
    assert [(one.name, one.ids["canvas_attachment"]) for one in found.hand_ins] == [
        ("a.py", "10"),
        ("a.py", "11"),
    ]
    assert [(note.kind, note.who) for note in found.notes] == [("superseded", "doe")] * 2
    assert "doe_1_9_a-1.py gave way to" in found.notes[1].text


def test_several_files_of_one_upload_are_one_hand_in(tmp_path: Path) -> None:
    found = given_zip(tmp_path, "doe_1_8_my_solution.py", "doe_1_9_plot.png", "doe_1_7_old.py")
    (one,) = found.hand_ins
    assert one.name == "my_solution.py"
    assert sorted(one.beside) == ["old.py", "plot.png"]
    assert [note.kind for note in found.notes] == ["ignored"]


def test_entries_without_a_file_are_told_and_their_people_kept(tmp_path: Path) -> None:
    found = given_zip(tmp_path, "doe_1_text.html", "roe_2_link.html", "poe_3_7_a.py", "readme.txt")
    assert [one.name for one in found.people] == ["doe", "poe", "roe"]
    assert [(note.kind, note.text) for note in found.notes] == [
        ("ignored", "its name is none of Canvas's"),
        ("ignored", "a text entry, not a file: ask for the file itself"),
        ("ignored", "a link, not a file: ask for the file itself"),
    ]


def test_a_lone_zip_is_opened_as_the_learners_own_packing(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "i.zip", [("hw/my_solution.py", "inner"), ("hw/d.txt", "")])
    path = zipped(
        tmp_path / "s.zip",
        [("doe_1_7_hw.zip", inner.read_bytes()), ("roe_2_8_a.py", "x"), ("roe_2_9_b.zip", "x")],
    )
    found = collect(path)
    assert [(one.name, one.read(), one.ids) for one in found.hand_ins] == [
        ("my_solution.py", b"inner", {"canvas_attachment": "7"}),
        ("a.py", b"x", {"canvas_attachment": "8"}),
    ]
    assert sorted(found.hand_ins[0].beside) == ["d.txt"]
    assert found.hand_ins[0].shown.endswith("doe_1_7_hw.zip: hw/my_solution.py")


def test_a_learners_damaged_zip_is_refused_and_the_others_are_graded(tmp_path: Path) -> None:
    found = given_zip(tmp_path, "doe_1_7_hw.zip", "roe_2_8_a.py")
    assert len(found.hand_ins) == 1
    assert [(note.kind, note.who) for note in found.notes] == [("refused", "doe")]


def test_a_bomb_in_a_learners_zip_is_refused_and_told(tmp_path: Path) -> None:
    bomb = zipped(tmp_path / "i.zip", [("my_solution.py", bytes(40 << 20))])
    path = zipped(
        tmp_path / "s.zip", [("doe_1_7_hw.zip", bomb.read_bytes()), ("roe_2_8_a.py", "x")]
    )
    found = collect(path)
    assert len(found.hand_ins) == 1
    assert sorted(note.kind for note in found.notes) == ["empty", "refused"]


def test_a_damaged_file_is_refused_and_the_others_are_graded(tmp_path: Path) -> None:
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("doe_1_7_a.py", "value = 1")
        file.writestr("roe_2_8_a.py", "value = 2")
    path.write_bytes(path.read_bytes().replace(b"value = 1", b"value = 9"))
    found = collect(path)
    assert [one.people[0].name for one in found.hand_ins] == ["roe"]
    assert [(note.kind, note.who) for note in found.notes] == [("refused", "doe")]


def test_people_of_one_name_are_told_apart_by_their_number(tmp_path: Path) -> None:
    found = given_zip(tmp_path, "doejane_1_7_a.py", "doejane_2_8_a.py")
    assert [one.key for one in found.people] == ["doejane-1", "doejane-2"]


def test_files_that_only_look_numbered_are_not_canvas(tmp_path: Path) -> None:
    names = ["lab_1_2_jane.py", "lab_1_2_bob.py"]
    found = collect(zipped(tmp_path / "z.zip", [(name, name) for name in names]))
    assert (found.layout, len(found.hand_ins)) == ("plain", 2)


def test_anonymous_people_whose_ids_differ_in_case_have_their_own_folders(tmp_path: Path) -> None:
    found = given_zip(tmp_path, "anon_aBcDe_1_a.py", "anon_AbCdE_2_a.py")
    assert len({one.key.casefold() for one in found.people}) == 2


def test_a_learner_whose_name_is_all_signs_has_a_key(tmp_path: Path) -> None:
    (one,) = given_zip(tmp_path, "_1_2_a.py").people
    assert one.key == "1"


def test_made_up_learners_have_canvas_names() -> None:
    assert classes.canvas_name(Learner(1, "Bob", "O'Neil")) == "oneilbob"
