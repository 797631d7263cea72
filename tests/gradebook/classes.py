"""Made-up classes in the forms in which platforms hand them out, as of March 2026.

Each builder takes what it needs as text, writes to the folder it is given and returns the path to
name on the command line.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

DATE = (2026, 3, 2, 10, 20, 30)
WANTED = "distributed-03"
SOURCE = "value = {number}  # {name}\n"


@dataclass(frozen=True)
class Learner:
    """One made-up learner; every number is derived from `number`, and no two are alike."""

    number: int
    first: str
    last: str
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"

    @property
    def login(self) -> str:
        return f"learner{self.number}"

    @property
    def email(self) -> str:
        return f"{self.login}@school.example"

    @property
    def source(self) -> str:
        return SOURCE.format(number=self.number, name=self.login)

    def handed_in(self, name: str = "my_solution.py") -> Mapping[str, str]:
        return self.files or {name: self.source}


JANE = Learner(1, "Jane", "Doe")
BOB = Learner(2, "Bob", "O'Neil")
ZOE = Learner(3, "Zoë", "Šťastná")
WEI = Learner(4, "伟", "王")
CLASS = (JANE, BOB, ZOE, WEI)


def many(count: int) -> tuple[Learner, ...]:
    """Return a class of any size."""
    return tuple(
        Learner(number, f"First{number}", f"Last{number}") for number in range(1, count + 1)
    )


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder and return the folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    root.mkdir(parents=True, exist_ok=True)
    return root


def zipped(
    path: Path, files: Iterable[tuple[str, str | bytes]], date: tuple[int, ...] = DATE
) -> Path:
    """Write a zip of these members, in this order and all of one date."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as file:
        for name, content in files:
            info = zipfile.ZipInfo(name, date)  # type: ignore[arg-type]
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, content)
    return path


def packed(folder: Path, path: Path) -> Path:
    """Zip a folder with its own name in front, as a desktop does, without `.git`."""
    files = sorted(one for one in folder.rglob("*") if one.is_file() and ".git" not in one.parts)
    return zipped(path, [(str(one.relative_to(folder.parent)), one.read_bytes()) for one in files])


def aged(path: Path, seconds: int) -> Path:
    """Set when a file was changed: that many seconds after the made-up deadline."""
    os.utime(path, (1_772_000_000 + seconds, 1_772_000_000 + seconds))
    return path


# ------------------------------------------------------------------------------------ plain folders


def files_folder(root: Path, learners: Sequence[Learner] = CLASS) -> Path:
    """A file for each learner."""
    return write(root, {f"{one.login}.py": one.source for one in learners})


def folders_folder(root: Path, learners: Sequence[Learner] = CLASS) -> Path:
    """A folder for each learner."""
    return write(
        root,
        {f"{one.login}/{name}": text for one in learners for name, text in one.handed_in().items()},
    )


# ------------------------------------------------------------------------------------------- Canvas


def canvas_name(learner: Learner) -> str:
    """Return the sortable name as Canvas writes it: lower case, word characters only."""
    return "".join(c for c in f"{learner.last}{learner.first}".lower() if c.isalnum())


def canvas_members(learners: Sequence[Learner] = CLASS, late: Iterable[int] = ()) -> dict[str, str]:
    """Return the members of Canvas's zip by name."""
    late = set(late)
    return {
        f"{canvas_name(one)}{'_LATE' if one.number in late else ''}"
        f"_{1000 + one.number}_{50000 + 10 * one.number + position}_{name}": text
        for one in learners
        for position, (name, text) in enumerate(one.handed_in().items())
    }


def canvas_zip(folder: Path, learners: Sequence[Learner] = CLASS, late: Iterable[int] = ()) -> Path:
    """Canvas's zip of submissions."""
    return zipped(folder / "submissions.zip", canvas_members(learners, late).items())


def canvas_anonymous_zip(folder: Path, learners: Sequence[Learner] = CLASS) -> Path:
    """Canvas's zip where grading is anonymous; the second learner is late."""
    members = {}
    for one in learners:
        late = "_LATE" if one.number == 2 else ""
        members[f"anon_aB{one.number}xY{late}_{50000 + one.number}_my_solution.py"] = one.source
    return zipped(folder / "submissions.zip", members.items())


# ------------------------------------------------------------------------------------------- Moodle


def moodle_members(
    learners: Sequence[Learner] = CLASS, form: str = "folder", blind: bool = False
) -> dict[str, str]:
    """Return the members of Moodle's zip by name; `form` is folder, old or flat."""
    between = {"folder": "/", "old": "_/", "flat": "_"}[form]
    return {
        f"{'Participant' if blind else one.name.replace('_', ' ')}_{7000 + one.number}"
        f"_assignsubmission_file{between}{name}": text
        for one in learners
        for name, text in one.handed_in().items()
    }


def moodle_zip(
    folder: Path,
    learners: Sequence[Learner] = CLASS,
    form: str = "folder",
    blind: bool = False,
    more: Mapping[str, str] | None = None,
) -> Path:
    """Moodle's zip of submissions; `more` are members to add."""
    members = {**moodle_members(learners, form, blind), **(more or {})}
    return zipped(folder / "JAX-Assignment 3-991.zip", members.items())


# --------------------------------------------------------------------------------------- Gradescope


def gradescope_record(people: Sequence[Learner], at: str) -> str:
    """Return one record of the metadata, as Ruby writes it."""
    rows = "".join(
        f"  - :name: {one.name}\n    :sid: '{one.number:05}'\n    :email: {one.email}\n"
        for one in people
    )
    return (
        f"  :submitters:\n{rows}  :created_at: {at}\n  :score: 1.0\n  :results:\n    :tests: []\n"
    )


def gradescope_files(
    groups: Sequence[Sequence[Learner]] = tuple((one,) for one in CLASS),
) -> dict[str, str]:
    """Return the files of an export; each group is one submission, later ones are newer."""
    records, files = [], {}
    for position, people in enumerate(groups):
        name = f"submission_{300 + position}"
        at = f"2026-03-02 10:{position:02}:30.123456000 -08:00"
        records.append(f"{name}:\n{gradescope_record(people, at)}")
        files |= {f"{name}/{file}": text for file, text in people[0].handed_in().items()}
    return {"submission_metadata.yml": "---\n" + "".join(records), **files}


def gradescope_folder(
    folder: Path, groups: Sequence[Sequence[Learner]] = tuple((one,) for one in CLASS)
) -> Path:
    """Gradescope's export, unpacked."""
    return write(folder / "assignment_77_export", gradescope_files(groups))


def gradescope_zip(
    folder: Path, groups: Sequence[Sequence[Learner]] = tuple((one,) for one in CLASS)
) -> Path:
    """Gradescope's export as it is downloaded: a folder in a zip."""
    members = {f"assignment_77_export/{k}": v for k, v in gradescope_files(groups).items()}
    return zipped(folder / "submissions.zip", members.items())


# ---------------------------------------------------------------------------------------- Classroom


def classroom_folder(folder: Path, learners: Sequence[Learner] = CLASS) -> Path:
    """The clones that `gh classroom clone student-repos` makes."""
    root = folder / f"{WANTED}-submissions"
    for one in learners:
        write(
            root / f"{WANTED}-gh-{one.login}",
            {
                f"{WANTED}.py": one.source,
                "README.md": "# Exercise\n",
                "tests/test_it.py": "assert True\n",
                ".git/HEAD": "ref: refs/heads/main\n",
                ".git/hooks/sample.py": "raise SystemExit\n",
                ".github/workflows/classroom.yml": "name: grade\n",
            },
        )
    return root


# ------------------------------------------------------------------------------------------ rosters


def canvas_roster(path: Path, learners: Sequence[Learner] = CLASS) -> Path:
    """The head of Canvas's gradebook, with the rows that are no learners."""
    rows = [
        "Student,ID,SIS User ID,SIS Login ID,Section,Assignment 3 (991),Final Score",
        ",,,,,Manual Posting,",
        "    Points Possible,,,,,10.00,(read only)",
        *(
            f'"{one.last}, {one.first}",{1000 + one.number},S{one.number:05},{one.login},A,,'
            for one in learners
        ),
        '"Student, Test",1999,,t3st,A,,',
    ]
    path.write_text("\ufeff" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def moodle_roster(path: Path, learners: Sequence[Learner] = CLASS, team: str = "") -> Path:
    """Moodle's grading worksheet; everybody is in one team where it has a name."""
    head = ["Identifier", "Full name", "Email address", "Status", *(["Group"] if team else [])]
    rows = [",".join([*head, "Grade", "Maximum Grade", "Last modified (grade)"])]
    rows += [
        ",".join(
            [f"Participant {7000 + one.number}", one.name, one.email, "Submitted"]
            + ([team] if team else [])
            + ["", "10.00", "-"]
        )
        for one in learners
    ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def gradescope_roster(path: Path, learners: Sequence[Learner] = CLASS) -> Path:
    """Gradescope's roster, with somebody who teaches."""
    rows = ["First Name,Last Name,SID,Email,Role,Sections"]
    rows += [f"{one.first},{one.last},{one.number:05},{one.email},Student,A" for one in learners]
    rows.append("Ada,Teacher,,ada@school.example,Instructor,")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def classroom_roster(path: Path, learners: Sequence[Learner] = CLASS) -> Path:
    """GitHub Classroom's roster."""
    rows = ["identifier,github_username,github_id,name"]
    rows += [f"{one.email},gh-{one.login},{one.number},{one.name}" for one in learners]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path
