"""What is read may be in another language; what is stored, signed or exported never is."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.cli import language
from tests import messages
from tests.command import EXERCISE, ROOT, SOLUTIONS, Ran, grade, run
from tests.sandbox.test_plainly import REFUSED, STOPS

WRONG = SOLUTIONS / "rejected" / "values--local-mean.py"
GERMAN = messages.LOCALE / "de" / "LC_MESSAGES" / "grade.mo"
FILES = pytest.mark.parametrize("path", messages.languages(), ids=lambda path: path.parts[-3])
IN_STEP = "run: python -m tests.messages"
once = pytest.mark.once


def places(text: str) -> list[str]:
    return sorted(set(re.findall(r"\{\w*\}", text)))


def german() -> language.Catalog:
    found = language.load(GERMAN)
    assert found is not None
    return found


# ------------------------------------------------------------------------------------ the one place


@once
def test_every_message_of_the_source_is_in_the_template_and_no_other() -> None:
    known = {str(one.id) for one in messages.read(messages.TEMPLATE) if one.id}
    said = set(messages.collected())
    assert (said - known, known - said) == (set(), set()), IN_STEP


@once
@pytest.mark.parametrize(
    "text",
    [
        "`{0}` is not defined",
        "{0} and `{1}` are not defined",
        "there is no command or exercise {0}",
        "the module did not end in time{0}",
        "Show the next hint for a check, one at a time.",
        "Where receipts go (receipts), or a class's results (results).",
        "Not passed yet",
        "observed",
        "a TODO is still open: `...` stands where a value belongs",
    ],
)
def test_messages_of_every_kind_are_found(text: str) -> None:
    assert text in messages.collected()


@once
@FILES
def test_a_language_has_the_messages_of_the_template_and_the_same_places(path: Path) -> None:
    locale = path.parts[-3]
    known = {str(one.id) for one in messages.read(messages.TEMPLATE) if one.id}
    mine = messages.read(path, locale)
    assert {str(one.id) for one in mine if one.id} == known, IN_STEP
    assert not mine.obsolete
    wrong = {
        str(one.id): one.string
        for one in mine
        if one.id and one.string and places(str(one.id)) != places(str(one.string))
    }
    assert not wrong
    assert not [one.id for one in mine if one.fuzzy and one.id]


@once
@FILES
def test_what_is_shipped_is_what_was_written(path: Path, tmp_path: Path) -> None:
    # Not byte by byte: the compiler writes its own version into the file.
    (tmp_path / "now.mo").write_bytes(messages.compiled(path))
    shipped, now = language.load(path.with_suffix(".mo")), language.load(tmp_path / "now.mo")
    assert shipped is not None and now is not None
    assert shipped.messages == now.messages, IN_STEP
    assert len(now.messages) > 500


@once
@pytest.mark.parametrize("name", [*STOPS, *REFUSED])
def test_every_error_of_this_field_is_told_in_german(name: str) -> None:
    known = german()
    message, step = (STOPS.get(name) or REFUSED[name])[1:3]
    assert known.said(step) != step
    told = known.said(f"`program` {message}" if name in REFUSED else message)
    assert told != message
    own = re.sub(r"`[^`]*`|'[^']*'|:.*Error.*", "", told)
    assert not re.search(r"\b(the|is|are|which|and the|cannot|while)\b", own), told


# --------------------------------------------------------------------------------- values and words


@once
@pytest.mark.parametrize(
    ("english", "told"),
    [
        ("`a` is not defined", "`a` ist nicht definiert"),
        ("`a`, `b` and `c` are not defined", "`a`, `b` und `c` sind nicht definiert"),
        ("grade: there is no exercise 'x'\n  Next: `grade list` shows the exercises there are",
         "grade: es gibt keine Aufgabe 'x'\n"
         "  Weiter: `grade list` zeigt die Aufgaben, die es gibt"),
        ("the module did not end in time at line 7: 5 seconds were allowed",
         "das Modul wurde nicht rechtzeitig fertig in Zeile 7: erlaubt waren 5 Sekunden"),
        ("`a` is wrong on every device for 5 of 5 inputs, by up to 3 times the largest value",
         "`a` ist falsch auf jedem Gerät bei 5 von 5 Eingaben, Abweichung bis zum 3-fachen des"
         " größten Wertes"),
        ("prediction 4 of 4 as observed, 1 not observed yet",
         "Vorhersage 4 von 4 wie beobachtet, 1 noch nicht beobachtet"),
        ("Tracked separately, no points: prediction made, nothing observed yet; checkpoint answer"
         " right; hints seen 4; no explanation yet",
         "Getrennt festgehalten, ohne Punkte: Vorhersage gemacht, noch nichts beobachtet;"
         " Kontrollfrage richtig beantwortet; gesehene Tipps: 4; noch keine Erklärung"),
        ("The earlier receipt is kept as history/mine.2026-03-01T10-20-30Z.json.",
         "Der frühere Beleg bleibt als history/mine.2026-03-01T10-20-30Z.json."),
        ("5 used: values 3, gather 2", "5 gebraucht: values 3, gather 2"),
        ("  also         predicted, quiz open", "  außerdem     vorhergesagt, Kontrollfrage offen"),
        ("`a` is not a function (it is an ArrayImpl)",
         "`a` ist keine Funktion (sondern: ArrayImpl)"),
        ("`a` and `b` are not a function (each is an ArrayImpl)",
         "`a` und `b` sind keine Funktion (sondern: ArrayImpl)"),
        ("`a` and `b` are each an int, not a number", "`a` und `b` sind int, keine Zahl"),
        ("  Next: grade hint distributed-02 values", "  Weiter: grade hint distributed-02 values"),
        ("  Try it now. The next one: grade hint distributed-02 values",
         "  Versuch es jetzt. Der nächste: grade hint distributed-02 values"),
        ("b: right", "b: richtig"),
        ("- values gained 10 points", "- values gained 10 points"),
        ("88 of 100 points, 3 more than before.", "88 von 100 Punkten, 3 mehr als zuvor."),
        ("  values  3 of 4 left  A title", "  values  noch 3/4     A title"),
        ("an array of JAX cannot be changed in place (TypeError: `x` is not defined)",
         "ein Array von JAX lässt sich nicht an Ort und Stelle ändern"
         " (TypeError: `x` is not defined)"),
    ],
)  # fmt: skip
def test_a_sentence_is_told_with_its_values_as_they_are(english: str, told: str) -> None:
    assert german().said(english) == told


@once
@pytest.mark.parametrize(
    "text",
    [
        "",
        "ValueError: the learner's own words are not ours",
        "KeyError: 'passed'",
        "passed = failed",
        "print('note: try more')",
        "Divide every contribution by the global number of rows, 16, before summing.",
        "    each divides by its own two:      3 and 7       sum 10, twice too much",
        "{0} {1} {",
    ],
)
def test_what_is_not_ours_stays_as_it_is(text: str) -> None:
    assert german().said(text) == text


@once
def test_a_name_in_a_sentence_is_never_translated() -> None:
    told = german().said("`passed` is not defined; there is a `is not defined`")
    assert told == "`passed` ist nicht definiert; es gibt ein `is not defined`"


_OURS = st.sampled_from(
    ["passed", "`", "`a` and `b`", " is not defined", "at line ", "grade: ", "Next: ", "\n", "  "]
    + [": ", ", ", " (", "ValueError: x)", "the module ended itself", " by ", " of ", " points"]
)


@once
@settings(max_examples=60, deadline=None)
@given(st.lists(_OURS | st.text(max_size=8), max_size=40).map("".join))
def test_no_text_is_too_odd_to_be_looked_at(text: str) -> None:
    known = german()
    told = known.said(text)
    assert told.count("\n") == text.count("\n")
    assert len(told) < 8 * len(text) + 200


@once
def test_a_long_text_of_a_stranger_is_passed_on() -> None:
    assert german().said("passed " * 20_000).count(" ") == 20_000
    assert german().said("`a" * 20_000) == "`a" * 20_000


# --------------------------------------------------------------------------- which language it is


@once
@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, ""),
        ({"LANGUAGE": "de"}, "de"),
        ({"LANG": "de_AT.UTF-8"}, "de"),
        ({"LANG": "de_DE@euro"}, "de"),
        ({"LC_ALL": "C.UTF-8", "LANG": "de_DE.UTF-8"}, ""),
        ({"LANGUAGE": "", "LC_ALL": "", "LC_MESSAGES": "de_DE", "LANG": "en_US"}, "de"),
        ({"LANGUAGE": "tlh:de", "LANG": "en_US.UTF-8"}, "de"),
        ({"LANGUAGE": "en_GB:de"}, ""),
        ({"LANG": "POSIX"}, ""),
        ({"LANGUAGE": "tlh"}, ""),
        ({"LANGUAGE": "../../../etc:/tmp:de/../de"}, ""),
    ],
)
def test_the_language_is_that_of_the_environment(environment: dict[str, str], found: str) -> None:
    assert language.asked(environment) == found


@once
@pytest.mark.parametrize("raw", [b"", b"no catalogue", GERMAN.read_bytes()[:5000], b"\0" * 64])
def test_a_damaged_catalogue_leaves_english(raw: bytes, tmp_path: Path) -> None:
    (tmp_path / "grade.mo").write_bytes(raw)
    assert language.load(tmp_path / "grade.mo") is None
    assert language.load(tmp_path / "none.mo") is None


@once
def test_a_damaged_catalogue_ends_no_command(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "grader", tmp_path / "grader", ignore=shutil.ignore_patterns("*.pyc"))
    (tmp_path / "grader" / "locale" / "de" / "LC_MESSAGES" / "grade.mo").write_bytes(b"broken")
    env = {"LANGUAGE": "de", "PYTHONPATH": str(tmp_path), "GRADE_COURSE": str(ROOT)}
    ran = run("nope", cwd=tmp_path, env=env)
    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr.startswith("grade: there is no command or exercise 'nope'\n")


# ------------------------------------------------------------------------------ the real command


@once
def test_a_usage_error_is_told_in_german_with_the_same_code(tmp_path: Path) -> None:
    ran = run("show", "nope-99", cwd=tmp_path, env={"LANGUAGE": "de"})
    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"grade: es gibt keine Aufgabe 'nope-99' ({ROOT})\n  Weiter: ")
    ran = run("hint", cwd=tmp_path, env={"LANGUAGE": "de"})
    assert ran.code == 2
    assert ran.stderr == (
        "grade: es fehlt das Argument EXERCISE\n"
        "  Weiter: `grade hint --help` zeigt, was möglich ist\n"
    )


@once
def test_a_label_as_wide_as_its_column_is_followed_by_a_blank(tmp_path: Path) -> None:
    env = {"LANGUAGE": "de", "COLUMNS": "60", "XDG_STATE_HOME": str(tmp_path)}
    told = run("hint", EXERCISE, "values", cwd=tmp_path, env=env).stdout.splitlines()
    first = next(line for line in told if "Tipp 1 von" in line)
    assert re.match(r"  Tipp 1 von \d \S", first)
    assert max(map(len, told)) <= 75


@once
def test_umlauts_are_spelled_out_where_the_terminal_has_none(tmp_path: Path) -> None:
    env = {"LANGUAGE": "de", "PYTHONIOENCODING": "ascii"}
    ran = run("hint", EXERCISE, "vlues", cwd=tmp_path, env=env)
    assert ran.stderr.startswith(f"grade: {EXERCISE} hat keine Pruefung 'vlues'\n")
    told = run("--help", cwd=tmp_path, env=env).stdout
    assert "ueber verteiltes JAX" in told
    assert "?" not in told


@once
def test_help_is_in_german_and_its_examples_are_as_they_were(tmp_path: Path) -> None:
    ran = run("hint", "--help", cwd=tmp_path, env={"LANGUAGE": "de"})
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.startswith("Aufruf: grade hint [OPTIONS] EXERCISE [CHECK]\n")
    assert f"  Beispiel: grade hint {EXERCISE} values\n" in ran.stdout
    assert "Optionen:\n" in ran.stdout
    assert "Diese Hilfe zeigen." in ran.stdout


@once
def test_a_language_that_is_not_there_leaves_every_byte(tmp_path: Path) -> None:
    for words in (["--help"], ["hint", EXERCISE], ["nope"]):
        plain, other = (run(*words, cwd=tmp_path, env={"LANGUAGE": x}) for x in ("en", "tlh"))
        assert (plain.code, plain.stdout, plain.stderr) == (other.code, other.stdout, other.stderr)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Ran, Path]]:
    """Return the same wrong solution, graded with the same seed in both languages."""
    found = {}
    for name in ("en", "de"):
        folder = tmp_path_factory.mktemp(name)
        file = folder / "mine.py"
        shutil.copy(WRONG, file)
        env = {"LANGUAGE": name, "COLUMNS": "200"}
        found[name] = (grade(file, "--seed", "00ff", cwd=folder, env=env), folder)
    return found


@once
@pytest.mark.slow
def test_a_failed_grade_is_told_in_german(graded: dict[str, tuple[Ran, Path]]) -> None:
    ran, _folder = graded["de"]
    assert ran.code == 1
    for told in (
        "✗ falsch    values            8/24   The three programs give the global gradient",
        "✓ bestanden shard_shapes     12/12",
        "… wartet    momentum",
        "    gesehen  `all_gradient` und `shard_gradient` sind falsch auf jedem Gerät bei 5 von 5",
        "    Fehler   each device divides by its own four rows",
        f"    mehr     grade explain {EXERCISE} local-mean",
        "Noch nicht bestanden: 69 von 100 Punkten",
        "Getrennt festgehalten, ohne Punkte: noch keine Erklärung",
        "Beleg    receipts",
    ):
        assert told in ran.stdout


def _lasting(record: Any) -> Any:
    """Return a receipt without what differs between two grades of one file: times."""
    if isinstance(record, dict):
        times = ("created_at", "wall_s", "cpu_s", "claimed_us", "observed_cpu_us")
        return {key: _lasting(value) for key, value in record.items() if key not in times}
    return [_lasting(one) for one in record] if isinstance(record, list) else record


@once
@pytest.mark.slow
def test_what_is_stored_is_the_same_in_every_language(graded: dict[str, tuple[Ran, Path]]) -> None:
    (english, here), (other, there) = graded["en"], graded["de"]
    assert other.code == english.code
    assert other.graded["evidence_digest"] == english.graded["evidence_digest"]
    assert _lasting(other.graded) == _lasting(english.graded)
    for ending in (".md", ".html"):
        (one,), (two,) = (
            list((x / "receipts" / EXERCISE).glob(f"*{ending}")) for x in (here, there)
        )
        assert _timeless(one) == _timeless(two)


def _timeless(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    # Times, and the file's own digest of the moment, are all that may differ.
    return [re.sub(r"\d+(?:\.\d+)?(?:e[+-]\d+)?", "0", line) for line in text.splitlines()]


@once
@pytest.mark.slow
def test_json_is_english_whatever_the_language(tmp_path: Path) -> None:
    file = tmp_path / "open.py"
    file.write_text("x = 1\n")
    ran = grade(
        file, "--json", "--no-receipt", cwd=tmp_path, env={"LANGUAGE": "de", "COLUMNS": "200"}
    )
    assert ran.code == 1
    record = json.loads(ran.stdout)
    assert record["checks"][0]["message"].endswith("is open: nothing is filled in yet")
    assert "sind offen: noch nichts ist ausgefüllt" in ran.stderr
