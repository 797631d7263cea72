"""Group work in Canvas reaches every member where a roster tells the groups, and nobody else."""

from __future__ import annotations

from pathlib import Path

from grader.gradebook import sources
from grader.gradebook.sources.groups import _EACH, _UNKNOWN
from grader.gradebook.ungraded import Taken
from grader.records.gradebook import Collected
from tests.gradebook import classes
from tests.gradebook.bulk import book, broken, grade, handing_in
from tests.gradebook.classes import BOB, CLASS, JANE, WANTED, WEI, ZOE, Learner

TEAMS = {1: "Blue", 2: "Blue", 3: "Red", 4: ""}


def roster(folder: Path, teams: dict[int, str] | None = None) -> Path:
    """Return the list of groups as Canvas exports it (People, Groups, Export)."""
    of = TEAMS if teams is None else teams
    rows = ["name,canvas_user_id,user_id,login_id,sections,group_name"]
    rows += [
        f'"{one.name}",{1000 + one.number},S{one.number},{one.login},A,{of[one.number]}'
        for one in CLASS
    ]
    path = folder / "groups.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def collect(folder: Path, *learners: Learner, teams: dict[int, str] | None = None) -> Collected:
    path = classes.canvas_zip(folder, learners)
    return sources.collect([str(path)], wanted=WANTED, roster=roster(folder, teams))


def told(found: Collected) -> list[tuple[str, str, str]]:
    return [(one.kind, one.who, one.text) for one in found.notes]


def test_every_member_gets_what_one_handed_in(tmp_path: Path) -> None:
    found = collect(tmp_path, JANE, ZOE)
    assert [[one.name for one in each.people] for each in found.hand_ins] == [
        [BOB.name, JANE.name], [ZOE.name],
    ]  # fmt: skip
    assert told(found) == [
        ("duplicate", JANE.name, "handed in for the group, as the roster has it: counts for "
         f"{BOB.name} as well"),
        ("missing", WEI.name, "in the roster, no hand-in"),
    ]  # fmt: skip


def test_where_two_of_one_group_handed_in_nobody_gets_anothers(tmp_path: Path) -> None:
    found = collect(tmp_path, JANE, BOB, ZOE, teams={1: "Blue", 2: "Blue", 3: "Red", 4: "Red"})
    assert [len(each.people) for each in found.hand_ins] == [1, 1, 1]
    assert told(found) == [
        ("ignored", "group work", _EACH), ("missing", WEI.name, "in the roster, no hand-in"),
    ]  # fmt: skip


def test_where_nothing_tells_the_groups_that_is_said(tmp_path: Path) -> None:
    found = collect(tmp_path, JANE, teams=dict.fromkeys(TEAMS, ""))
    assert [len(each.people) for each in found.hand_ins] == [1]
    assert ("missing", "group work", _UNKNOWN) in told(found)
    whole = collect(tmp_path, *CLASS, teams=dict.fromkeys(TEAMS, ""))
    assert told(whole) == []


def test_groups_are_of_canvas_alone(tmp_path: Path) -> None:
    path = classes.files_folder(tmp_path / "in", (JANE,))
    found = sources.collect([str(path)], wanted=WANTED, roster=roster(tmp_path))
    assert [[one.name for one in each.people] for each in found.hand_ins] == [[JANE.name]]


def test_two_files_of_a_group_hinder_every_member(tmp_path: Path) -> None:
    torn = Learner(1, "Jane", "Doe", {"a.py": "x = 1", "b.py": "x = 2"})
    found = collect(tmp_path, torn, ZOE)
    assert isinstance(found, Taken)
    assert sorted(found.hindered) == sorted(
        one.key for one in found.people if one.name in (JANE.name, BOB.name)
    )


def test_a_groups_row_is_in_every_members_line(tmp_path: Path) -> None:
    classes.canvas_zip(tmp_path, handing_in(broken(1), learners=(JANE,)))
    ran = grade(tmp_path, "submissions.zip", "--roster", roster(tmp_path))
    assert ran.code == 0, ran.said
    assert f"duplicate: {JANE.name}: handed in for the group" in ran.stderr
    found = {line["name"]: line["verdict"] for line in book(tmp_path).values()}
    assert found == {JANE.name: "error", BOB.name: "error", ZOE.name: "", WEI.name: ""}
