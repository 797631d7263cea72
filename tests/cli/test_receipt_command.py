"""`grade receipt` shows a stored receipt again, in every form and for each of its two readers."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader.catalog import course, load
from grader.receipt.read import is_instructors
from grader.receipt.render import Form, render, to_json
from grader.records.instructor import InstructorRecord
from grader.records.receipt import Receipt
from tests.command import EXERCISE, ROOT, environment, run
from tests.receipt import factory

SEED = bytes(range(32))
FORMS: tuple[Form, ...] = ("html", "md", "txt", "json")
TEMPLATES = [ROOT / "templates"]
needs_weasyprint = pytest.mark.skipif(
    importlib.util.find_spec("weasyprint") is None,
    reason="WeasyPrint is not installed: pip install 'shardgrade[pdf]'",
)
pytestmark = pytest.mark.once


def graded(seed: bytes = SEED, **environment: Any) -> Receipt:
    """Return a receipt of the shipped rubric, made with a seed."""
    entry = load.entry(course.Course(ROOT), EXERCISE)
    at = factory.environment().model_copy(
        update={
            "rubric_sha256": entry.digest,
            "seed_sha256": hashlib.sha256(seed).hexdigest(),
            **environment,
        }
    )
    return factory.failed(environment=at)


def record(receipt: Receipt, seed: str = SEED.hex(), **more: Any) -> InstructorRecord:
    """Return the instructor's record that belongs to a receipt."""
    given: dict[str, Any] = {
        "exercise": receipt.exercise,
        "submission": receipt.submission,
        "rubric_sha256": receipt.environment.rubric_sha256,
        "seed": seed,
        "seed_source": "given with --seed",
        "evidence_digest": receipt.evidence_digest,
        "created_at": receipt.created_at,
        **more,
    }
    return InstructorRecord(**given)


def put(
    folder: Path, receipt: Receipt, kept: InstructorRecord | None = None, stem: str = "mine"
) -> str:
    (folder / f"{stem}.json").write_text(to_json(receipt))
    if kept is not None:
        (folder / f"{stem}.instructor.json").write_text(kept.model_dump_json())
    return f"{stem}.json"


# ------------------------------------------------------------------------------ the learner's view


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_rendered_again_from_the_record(tmp_path: Path, form: Form) -> None:
    receipt = graded()
    ran = run("receipt", put(tmp_path, receipt), "--to", form, cwd=tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    shown = render(receipt, form, TEMPLATES)
    if form == "html":
        assert ran.stdout.startswith(shown[: shown.index("</body>")])
    else:
        assert ran.stdout == shown
    assert sorted(one.name for one in tmp_path.iterdir()) == ["mine.json"]


def test_a_page_is_read_back_as_the_record_it_holds(tmp_path: Path) -> None:
    mine = put(tmp_path, graded())
    assert run("receipt", mine, "--to", "html", "--out", "page.html", cwd=tmp_path).code == 0
    again = run("receipt", "page.html", "--to", "json", cwd=tmp_path)
    assert again.stdout == (tmp_path / mine).read_text()


def test_the_record_beside_it_changes_nothing_for_a_learner(tmp_path: Path) -> None:
    receipt = graded()
    alone = run("receipt", put(tmp_path, receipt), "--to", "md", cwd=tmp_path)
    beside = run("receipt", put(tmp_path, receipt, record(receipt)), "--to", "md", cwd=tmp_path)
    assert beside.stdout == alone.stdout
    assert SEED.hex() not in beside.stdout


def test_the_courses_templates_come_first(tmp_path: Path) -> None:
    for name in ("exercises", "rubrics", "templates"):
        (tmp_path / "course" / name).mkdir(parents=True)
    (tmp_path / "course/templates/receipt.txt.j2").write_text("ours: {{ receipt.points }}\n")
    mine = put(tmp_path, graded())
    assert run("receipt", mine, "--course", "course", cwd=tmp_path).stdout == "ours: 84\n"
    assert run("receipt", f"../../{mine}", cwd=tmp_path / "course/rubrics").stdout == "ours: 84\n"


def test_no_course_is_needed_to_read_a_receipt(tmp_path: Path) -> None:
    receipt = graded()
    ran = run("receipt", put(tmp_path, receipt), cwd=tmp_path, env={"GRADE_COURSE": "nowhere"})
    assert (ran.code, ran.stdout) == (0, render(receipt, "txt", TEMPLATES))
    named = run("receipt", "mine.json", "--course", "nowhere", cwd=tmp_path)
    assert named.code == 2
    assert "nowhere is not a course" in named.said


def test_nothing_else_is_overwritten(tmp_path: Path) -> None:
    mine = put(tmp_path, graded())
    (tmp_path / "other.txt").write_text("hours of work\n")
    ran = run("receipt", mine, "--out", "other.txt", cwd=tmp_path)
    assert ran.code == 2
    assert "other.txt exists already and is left as it is Next: name another file" in ran.said
    assert (tmp_path / "other.txt").read_text() == "hours of work\n"
    for _ in range(2):  # the same again is no other file
        ran = run("receipt", mine, "--out", "mine.txt", cwd=tmp_path)
        assert (ran.code, ran.stdout, ran.stderr) == (0, "", "wrote mine.txt\n")
    ran = run("receipt", mine, "--out", "no/such/folder.txt", cwd=tmp_path)
    assert ran.code == 4
    assert "cannot be written: No such file or directory" in ran.said


def test_no_name_of_a_file_acts_on_the_terminal(tmp_path: Path) -> None:
    mine = put(tmp_path, graded())
    for said in ("wrote ", "wrote "):
        ran = run("receipt", mine, "--out", "n\n\x1b[2J.txt", cwd=tmp_path)
        assert (ran.code, ran.stderr) == (0, f"{said}n\u240a\u241b[2J.txt\n")
    (tmp_path / "n\n\x1b[2J.txt").write_text("mine")
    ran = run("receipt", mine, "--out", "n\n\x1b[2J.txt", cwd=tmp_path)
    assert (ran.code, "\x1b" in ran.stderr) == (2, False)


@pytest.mark.parametrize("option", ["--out", "--course"])
def test_an_empty_value_never_passes_for_none(tmp_path: Path, option: str) -> None:
    ran = run("receipt", put(tmp_path, graded()), option, "", cwd=tmp_path)
    assert (ran.code, ran.stdout, ran.stderr) == (
        2,
        "",
        f"grade: {option} is empty, as when a variable of the shell is not set\n"
        f"  Next: give {option} a value, or leave it out\n",
    )


@pytest.mark.parametrize("form", [*FORMS, "pdf"])
def test_what_cannot_be_written_again_is_no_receipt(tmp_path: Path, form: str) -> None:
    fields = json.loads(to_json(graded()))
    fields["checks"][0]["evidence"] = [{"zz": "@"}]
    (tmp_path / "mine.json").write_text(json.dumps(fields).replace('"@"', "1e999"))
    ran = run("receipt", "mine.json", "--to", form, cwd=tmp_path)
    assert (ran.code, ran.stdout) == (2, "")
    assert "mine.json is no receipt: a number in it is too large Next: " in ran.said


def test_what_is_no_receipt_ends_as_a_wrong_command_line(tmp_path: Path) -> None:
    (tmp_path / "cut.json").write_text(to_json(graded())[:500])
    ran = run("receipt", "cut.json", cwd=tmp_path)
    assert (ran.code, ran.stdout) == (2, "")
    assert "cut.json ends in the middle: it was cut" in ran.said
    ran = run("receipt", "none.json", cwd=tmp_path)
    assert (ran.code, ran.stdout) == (2, "")
    assert "there is no file none.json Next: check the name and the folder" in ran.said


def test_help_has_an_example(tmp_path: Path) -> None:
    for name in ("receipt", "reproduce"):
        ran = run(name, "--help", cwd=tmp_path)
        assert ran.code == 0
        assert f"Example: grade {name} " in ran.said


# --------------------------------------------------------------------------- the instructor's view


@pytest.mark.parametrize("form", FORMS)
def test_the_instructor_sees_hidden_inputs_and_expected_values(tmp_path: Path, form: Form) -> None:
    receipt = graded()
    mine = put(tmp_path, receipt, record(receipt))
    ran = run("receipt", mine, "--to", form, "--instructor", cwd=tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    assert SEED.hex() in ran.stdout
    assert "hidden_0" in ran.stdout
    if form == "json":
        added = json.loads(ran.stdout)["instructor"]
        assert [case["case"] for case in added["cases"]] == [f"hidden_{n}" for n in range(4)]


def test_a_record_elsewhere_can_be_named(tmp_path: Path) -> None:
    receipt = graded()
    put(tmp_path, receipt, record(receipt))
    (tmp_path / "mine.instructor.json").rename(tmp_path / "kept.json")
    ran = run("receipt", "mine.json", "--instructor", "kept.json", cwd=tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    assert SEED.hex() in ran.stdout


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"exercise": "distributed-04"}, "exercise"),
        ({"submission": factory.passed().submission.model_copy(update={"sha256": "0" * 64})}, ""),
        ({"rubric_sha256": "0" * 64}, "rubric"),
        ({"seed": "00ff"}, "seed"),
        ({"evidence_digest": "0" * 64}, "evidence digest"),
    ],
)
def test_a_record_of_another_grade_is_refused(
    tmp_path: Path, change: dict[str, Any], what: str
) -> None:
    receipt = graded()
    put(tmp_path, receipt, record(receipt, **change))
    ran = run("receipt", "mine.json", "--instructor", cwd=tmp_path)
    assert (ran.code, ran.stdout) == (2, "")
    wanted = f"belongs to another grade: its {what or 'submission'} is not the receipt's"
    assert f"mine.instructor.json {wanted}" in ran.said
    assert "Next: name the record that was written with this receipt" in ran.said


def test_a_seed_that_is_none_is_refused(tmp_path: Path) -> None:
    receipt = graded()
    put(tmp_path, receipt, record(receipt, seed="seed"))
    ran = run("receipt", "mine.json", "--instructor", cwd=tmp_path)
    assert ran.code == 2
    assert "the seed in mine.instructor.json is not hexadecimal" in ran.said


def test_without_record_and_secret_the_seed_is_not_known(tmp_path: Path) -> None:
    put(tmp_path, graded())
    config = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    ran = run("receipt", "mine.json", "--instructor", cwd=tmp_path, env=config)
    assert (ran.code, ran.stdout) == (2, "")
    assert "there is no record of it beside the receipt, and no course secret" in ran.said
    assert "Next: name the record that `grade … --instructor` wrote" in ran.said


def _secret(folder: Path, key: str) -> dict[str, str]:
    place = folder / "config" / "grade"
    place.mkdir(parents=True)
    (place / "course-secret").write_text(key)
    (place / "course-secret").chmod(0o600)
    return {"XDG_CONFIG_HOME": str(folder / "config")}


def test_the_course_secret_stands_in_for_a_record(tmp_path: Path) -> None:
    from grader import engine

    receipt, key = graded(), b"0123456789abcdef0123456789abcdef"
    at = receipt.environment
    seed = engine.seed_from(key, receipt.submission.sha256, at.rubric_sha256, ())
    put(tmp_path, graded(seed))
    env = _secret(tmp_path, key.decode())
    ran = run("receipt", "mine.json", "--instructor", cwd=tmp_path, env=env)
    assert (ran.code, ran.stderr) == (0, "")
    assert seed.hex() in ran.stdout
    assert "What each device held was not kept" in ran.stdout
    put(tmp_path, graded())
    ran = run("receipt", "mine.json", "--instructor", cwd=tmp_path, env=env)
    assert ran.code == 2
    assert "it does not follow from the course secret of this machine" in ran.said
    with_files = graded().submission.model_copy(update={"siblings": {"data.csv": "0" * 64}})
    put(tmp_path, graded().model_copy(update={"submission": with_files}))
    ran = run("receipt", "mine.json", "--instructor", cwd=tmp_path, env=env)
    assert ran.code == 2
    assert "follows from files beside the submission too" in ran.said


def test_a_rubric_that_changed_hides_what_followed_from_it(tmp_path: Path) -> None:
    receipt = graded(rubric_sha256="7" * 64)
    put(tmp_path, receipt, record(receipt))
    ran = run("receipt", "mine.json", "--instructor", cwd=tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    assert "The rubric has changed since" in ran.stdout
    assert "hidden_0" not in ran.stdout
    (tmp_path / "mine.instructor.json").unlink()
    ran = run("receipt", "mine.json", "--instructor", cwd=tmp_path)
    assert ran.code == 2
    assert "cannot be made again: the rubric has changed since" in ran.said
    assert "--course DIR" in ran.said


@pytest.mark.parametrize("form", FORMS)
def test_the_instructors_view_is_not_written_under_a_learners_name(
    tmp_path: Path, form: Form
) -> None:
    receipt = graded()
    args = ("receipt", put(tmp_path, receipt, record(receipt)), "--instructor", "--to", form)
    ran = run(*args, "--out", f"good.{form}", cwd=tmp_path)
    assert (ran.code, ran.stdout, ran.stderr) == (
        2,
        "",
        f"grade: good.{form} could be taken for the learner's own, and the instructor's view tells "
        f"hidden inputs\n  Next: name it so: --out good.instructor.{form}\n",
    )
    assert not (tmp_path / f"good.{form}").exists()
    assert run(*args, "--out", f"good.instructor.{form}", cwd=tmp_path).code == 0
    assert is_instructors((tmp_path / f"good.instructor.{form}").read_bytes())


# --------------------------------------------------------------------------------------------- PDF


@pytest.mark.slow
@needs_weasyprint
def test_a_pdf_is_the_page_on_paper_and_comes_out_the_same_again(tmp_path: Path) -> None:
    mine = put(tmp_path, graded())
    for name in ("a.pdf", "b.pdf"):
        ran = run("receipt", mine, "--to", "pdf", "--out", name, cwd=tmp_path)
        assert (ran.code, ran.stdout, ran.stderr) == (0, "", f"wrote {name}\n")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF-")
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()


@pytest.mark.slow
@needs_weasyprint
def test_a_pdf_fetches_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        (tmp_path / "secret.txt").write_text("not for a receipt")
        for name in ("exercises", "rubrics", "templates"):
            (tmp_path / "course" / name).mkdir(parents=True)
        (tmp_path / "course/templates/receipt.html.j2").write_text(
            f'<link rel="stylesheet" href="{address}.css"><link rel="attachment" '
            f'href="{(tmp_path / "secret.txt").as_uri()}"><style>@import "{address}";'
            f'p {{ background: url({address}) }}</style><img src="{address}.png"><p>text</body>'
        )
        mine = put(tmp_path, graded())
        args = ("receipt", mine, "--to", "pdf", "--out", "a.pdf", "--course", "course")
        ran = run(*args, cwd=tmp_path)
        assert (ran.code, ran.stderr) == (0, "wrote a.pdf\n")
        with pytest.raises(BlockingIOError):
            server.accept()
    assert b"EmbeddedFile" not in (tmp_path / "a.pdf").read_bytes()


def test_without_weasyprint_the_command_says_what_to_install(tmp_path: Path) -> None:
    put(tmp_path, graded())
    code = (
        "import sys; sys.modules['weasyprint'] = None\n"
        "from grader.cli.main import run\n"
        "sys.exit(run(['receipt', 'mine.json', '--to', 'pdf', '--out', 'a.pdf']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (4, "")
    assert "a PDF needs WeasyPrint, which this Python does not have (weasyprint)" in done.stderr
    assert "Next: pip install 'shardgrade[pdf]', or print the HTML receipt" in done.stderr
    assert not (tmp_path / "a.pdf").exists()


@pytest.mark.skipif(shutil.which("script") is None, reason="needs script(1) for a terminal")
@needs_weasyprint
def test_a_pdf_is_not_sent_to_a_terminal(tmp_path: Path) -> None:
    put(tmp_path, graded())
    grade = f"{sys.executable} -m grader receipt mine.json --to pdf"
    done = subprocess.run(
        ["script", "-qec", grade, "/dev/null"],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "a PDF is nothing for a terminal" in done.stdout
    assert "--out PATH" in done.stdout
