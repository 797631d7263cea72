"""A grade can be made again by whoever has its seed, and a difference is told with its reasons."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader.cli import reproduce
from grader.receipt import differences
from grader.receipt.render import Form, render, to_json
from grader.records.receipt import Receipt
from tests.command import EXERCISE, ROOT, SOLUTIONS, Ran, command, environment, grade, run
from tests.receipt import factory

WITHOUT = ROOT / "tests" / "without.py"
WRONG = SOLUTIONS / "rejected" / "values--factor-two-missing.py"
MINE = "receipts/distributed-03/mine.json"
RECORD = "receipts/distributed-03/mine.instructor.json"


def again(*args: str, cwd: Path, env: dict[str, str] | None = None) -> Ran:
    # The machine that runs the tests may lack a layer of confinement.
    return run("reproduce", *args, "--require-confinement", "auto", cwd=cwd, env=env)


def tree(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a wrong submission, its receipt and the instructor's record."""
    folder = tmp_path_factory.mktemp("graded")
    shutil.copy(WRONG, folder / "mine.py")
    ran = grade("mine.py", "--instructor", "--seed", "5eed", cwd=folder)
    assert (ran.code, ran.graded["verdict"]) == (1, "failed")
    return folder


@pytest.fixture
def folder(graded: Path, tmp_path: Path) -> Path:
    shutil.copytree(graded, tmp_path / "work")
    return tmp_path / "work"


# ---------------------------------------------------------------------------------- the two views


def _decimals(text: str) -> set[str]:
    return set(re.findall(r"-?\d+\.\d+(?:e[-+]?\d+)?", text))


def test_what_is_hidden_in_a_real_grade_is_in_the_instructors_view_alone(folder: Path) -> None:
    ran = run("receipt", MINE, "--instructor", "--to", "json", cwd=folder)
    assert (ran.code, ran.stderr) == (0, "")
    added = json.loads(ran.stdout)["instructor"]
    assert added["seed"] == "5eed"
    programs = [one for case in added["cases"] for one in case["programs"]]
    assert len(programs) == 12
    arrays = [given["data"] for one in programs for given in one["inputs"]]
    arrays += [one["expected"] for one in programs]
    arrays += [held["data"] for one in programs for held in one["seen"]["held"]]
    hidden = {f"{x:.{digits}g}" for a in arrays for x in a["values"] for digits in (5, 6, 9, 17)}
    wanted = {number for number in hidden if len(re.sub(r"e.*|\W|^0+", "", number)) >= 5}
    assert len(wanted) > 2000
    receipt = Receipt.model_validate_json((folder / MINE).read_text())
    timings = receipt.observed_cpu_us.model_copy(update={"rows": []})
    untimed = receipt.model_copy(update={"observed_cpu_us": timings, "wall_s": 0.0})
    forms: tuple[Form, ...] = ("html", "md", "txt", "json")
    for form in forms:
        shown = render(untimed, form, [ROOT / "templates"])
        assert not _decimals(shown) & wanted
        assert "5eed" not in shown
    # The program is wrong by a factor of two there, and each device is shown with that.
    told = run("receipt", MINE, "--instructor", cwd=folder).stdout
    assert len(re.findall(r"^    [0-3] +\[0:8\] .* 0\.5$", told, re.MULTILINE)) == 16


# ------------------------------------------------------------------------------------- made again


def test_the_same_grade_comes_out_and_nothing_is_written(folder: Path) -> None:
    before = tree(folder)
    ran = again(MINE, "--submission", "mine.py", cwd=folder)
    assert (ran.code, ran.stderr) == (0, "")
    receipt = json.loads((folder / MINE).read_text())
    assert ran.stdout.splitlines() == [
        "same: mine.py of distributed-03 comes to the same evidence again",
        f"  failed, {receipt['points']} of 100 points",
        f"  evidence digest {receipt['evidence_digest']}",
        "  not confirmed: who handed it in, dates, timings, program output, notes, environment, "
        "what predict, quiz and hint remembered, and the last digits of stored values",
    ]
    assert tree(folder) == before


def test_the_record_may_lie_elsewhere_and_the_page_stand_for_the_receipt(folder: Path) -> None:
    (folder / RECORD).rename(folder / "kept.json")
    page = MINE.replace(".json", ".html")
    made = run("receipt", MINE, "--to", "html", "--out", "page.html", cwd=folder)
    assert made.code == 0
    shutil.move(folder / "page.html", folder / page)
    (folder / "mine.py").rename(folder / "doe_4711_mine.py")
    args = ("--submission", "doe_4711_mine.py", "--instructor-record", "kept.json")
    ran = again(page, *args, cwd=folder)
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.startswith("same: mine.py of distributed-03")


def test_a_changed_rubric_is_told_with_what_it_changed(folder: Path) -> None:
    for name in ("exercises", "rubrics", "templates"):
        shutil.copytree(ROOT / name, folder / "course" / name)
    rubric = folder / "course" / "rubrics" / EXERCISE / "rubric.toml"
    text = rubric.read_text(encoding="utf-8")
    looser = text.replace('"all_gradient", points = 4', '"all_gradient", points = 3', 1)
    looser = looser.replace('"gather", points = 4', '"gather", points = 5', 1)
    assert looser != text
    rubric.write_text(looser, encoding="utf-8")
    ran = again(MINE, "--submission", "mine.py", "--course", "course", cwd=folder)
    assert (ran.code, ran.stderr) == (1, "")
    assert ran.stdout.startswith("differs: mine.py of distributed-03 does not come to the same")
    assert re.search(r"graded with something else\n  rubric  \w{16}… -> \w{16}…\n", ran.stdout)
    assert "came to something else" in ran.stdout
    assert re.search(r"shard_shapes, gather +passed, 4 of 4 -> passed, 5 of 5\n", ran.stdout)
    assert ran.stdout.endswith("Next: name the course as it was then with --course DIR\n")


def test_the_course_secret_stands_in_for_a_record(tmp_path: Path) -> None:
    place = tmp_path / "config" / "grade" / "course-secret"
    place.parent.mkdir(parents=True)
    place.write_text("0123456789abcdef0123456789abcdef\n")
    place.chmod(0o600)
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    shutil.copy(WRONG, tmp_path / "mine.py")
    assert grade("mine.py", cwd=tmp_path, env=env).code == 1
    assert not (tmp_path / RECORD).exists()
    ran = again(MINE, "--submission", "mine.py", cwd=tmp_path, env=env)
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.startswith("same: ")
    place.write_text("another secret of the same length\n")
    other = again(MINE, "--submission", "mine.py", cwd=tmp_path, env=env)
    assert (other.code, other.stdout) == (2, "")
    assert "it does not follow from the course secret of this machine" in other.said


@pytest.mark.skipif(sys.platform != "linux", reason="seccomp filters need Linux")
def test_without_full_confinement_nothing_is_run_unless_it_is_asked_for(folder: Path) -> None:
    args = ("reproduce", MINE, "--submission", "mine.py")
    done = subprocess.run(
        [sys.executable, str(WITHOUT), "landlock=ENOSYS", "--", *command(*args)],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (4, "")
    assert "nothing was run: full confinement is required" in done.stderr


# ---------------------------------------------------------------------------------------- refused


def test_another_submission_is_refused(folder: Path) -> None:
    with (folder / "mine.py").open("a") as file:
        file.write("# one more line\n")
    ran = again(MINE, "--submission", "mine.py", cwd=folder)
    assert (ran.code, ran.stdout) == (2, "")
    assert re.search(
        r"mine\.py is not the file that this receipt is about: its SHA-256 is \w{16}…, the "
        r"receipt's \w{16}… Next: name the mine\.py that was handed in",
        ran.said,
    )


def test_a_receipt_whose_submission_has_an_impossible_name_is_refused(folder: Path) -> None:
    receipt = json.loads((folder / MINE).read_text())
    receipt["submission"]["name"] = "x" * 5000
    (folder / MINE).write_text(json.dumps(receipt))
    ran = again(MINE, "--submission", "mine.py", cwd=folder)
    assert (ran.code, ran.stdout) == (2, "")
    assert "calls its submission by a name of 5000 bytes, and a file's has at most 255" in ran.said
    assert "Next: ask for the receipt again where it was made" in ran.said


def test_a_record_of_another_grade_is_refused(folder: Path) -> None:
    kept = json.loads((folder / RECORD).read_text())
    (folder / RECORD).write_text(json.dumps({**kept, "seed": "00ff"}))
    ran = again(MINE, "--submission", "mine.py", cwd=folder)
    assert (ran.code, ran.stdout) == (2, "")
    assert "mine.instructor.json belongs to another grade: its seed is not the" in ran.said


def test_without_record_and_secret_nothing_is_run(folder: Path) -> None:
    (folder / RECORD).unlink()
    config = {"XDG_CONFIG_HOME": str(folder / "none")}
    ran = again(MINE, "--submission", "mine.py", cwd=folder, env=config)
    assert (ran.code, ran.stdout) == (2, "")
    assert "the seed of this grade is not known" in ran.said
    named = ("--instructor-record", "nowhere.json")
    ran = again(MINE, "--submission", "mine.py", *named, cwd=folder, env=config)
    assert (ran.code, ran.stdout) == (2, "")
    assert "there is no file nowhere.json" in ran.said


def test_a_submission_has_to_be_named(folder: Path) -> None:
    ran = again(MINE, cwd=folder)
    assert (ran.code, ran.stdout) == (2, "")
    assert "no submission was named Next: name the file that was graded" in ran.said


@pytest.mark.parametrize(
    ("was", "beside", "told"),
    [
        ({"data.csv": "0" * 64}, {"data.csv": "1,2"}, "data.csv has changed"),
        ({"data.csv": "0" * 64}, {}, "data.csv is missing"),
        ({}, {"data.csv": "1,2"}, "data.csv was not there then"),
    ],
)
def test_files_beside_it_have_to_be_those_of_the_receipt(
    folder: Path, was: dict[str, str], beside: dict[str, str], told: str
) -> None:
    for name in ("exercises", "rubrics", "templates"):
        shutil.copytree(ROOT / name, folder / "course" / name)
    toml = folder / "course" / "exercises" / EXERCISE / "exercise.toml"
    listed = 'siblings = ["data.csv"]\n' + toml.read_text(encoding="utf-8")
    toml.write_text(listed, encoding="utf-8")
    receipt = json.loads((folder / MINE).read_text())
    receipt["submission"]["siblings"] = was
    (folder / MINE).write_text(json.dumps(receipt))
    for name, text in beside.items():
        (folder / name).write_text(text)
    ran = again(MINE, "--submission", "mine.py", "--course", "course", cwd=folder)
    assert (ran.code, ran.stdout) == (2, "")
    assert f"the files beside the submission are not those of the receipt: {told}" in ran.said
    assert "Next: put the submission into a folder with the files" in ran.said


# ---------------------------------------------------------------------------------------- compared


def whole(receipt: Receipt, **environment: Any) -> Receipt:
    """Return a receipt whose digest is that of what it says."""
    at = receipt.environment.model_copy(update=environment)
    receipt = receipt.model_copy(update={"environment": at})
    return receipt.model_copy(update={"evidence_digest": differences.recomputed(receipt)})


def test_other_versions_are_told_and_are_no_difference_by_themselves(
    capsys: pytest.CaptureFixture[str],
) -> None:
    was, now = whole(factory.passed()), whole(factory.passed(), jax="0.12.0", python="3.13.1")
    assert reproduce.compare(was, now) == 0
    said = capsys.readouterr().out
    assert said.startswith("same: ")
    assert "although graded with something else\n  Python  3.11.9 -> 3.13.1\n" in said
    assert "  jax     0.10.2 -> 0.12.0\n" in said


def test_other_results_under_other_versions_say_which_to_install(
    capsys: pytest.CaptureFixture[str],
) -> None:
    was, now = whole(factory.passed()), whole(factory.failed(), jax="0.12.0")
    assert reproduce.compare(was, now) == 1
    said = capsys.readouterr().out
    assert f"  evidence digest of the receipt {was.evidence_digest}\n" in said
    assert f"  evidence digest now            {now.evidence_digest}\n" in said
    assert "  verdict " in said and "passed -> failed\n" in said
    assert said.endswith(
        "Next: install the versions of the receipt, which --print-requirements prints\n"
    )


def test_undecided_now_is_neither_same_nor_different(capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce.compare(whole(factory.passed()), whole(factory.undecided())) == 5
    said = capsys.readouterr().out
    assert said.splitlines() == [
        "undecided now: my_solution.py could not be graded again",
        "  The clean room stopped before it had replayed all_gradient.",
        "  Next: run it again when this machine is less busy",
    ]


def test_a_receipt_that_was_changed_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    now = whole(factory.failed())
    was = now.model_copy(update={"points": 100, "verdict": "passed"})
    assert reproduce.compare(was, now) == 1
    said = capsys.readouterr().out
    assert "the receipt was changed after it was made: its digest is not that of what" in said
    assert "passed -> failed" in said


def test_a_status_outside_the_digest_is_compared_too(capsys: pytest.CaptureFixture[str]) -> None:
    now = whole(factory.failed())
    checks = [one.model_copy(update={"status": "passed"}) for one in now.checks]
    assert reproduce.compare(now.model_copy(update={"checks": checks}), now) == 1
    assert re.search(r"collectives  passed, .* -> failed, ", capsys.readouterr().out)


ALTERED: list[tuple[tuple[Any, ...], Any]] = [
    (("exercise_title",), "Another lesson"),
    (("separate", "checkpoint", "correct"), None),
    (("separate", "checkpoint", "because"), "x"),
    (("separate", "prediction", 0, "predicted"), 77),
    (("separate", "explanation"), "I knew"),
    (("checks", 0, "title"), "x"),
    (("checks", 0, "message"), "x"),
    (("checks", 0, "hint"), "x"),
    (("checks", 0, "evidence"), []),
    (("compiled_bytes", "rows", 0, "note"), "x"),
    (("compiled_bytes", "rows", 0, "compiled", 0, "operand_bytes"), 1),
    (("compiled_bytes", "rows", 0, "compiled", 0, "bytes_per_rank"), 1.0),
    (("payload_model", "rows", 0, "model_bytes_per_rank"), 48.001),
    (("source_lines", 0, "text"), "x"),
    (("submission", "size_bytes"), 1),
    (("outcome", "message"), "x"),
]


def _with(receipt: Receipt, path: tuple[Any, ...], value: Any) -> Receipt:
    """Return a receipt with one field changed; None turns a yes or no around."""
    facts = receipt.model_dump(mode="json")
    place: Any = facts
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = not place[path[-1]] if value is None else value
    return Receipt.model_validate_json(json.dumps(facts))


@pytest.mark.parametrize(
    ("path", "value"), ALTERED, ids=[".".join(map(str, path)) for path, _ in ALTERED]
)
@pytest.mark.parametrize("grader", [None, "0.0.9"])
def test_a_receipt_that_says_more_than_comes_out_is_told(
    capsys: pytest.CaptureFixture[str], path: tuple[Any, ...], value: Any, grader: str | None
) -> None:
    now = whole(factory.failed())
    was = _with(now, path, value)
    if grader:
        was = _with(was, ("environment", "grader"), grader)
    assert reproduce.compare(was, now) == 1
    said = capsys.readouterr().out
    assert said.startswith("differs: ")
    before, more = said.split("the receipt says more than this confirms\n")
    assert str(path[-1] if isinstance(path[-1], str) else path[-2]) in more
    unchecked = "its own digest could not be checked: it says that grade 0.0.9 made it, and this is"
    assert (unchecked in before) is bool(grader)


def test_stored_values_are_the_same_but_for_their_last_digits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = whole(factory.failed())
    rows = now.model_dump(mode="json")["compiled_bytes"]["rows"]
    at = next(number for number, row in enumerate(rows) if row["stored_values"])
    path = ("compiled_bytes", "rows", at, "stored_values", 0, "devices", 0, "values", 0)
    value = rows[at]["stored_values"][0]["devices"][0]["values"][0]
    now = _with(now, path, float(value))
    assert reproduce.compare(_with(now, path, value + 1e-7), now) == 0
    assert reproduce.compare(_with(now, path, value + 0.5), now) == 1
    assert "stored_values" in capsys.readouterr().out


def test_what_no_grade_knows_is_told_as_not_confirmed(capsys: pytest.CaptureFixture[str]) -> None:
    now = whole(factory.passed())
    was = _with(now, ("learner",), {"name": "Mallory", "id": "", "email": ""})
    was = _with(was, ("created_at",), "1999-01-01T00:00:00Z")
    assert reproduce.compare(was, now) == 0
    said = capsys.readouterr().out
    assert "  not confirmed: who handed it in, dates, timings, program output, notes" in said


def test_an_address_in_a_message_is_no_difference(capsys: pytest.CaptureFixture[str]) -> None:
    was, now = (
        _with(whole(factory.error()), ("outcome", "message"), f"<object at 0x7f{digit}>")
        for digit in "ab"
    )
    assert reproduce.compare(was, now) == 0
    assert capsys.readouterr().out.startswith("same: ")


def test_nothing_in_a_receipt_acts_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    was = whole(factory.passed(), platform="\x1b[2J\nsame: all is well")
    assert reproduce.compare(was, whole(factory.failed())) == 1
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "\nsame: " not in said


# ------------------------------------------------------------------------------------ requirements


def put(folder: Path, receipt: Receipt) -> str:
    (folder / "mine.json").write_text(to_json(receipt))
    return "mine.json"


@pytest.mark.once
def test_requirements_are_the_exact_versions(tmp_path: Path) -> None:
    ran = again(put(tmp_path, factory.passed()), "--print-requirements", cwd=tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [
        "# grade 0.1.0, Python 3.11.9",
        "jax==0.10.2",
        "jaxlib==0.10.2",
        "numpy==2.4.1",
        "flatbuffers==25.12.19",
        "jinja2==3.1.6",
        "pydantic==2.14.4",
    ]


@pytest.mark.once
@pytest.mark.parametrize(
    "more",
    [
        {"packages": {"x\n--index-url http://evil.example\ny": "1.0"}},
        {"packages": {"-e": "1.0"}},
        {"packages": {"six": "1.0\n--pre"}},
        {"packages": {"six": "1.0 @ file:///tmp/x"}},
        {"python": "3.11\nevil"},
        {"jax": "--pre"},
    ],
)
def test_nothing_but_names_and_versions_is_printed(tmp_path: Path, more: dict[str, Any]) -> None:
    mine = put(tmp_path, whole(factory.passed(), **more))
    ran = again(mine, "--print-requirements", cwd=tmp_path)
    assert (ran.code, ran.stdout) == (2, "")
    assert "this receipt names a version that is none" in ran.said


@pytest.mark.once
def test_a_receipt_without_versions_has_no_requirements(tmp_path: Path) -> None:
    nothing: dict[str, Any] = {"python": "", "jax": "", "jaxlib": "", "numpy": "", "packages": {}}
    mine = put(tmp_path, whole(factory.error(), **nothing))
    ran = again(mine, "--print-requirements", cwd=tmp_path)
    assert (ran.code, ran.stdout) == (2, "")
    assert "this receipt names no versions: the submission never ran" in ran.said
