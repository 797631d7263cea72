"""A class through the real command: nobody costs anybody else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import EXERCISE, ROOT, TIMEOUT_S, command, environment, run
from tests.gradebook import classes
from tests.gradebook.bulk import (
    CRASH,
    FLOOD,
    FULL,
    HANG,
    PARTIAL,
    book,
    broken,
    course_with,
    export,
    files,
    grade,
    handing_in,
    receipt,
    root,
)

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines what crashes")
SLOW = pytest.mark.slow
WITHOUT = str(ROOT / "tests" / "without.py")

# ------------------------------------------------------------------------- a folder of every kind

MIXED = {
    "Jane Doe/my solution.py": FULL,
    "Zoë Šťastná/решение.py": PARTIAL,
    "王伟/my_solution.py": FULL,
    "Sleeper/my_solution.py": HANG,
    "Crasher/my_solution.py": CRASH,
    "Flooder/my_solution.py": FLOOD,
    "Typist/my_solution.py": broken(),
    "Undecided Which/a.py": broken(1),
    "Undecided Which/b.py": broken(2),
    "Writer/essay.docx": "not a program",
    "README.txt": "notes of mine",
}


@SLOW
@LINUX
def test_what_hangs_crashes_or_floods_costs_its_own_row_alone(tmp_path: Path) -> None:
    classes.write(tmp_path / "class of 2026", MIXED)
    (tmp_path / "class of 2026" / "Nobody").mkdir()
    course = course_with(tmp_path / "course", wall_s=6, output_mib=1)
    ran = grade(tmp_path, "class of 2026", "--course", course, "--jobs", "3")
    assert ran.code == 5, ran.said  # one is ambiguous
    found = book(tmp_path)
    ends = {key: (line["verdict"], line["points"]) for key, line in found.items()}
    part = receipt(tmp_path, "Zoë Šťastná")["points"]
    assert 0 < part < 100
    assert ends == {
        "Jane Doe": ("passed", "100"),
        "王伟": ("passed", "100"),
        "Zoë Šťastná": ("failed", str(part)),
        "Sleeper": ("error", "0"),
        "Crasher": ("error", "0"),
        "Flooder": ("error", "0"),
        "Typist": ("error", "0"),
        "Undecided Which": ("", ""),
        "Writer": ("", ""),
        "Nobody": ("", ""),
    }
    kinds = {key: receipt(tmp_path, key)["outcome"]["kind"] for key, end in ends.items() if end[0]}
    assert kinds == {
        "Jane Doe": "finished",
        "王伟": "finished",
        "Zoë Šťastná": "finished",
        "Sleeper": "wall_limit",
        "Crasher": "killed",
        "Flooder": "output_flood",
        "Typist": "syntax_error",
    }
    # One grading for equal bytes, each receipt under its own file's name.
    assert "1 of equal bytes" in ran.stderr
    assert receipt(tmp_path, "Jane Doe")["submission"]["name"] == "my solution.py"
    assert receipt(tmp_path, "王伟")["submission"]["name"] == "my_solution.py"
    notes = json.loads((root(tmp_path) / "summary.json").read_bytes())["notes"]
    assert {"empty", "ambiguous", "ignored"} <= {note["kind"] for note in notes}
    page = (root(tmp_path) / "report.html").read_text(encoding="utf-8")
    for name in ("Jane Doe", "Zoë Šťastná", "王伟"):
        assert name in page


# --------------------------------------------------------------------------------------- once more


def test_a_second_run_reuses_everything_and_says_so(tmp_path: Path) -> None:
    classes.write(tmp_path / "in", {f"p{n}.py": broken(n) for n in range(5)})
    first = grade(tmp_path, "in")
    assert "plain: 5 submissions: 5 to grade" in first.stderr
    before, stamps = files(root(tmp_path)), _stamps(root(tmp_path))
    second = grade(tmp_path, "in")
    assert (second.code, second.stderr) == (
        0, "plain: 5 submissions: 0 to grade, 5 graded before\n",
    )  # fmt: skip
    # Not even the report: it says when this class was graded, not when it was looked up.
    assert files(root(tmp_path)) == before
    assert _stamps(root(tmp_path)) == stamps

    classes.write(tmp_path / "in", {"late.py": broken("late"), "p0.py": broken("again")})
    third = grade(tmp_path, "in", "--quiet")
    assert (third.code, third.stderr) == (0, "")
    assert set(book(tmp_path)) == {"late", *(f"p{n}" for n in range(5))}


def _stamps(folder: Path) -> dict[str, int]:
    return {name: (folder / name).stat().st_mtime_ns for name in files(folder)}


# ------------------------------------------------------------------------------------ without names


@SLOW
def told(word: str, text: str) -> bool:
    # The word "does" tells nobody's name.
    return re.search(rf"{re.escape(word.casefold())}(?!s\b)", text) is not None


def test_no_name_is_in_what_can_be_shown(tmp_path: Path) -> None:
    talks = "print('I am Jane Doe, jane@school.example, learner1')\nraise ValueError('Jane Doe')\n"
    people = classes.CLASS
    texts = [talks, broken("O'Neil Bob"), "explanation = 'by Zoë Šťastná'\n", FULL]
    given = [
        classes.Learner(one.number, one.first, one.last, {f"{one.last}_solution.py": text})
        for one, text in zip(people, texts, strict=True)
    ]
    classes.canvas_zip(tmp_path, given)
    classes.canvas_roster(tmp_path / "roster.csv")
    ran = grade(tmp_path, "submissions.zip", "--roster", "roster.csv", "--anonymize")
    assert ran.code == 0, ran.said
    shown = files(root(tmp_path) / "anonymous")
    assert {"report.html", "gradebook.csv", "summary.json"} < set(shown)
    assert len([name for name in shown if name.endswith(".json")]) == len(people) + 1
    exported = {
        f"{form}/{name}": raw
        for form in ("csv", "json", "junit", "github-classroom")
        for name, raw in export(tmp_path, form, "--anonymize").items()
    }
    words = {w for one in people for w in (one.first, one.last, one.email, one.login)}
    words |= {
        "doejane",
        "oneilbob",
        "šťastnázoë",
        "jane@school.example",
        "S00001",
        "1001_",
        "50010",
    }
    for name, raw in (shown | exported).items():
        text = raw.decode().casefold() + name.casefold()
        assert not {word for word in words if told(word, text)}, name
    # The table that leads back stands outside; a learner may be asked for by the real name.
    table = (root(tmp_path) / "pseudonyms.csv").read_text(encoding="utf-8")
    assert all(one.login in table for one in people)
    made = export(tmp_path, "gradescope", "--anonymize", "--learner", "Doe, Jane")["results.json"]
    assert not {word for word in words if told(word, made.decode().casefold())}


def test_another_learners_name_is_hidden_in_either_order(tmp_path: Path) -> None:
    talks = "raise ValueError('copied from Jane Doe')\n"
    classes.canvas_zip(tmp_path, handing_in(broken(1), talks))
    classes.canvas_roster(tmp_path / "roster.csv")
    grade(tmp_path, "submissions.zip", "--roster", "roster.csv", "--anonymize")
    shown = files(root(tmp_path) / "anonymous")
    assert not [name for name, raw in shown.items() if b"Jane" in raw]


def test_an_override_reaches_the_folder_without_names(tmp_path: Path) -> None:
    classes.write(tmp_path / "in", {"amy.py": broken(1), "bob.py": broken(2)})
    grade(tmp_path, "in", "--anonymize")
    place = root(tmp_path) / "anonymous" / "gradebook.csv"
    before = place.read_text(encoding="utf-8")
    wanted = ("--override", "amy", "momentum", "7", "--why", "told me")
    ran = run("regrade", "results", *wanted, cwd=tmp_path)
    assert ran.code == 0, ran.said
    assert ",7," not in before
    assert ",7," in place.read_text(encoding="utf-8")


# -------------------------------------------------------------------------------------- exit codes


def test_a_class_of_failures_is_a_success_of_the_grader(tmp_path: Path) -> None:
    classes.write(tmp_path / "in", {"amy.py": broken(1), "bob.ipynb": "{}"})
    ran = grade(tmp_path, "in")
    assert ran.code == 0, ran.said
    assert "0 of 2 passed" in ran.stdout


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["empty"], "nothing was handed in at empty"),
        (["in", "--source", "blackboard"], "there is no layout 'blackboard'"),
        (["in", "--json"], "--json is for one file, and this is a class"),
        (["in", "--seed", "00"], "--seed is for one file"),
        (["in", "--roster", "nowhere.csv"], "nowhere.csv"),
        (["torn.zip"], "torn.zip"),
        (["nowhere.zip"], "nowhere.zip"),
        (["in", "--jobs", "0"], "jobs"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_what_cannot_be_a_class_is_a_mistake_of_the_command_line(
    tmp_path: Path, args: list[str], says: str
) -> None:
    classes.write(tmp_path / "in", {"amy.py": broken(1)})
    (tmp_path / "empty").mkdir()
    whole = classes.zipped(tmp_path / "whole.zip", [("amy.py", broken(1))]).read_bytes()
    (tmp_path / "torn.zip").write_bytes(whole[: len(whole) // 2])
    ran = grade(tmp_path, *args)
    assert (ran.code, ran.stdout) == (2, ""), ran.said
    assert says in ran.stderr
    assert "Next: " in ran.stderr
    assert not (root(tmp_path) / "gradebook.csv").exists()


def test_results_that_cannot_be_written_are_a_matter_of_the_machine(tmp_path: Path) -> None:
    classes.write(tmp_path / "in", {"amy.py": broken(1)})
    (tmp_path / "results").write_bytes(b"a file of mine")
    ran = grade(tmp_path, "in")
    assert ran.code == 4, ran.said
    assert "the results cannot be written" in ran.stderr
    assert (tmp_path / "results").read_bytes() == b"a file of mine"


def test_a_damaged_ledger_is_a_matter_of_the_machine_and_is_not_overwritten(
    tmp_path: Path,
) -> None:
    classes.write(tmp_path / "in", {"amy.py": broken(1)})
    place = root(tmp_path) / "ledger.sqlite"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"no ledger\n" * 100)
    for args in (["distributed-03", "in"], ["export", "results", "--to", "csv"],
                 ["inspect", "results", "amy"], ["marks", "results"]):  # fmt: skip
        ran = run(*args, cwd=tmp_path)
        assert ran.code == 4, ran.said
        assert "the ledger cannot be used: file is not a database" in ran.stderr
    assert place.read_bytes() == b"no ledger\n" * 100


@LINUX
def test_a_class_is_never_graded_without_full_confinement_unless_told(tmp_path: Path) -> None:
    classes.write(tmp_path / "in", {"amy.py": "print('it ran')\n"})
    line = [
        sys.executable,
        WITHOUT,
        "landlock=ENOSYS",
        "--",
        *command(EXERCISE, "--no-cache", "in"),
    ]
    codes = []
    for more in ([], ["--require-confinement", "auto"]):
        done = subprocess.run(
            [*line, *more],
            cwd=tmp_path,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        codes.append(done.returncode)
        if not more:
            assert "full confinement is required, and this machine lacks landlock" in done.stderr
            assert not (root(tmp_path) / "gradebook.csv").exists()
    assert codes == [4, 0], done.stderr
