"""Taking hand-ins in: what holds for every layout."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader.errors import UsageProblem
from grader.gradebook import sources
from grader.gradebook.sources.found import Wanted
from grader.intake import MOST_BYTES
from grader.receipt.naming import safe_stem
from grader.records.gradebook import Collected
from tests.gradebook import classes
from tests.gradebook.classes import BOB, CLASS, JANE, WANTED, ZOE, Learner, write


def collect(*paths: Path, source: str | None = None, roster: Path | None = None) -> Collected:
    return sources.collect(
        [str(path) for path in paths], wanted=WANTED, source=source, roster=roster
    )


def told(collected: Collected, kind: str) -> list[tuple[str, str]]:
    return [(note.who, note.text) for note in collected.notes if note.kind == kind]


def kinds(collected: Collected) -> list[str]:
    return sorted(note.kind for note in collected.notes)


FORMS: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "files": ("plain", lambda folder: classes.files_folder(folder / "class")),
    "folders": ("plain", lambda folder: classes.folders_folder(folder / "class")),
    "files zip": (
        "plain",
        lambda folder: classes.packed(classes.files_folder(folder / "in" / "c"), folder / "c.zip"),
    ),
    "folders zip": (
        "plain",
        lambda folder: classes.packed(
            classes.folders_folder(folder / "in" / "c"), folder / "c.zip"
        ),
    ),
    "canvas": ("canvas", classes.canvas_zip),
    "canvas unpacked": (
        "canvas",
        lambda folder: write(folder / "class", classes.canvas_members()),
    ),
    "canvas anonymous": ("canvas", classes.canvas_anonymous_zip),
    **{
        f"moodle {form}": (
            "moodle",
            lambda folder, form=form: classes.moodle_zip(folder, form=form),  # type: ignore[misc]
        )
        for form in ("folder", "old", "flat")
    },
    "moodle blind": ("moodle", lambda folder: classes.moodle_zip(folder, blind=True)),
    "moodle unpacked": (
        "moodle",
        lambda folder: write(folder / "class", classes.moodle_members()),
    ),
    "gradescope": ("gradescope", classes.gradescope_folder),
    "gradescope zip": ("gradescope", classes.gradescope_zip),
    "classroom": ("classroom", classes.classroom_folder),
    "classroom zip": (
        "classroom",
        lambda folder: classes.packed(classes.classroom_folder(folder / "in"), folder / "x.zip"),
    ),
}
FOLDERS = {"files", "folders", "gradescope", "classroom", "canvas unpacked", "moodle unpacked"}
every_form = pytest.mark.parametrize("form", sorted(FORMS))


def built(form: str, folder: Path) -> tuple[str, Path]:
    layout, build = FORMS[form]
    return layout, build(folder)


# --------------------------------------------------------------------------------------- every form


@every_form
def test_each_layout_is_recognised_and_gives_everybody_their_own_bytes(
    tmp_path: Path, form: str
) -> None:
    layout, path = built(form, tmp_path)
    found = collect(path)
    assert found.layout == layout
    assert sorted(one.read() for one in found.hand_ins) == sorted(
        one.source.encode() for one in CLASS
    )
    assert not [note for note in found.notes if note.kind != "ignored"]
    assert [one.people[0].key for one in found.hand_ins] == [one.key for one in found.people]


@every_form
def test_keys_are_unique_and_safe_as_folder_names(tmp_path: Path, form: str) -> None:
    keys = [one.key for one in collect(built(form, tmp_path)[1]).people]
    assert len({key.casefold() for key in keys}) == len(keys) == len(CLASS)
    assert all(safe_stem(key) == key for key in keys)


@every_form
def test_the_layout_may_be_named(tmp_path: Path, form: str) -> None:
    layout, path = built(form, tmp_path)
    assert outline(collect(path, source=layout)) == outline(collect(path))


def outline(found: Collected) -> tuple[Any, ...]:
    """Return what can be compared of a class: everything but the readers."""
    files = [(one.people, one.name, one.shown, one.ids, one.late) for one in found.hand_ins]
    return found.layout, files, found.people, found.notes


@pytest.mark.parametrize("form", [form for form in sorted(FORMS) if form in FOLDERS])
def test_what_a_shell_makes_of_a_star_is_the_same_class(tmp_path: Path, form: str) -> None:
    layout, path = built(form, tmp_path)
    found = collect(*sorted(path.iterdir(), reverse=True))
    assert found.layout == layout
    assert found.people == collect(path).people


@every_form
def test_a_file_given_twice_is_one_hand_in_and_it_is_told(tmp_path: Path, form: str) -> None:
    _, path = built(form, tmp_path)
    link = tmp_path / f"link{path.suffix}"
    link.symlink_to(path)
    found = collect(path, link)
    assert len(found.hand_ins) == len(CLASS)
    assert kinds(found).count("duplicate") == 1


def test_two_downloads_of_one_class_are_one_class(tmp_path: Path) -> None:
    old = classes.canvas_zip(tmp_path / "old", (JANE, BOB))
    new = classes.canvas_zip(tmp_path / "new", CLASS)
    found = collect(old, new)
    assert len(found.hand_ins) == len(CLASS)
    assert kinds(found) == ["duplicate", "duplicate"]


def test_layouts_may_be_mixed(tmp_path: Path) -> None:
    found = collect(
        classes.canvas_zip(tmp_path / "c", (JANE,)), classes.moodle_zip(tmp_path / "m", (BOB,))
    )
    assert found.layout == "canvas + moodle"
    assert [one.people[0].name for one in found.hand_ins] == ["Bob O'Neil", "doejane"]


def test_a_thousand_hand_ins_take_no_memory_for_their_bytes(tmp_path: Path) -> None:
    padding = "# " + "x" * 20_000 + "\n"
    learners = [
        Learner(one.number, one.first, one.last, {"my_solution.py": one.source + padding})
        for one in classes.many(1000)
    ]
    path = classes.canvas_zip(tmp_path, learners)
    del learners
    tracemalloc.start()
    found = collect(path, roster=classes.canvas_roster(tmp_path / "r.csv", classes.many(1000)))
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.hand_ins) == len(found.people) == 1000
    assert found.notes == ()
    # 20 MB were read.
    assert kept < 12 << 20 and peak < 24 << 20


def test_a_learner_has_one_file_among_many(tmp_path: Path) -> None:
    found = collect(write(tmp_path / "c", {"jane/my_solution.py": "x = 1", "jane/data.csv": "1"}))
    (one,) = found.hand_ins
    assert one.name == "my_solution.py"
    assert {name: read() for name, read in one.beside.items()} == {"data.csv": b"1"}


def test_a_file_too_large_to_grade_is_a_hand_in_read_no_further_than_needed(tmp_path: Path) -> None:
    path = write(tmp_path / "c", {"jane.py": bytes(MOST_BYTES + 5000), "bob.py": "x"}) / "jane.py"
    one = collect(path.parent).hand_ins[1]
    assert one.name == "jane.py"
    assert len(one.read()) == MOST_BYTES + 1


def test_a_package_that_lists_layouts_needs_no_library_until_one_is_used() -> None:
    code = (
        "import sys; from grader.gradebook import sources; print(sources.names());"
        "assert 'yaml' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['canvas', 'classroom', 'gradescope', 'moodle', 'plain']"


# -------------------------------------------------------------------------------- which file is it?


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        (["anything.py"], "anything.py"),
        (["a.ipynb"], "a.ipynb"),
        (["distributed-03.py", "draft.py"], "distributed-03.py"),
        (["Distributed_03.PY", "draft.py"], "Distributed_03.PY"),
        (["distributed-03 (1).py", "draft.py"], "distributed-03 (1).py"),
        (["my_solution.py", "draft.py"], "my_solution.py"),
        (["solution.py", "draft.py"], "solution.py"),
        (["distributed-03.py", "my_solution.py", "solution.py"], "distributed-03.py"),
        (["work.py", "work.ipynb"], "work.py"),
        (["main.py", "test_main.py", "main_test.py", "conftest.py", "setup.py"], "main.py"),
        (["main.py", "__init__.py", ".hidden.py", "tests/helper.py"], "main.py"),
        (["src/main.py", "tests/my_solution.py", "docs/conf.py"], "main.py"),
        (["main.py", "venv/pyvenv.cfg", "venv/lib/x.py", "__pycache__/y.py"], "main.py"),
        (["main.py", "other/.git/HEAD", "other/my_solution.py"], "main.py"),
        (["clone/.git/HEAD", "clone/main.py"], "main.py"),
        (["__init__.py"], "__init__.py"),
        (["test_it.py"], "test_it.py"),
        (["notes.txt", "main.PY"], "main.PY"),
    ],
)
def test_the_submission_is_found_among_what_goes_with_it(
    tmp_path: Path, files: list[str], chosen: str
) -> None:
    write(tmp_path / "c", {f"jane/{name}": f"x = '{name}'" for name in files})
    write(tmp_path / "c", {"bob/main.py": "y = 1"})
    found = collect(tmp_path / "c")
    assert [one.name for one in found.hand_ins if one.people[0].key == "jane"] == [chosen]


@pytest.mark.parametrize(
    ("files", "listed"),
    [
        (["a.py", "b.py"], "a.py, b.py"),
        (["a.py", "b.ipynb"], "a.py, b.ipynb"),
        (["x/my_solution.py", "y/my_solution.py"], "x/my_solution.py, y/my_solution.py"),
        (["my_solution.py", "distributed_03.py", "distributed-03.py"], "distributed-03.py, distr"),
    ],
)
def test_where_nothing_decides_nothing_is_graded(
    tmp_path: Path, files: list[str], listed: str
) -> None:
    write(tmp_path / "c", {f"jane/{name}": f"x = '{name}'" for name in files})
    write(tmp_path / "c", {"bob/main.py": "y = 1"})
    found = collect(tmp_path / "c", roster=roster(tmp_path, "jane", "bob"))
    assert [one.people[0].key for one in found.hand_ins] == ["bob"]
    ((who, text),) = told(found, "ambiguous")
    assert who == "jane" and f"which file is it? {listed}" in text
    assert "name it distributed-03.py" in text
    # They did hand in, so nobody tells them that they did not.
    assert not told(found, "missing")


def test_copies_of_one_file_are_one(tmp_path: Path) -> None:
    write(tmp_path / "c", {"jane/a/main.py": "x = 1", "jane/b/c/main.py": "x = 1", "bob/m.py": ""})
    found = collect(tmp_path / "c")
    assert [one.shown for one in found.hand_ins][1:] == [str(tmp_path / "c/jane/a/main.py")]


def test_what_was_not_taken_is_told(tmp_path: Path) -> None:
    write(tmp_path / "c", {"jane/my_solution.py": "x", "jane/old.py": "y", "bob/main.py": "z"})
    ((who, text),) = told(collect(tmp_path / "c"), "ignored")
    assert who == "jane" and text.endswith("took my_solution.py; also there: old.py")


@pytest.mark.parametrize(
    ("files", "there"),
    [
        ({"essay.pdf": "x"}, "there is essay.pdf"),
        ({"hw.zip": "x"}, "a zip is not opened here: unpack it"),
        ({}, "there is no file at all"),
    ],
)
def test_a_learner_without_a_program_is_told_and_stays_in_the_class(
    tmp_path: Path, files: dict[str, str], there: str
) -> None:
    write(tmp_path / "c" / "jane", files)
    write(tmp_path / "c", {"bob/main.py": "y = 1"})
    found = collect(tmp_path / "c")
    ((who, text),) = told(found, "empty")
    assert who == "jane" and there in text
    assert [one.key for one in found.people] == ["bob", "jane"]


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("distributed-03.py", 0),
        ("DISTRIBUTED 03.ipynb", 0),
        ("distributed_03", 0),
        ("my-solution.py", 1),
        ("solution(2).py", 2),
        ("distributed-04.py", None),
        ("solution.txt", None),
    ],
)
def test_names_that_a_solution_may_have(name: str, rank: int | None) -> None:
    assert Wanted(WANTED).rank(name) == rank == Wanted(f"{WANTED}.py").rank(name)


def roster(folder: Path, *names: str) -> Path:
    path = folder / "roster.csv"
    path.write_text("name\n" + "".join(f"{name}\n" for name in names), encoding="utf-8")
    return path


# ----------------------------------------------------------------------------- what is not followed


def test_a_link_out_of_its_folder_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"secret.py": "key = 1", "c/bob/main.py": "x", "c/jane/readme.txt": ""})
    for name, target in {
        "c/jane/my_solution.py": "../bob/main.py",
        "c/jane/a.py": str(tmp_path / "secret.py"),
        "c/jane/b.py": "/etc/passwd",
        "c/jane/nowhere.py": "none.py",
        "c/jane/dir": "../bob",
    }.items():
        (tmp_path / name).symlink_to(target)
    found = collect(tmp_path / "c")
    assert [one.people[0].key for one in found.hand_ins] == ["bob"]
    assert len(told(found, "refused")) == 5


def test_a_link_inside_its_folder_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "c", {"jane/work/v2.txt": "x = 2", "bob/main.py": "x"})
    (tmp_path / "c/jane/main.py").symlink_to("work/v2.txt")
    assert collect(tmp_path / "c").hand_ins[1].read() == b"x = 2"


def test_what_is_no_ordinary_file_is_refused_and_nothing_waits_for_it(tmp_path: Path) -> None:
    write(tmp_path / "c", {"bob/main.py": "x", "jane/readme.txt": ""})
    os.mkfifo(tmp_path / "c/jane/my_solution.py")
    found = collect(tmp_path / "c")
    assert told(found, "refused") == [(str(tmp_path / "c/jane/my_solution.py"), "no ordinary file")]
    assert [who for who, _ in told(found, "empty")] == ["jane"]


def test_a_file_that_became_something_else_is_a_usage_problem(tmp_path: Path) -> None:
    one = collect(write(tmp_path / "c", {"jane.py": "x", "bob.py": "y"})).hand_ins[1]
    (tmp_path / "c/jane.py").unlink()
    with pytest.raises(UsageProblem, match="cannot be read: No such file"):
        one.read()
    os.mkfifo(tmp_path / "c/jane.py")
    with pytest.raises(UsageProblem, match="is no ordinary file"):
        one.read()
    (tmp_path / "c/jane.py").unlink()
    (tmp_path / "c/jane.py").symlink_to("bob.py")
    with pytest.raises(UsageProblem, match="cannot be read"):
        one.read()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    (write(tmp_path / "c", {"jane.py": "x", "bob.py": "y"}) / "jane.py").chmod(0)
    found = collect(tmp_path / "c")
    assert [who for who, _ in told(found, "refused")] == ["jane"]
    assert len(found.hand_ins) == 1


def test_names_that_are_no_text_are_shown_as_text(tmp_path: Path) -> None:
    write(tmp_path / "c", {"bob.py": "y"})
    raw = os.path.join(os.fsencode(tmp_path / "c"), b"j\xffne\n.py")
    Path(os.fsdecode(raw)).write_bytes(b"x = 1\n")
    one = collect(tmp_path / "c").hand_ins[1]
    assert one.read() == b"x = 1\n"
    assert one.people[0].key == "j\ufffdne_"
    assert "\n" not in one.shown and one.shown.isprintable()
    one.shown.encode()


# ------------------------------------------------------------------------------------ what is wrong


def test_an_unknown_layout_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="no layout 'blackboard'") as caught:
        collect(tmp_path, source="blackboard")
    assert caught.value.next_step == "use one of canvas, classroom, gradescope, moodle, plain"


@pytest.mark.parametrize("name", ["nowhere", "nowhere.zip", "\0"])
def test_a_path_that_is_not_there_is_a_usage_problem(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageProblem, match="cannot be read"):
        collect(tmp_path / name)


def test_a_path_that_is_no_file_is_a_usage_problem(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageProblem, match="is no ordinary file"):
        collect(tmp_path / "pipe")


@pytest.mark.parametrize("source", [None, "canvas", "moodle", "gradescope", "classroom", "plain"])
def test_where_nothing_was_handed_in_it_says_so(tmp_path: Path, source: str | None) -> None:
    (tmp_path / "c").mkdir()
    with pytest.raises(UsageProblem, match="nothing was handed in at"):
        collect(tmp_path / "c", source=source)
    with pytest.raises(UsageProblem, match="nothing was handed in at no path"):
        collect(source=source)


def test_the_order_of_paths_changes_nothing(tmp_path: Path) -> None:
    paths = [
        classes.canvas_zip(tmp_path / "c", (JANE, BOB)),
        classes.moodle_zip(tmp_path / "m", (JANE, ZOE)),
        classes.gradescope_folder(tmp_path / "g", ((BOB, ZOE),)),
        classes.folders_folder(tmp_path / "p", (JANE,)),
    ]
    table = classes.gradescope_roster(tmp_path / "r.csv", (JANE, BOB))
    one, other = collect(*paths, roster=table), collect(*reversed(paths), roster=table)
    assert outline(one) == outline(other)
