"""Moodle: grade and comment are filled, in the words of any site, and nothing else moves.

The worksheets have the form that mod/assign/gradingtable.php writes (2026).
"""

from __future__ import annotations

import io
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from grader.errors import UsageProblem
from grader.gradebook import exports
from grader.gradebook.exports import Export, Options
from grader.records.gradebook import Gradebook, Person
from tests.gradebook.factory import ADA, BLAISE, MARY, only, row, small
from tests.receipt import factory

DATE = '"Sunday, 1 March 2026, 9:00 AM"'
SHEET = (
    'Identifier,"Full name","Email address",Status,Grade,"Maximum grade","Grade can be changed",'
    '"Last modified (submission)","Last modified (grade)","Feedback comments"\n'
    f'"Participant 501","Ada Lovelace",ada@example.org,"Submitted",,100.00,Yes,{DATE},-,\n'
    f'"Participant 502","Blaise Pascal",b@example.org,"Submitted - late",12.00,100.00,Yes,{DATE},'
    f'{DATE},"Well done, ""B""."\n'
    f'"Participant 505","Mary Cartwright",mary@example.org,"No submission",,100.00,Yes,-,-,\n'
    f'"Participant 999","Nora Nobody",n@example.org,"Submitted",,100.00,Yes,{DATE},-,\n'
)
GERMAN = (
    '\ufeffID;"Vollständiger Name";E-Mail-Adresse;Status;Bewertung;Bestwertung;'
    '"Bewertung kann geändert werden";"Zuletzt geändert (Abgabe)";"Zuletzt geändert (Bewertung)";'
    '"Feedback als Kommentar"\r\n'
    'Teilnehmer/in501;"Ada Lovelace";ada@example.org;"Zur Bewertung abgegeben";;10,00;Ja;-;-;\r\n'
    'Teilnehmer/in502;"Blaise Pascal";b@example.org;"Zur Bewertung abgegeben";;10,00;Nein;-;-;\r\n'
)


def fill(tmp_path: Path, text: str = SHEET, book: Gradebook | None = None, **more: Any) -> Export:
    place = tmp_path / "Grades-JAX-Lab-7.csv"
    place.write_bytes(text.encode())
    return exports.export("moodle", book or small(), Options(place, **more))


def test_grade_and_comment_are_filled_and_nothing_else(tmp_path: Path) -> None:
    ((name, data),) = fill(tmp_path).files
    assert name == "Grades-JAX-Lab-7.csv"
    assert data.decode() == (
        SHEET
        .replace('"Submitted",,100.00,Yes,' + DATE + ",-,\n", '"Submitted",100.00,100.00,Yes,'
                 + DATE + ",-,100 of 100 points. Passed.\n", 1)
        .replace(",12.00,", ",90.00,")
    )  # fmt: skip


def test_a_comment_of_somebody_else_is_kept_unless_told(tmp_path: Path) -> None:
    made = fill(tmp_path)
    assert "Not filled, the comment is somebody's own and was kept: Blaise Pascal." in made.remarks
    assert b'"Well done, ""B""."' in made.files[0][1]
    data = fill(tmp_path, replace_comments=True).files[0][1]
    assert b"Well done" not in data
    assert b'"90 of 100 points. Not passed yet. ' in data


def test_our_own_comment_is_renewed(tmp_path: Path) -> None:
    text = SHEET.replace('"Well done, ""B""."', '"12.5 of 100 points. Not passed yet."')
    assert b'"90 of 100 points. Not passed yet. ' in fill(tmp_path, text).files[0][1]


def test_a_comment_is_no_markup(tmp_path: Path) -> None:
    said = "<img src=x> & `code`"
    finding = factory.finding("values", [factory.item("values", 0, "failed")], status="failed",
                              message=said)  # fmt: skip
    receipt = factory.failed(checks=[finding])
    after = fill(tmp_path, book=only(row(ADA, receipt))).changes[-1].after
    assert "&lt;img src=x&gt; &amp; code" in after


def test_remarks_tell_what_moodle_skips_in_silence(tmp_path: Path) -> None:
    text = SHEET.replace("100.00,Yes", "100.00,No", 1).replace(",12.00,", ",90,")
    made = fill(tmp_path, text)
    said = "\n".join(made.remarks)
    assert "Not filled, the grade cannot be changed: Ada Lovelace." in said
    assert "Not filled, the grade is unchanged, so Moodle will skip it: Blaise Pascal." in said
    assert "changed on the site after this sheet was downloaded" in said
    assert made.files[0][1].decode() == text


def test_a_grade_out_of_range_is_not_filled(tmp_path: Path) -> None:
    made = fill(tmp_path, book=only(row(ADA, factory.passed())), scale_to=Decimal(200))
    assert "Not filled, out of range, so Moodle would skip it: Ada Lovelace." in made.remarks
    assert "--scale-to is 200, but the worksheet has 100 points." in made.remarks
    assert made.files[0][1].decode() == SHEET


def test_everybody_without_a_partner_is_named(tmp_path: Path) -> None:
    said = "\n".join(fill(tmp_path).remarks)
    assert "In the Moodle sheet but not in the gradebook: Nora Nobody." in said
    assert "left as they were: Mary Cartwright (mary), Zora Neale (zora)." in said
    assert "Graded, but not found in the Moodle sheet: Chen, Wei 陳 (chen)" in said


def test_german_words_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    made = fill(tmp_path, GERMAN, only(row(ADA, factory.failed()), row(BLAISE, factory.passed())))
    assert made.changes[0].column == "Bewertung"
    assert made.changes[0].after == "8,40"
    assert "Not filled, the grade cannot be changed: Blaise Pascal." in made.remarks
    head = GERMAN.encode().split(b"Ada")[0]
    assert made.files[0][1].startswith(head)
    assert "8.4 of 10 points." in made.changes[1].after


@pytest.mark.parametrize(
    "header",
    [
        "Identifiant,Nom complet,Note,Note maximale,Feedback par commentaires",
        "Identificador,Nombre completo,Calificación,Calificación máxima,"
        "Comentarios de retroalimentación",
        "Идентификатор,Полное имя,Оценка,Максимальная оценка,Отзыв",
        "識別碼,全名,成績,最高成績,評語",
    ],
)
def test_other_languages_are_read_by_their_words_or_by_the_sheets_shape(
    tmp_path: Path, header: str
) -> None:
    text = f"{header}\nParticipant501,Ada Lovelace,,50.00,\nParticipant502,B,1.00,50.00,\n"
    made = fill(tmp_path, text, only(row(ADA, factory.passed())))
    assert b"Participant501,Ada Lovelace,50.00,50.00," in made.files[0][1]


def test_columns_can_be_named(tmp_path: Path) -> None:
    text = "Nr,Wer,Zahl,Text\nT501,Ada Lovelace,,\nT777,B,x,\n"
    with pytest.raises(UsageProblem, match=r'--grade-column; there are: "Nr", "Wer", "Zahl"'):
        fill(tmp_path, text)
    asked = {"grade": "Zahl", "comment": "Text"}
    made = fill(tmp_path, text, only(row(ADA, factory.passed())), columns=asked)
    assert b"T501,Ada Lovelace,100.00,100 of 100 points. Passed.\n" in made.files[0][1]
    with pytest.raises(UsageProblem, match="'Zahlen' is not there"):
        fill(tmp_path, text, columns={"grade": "Zahlen"})


def test_a_scale_is_no_grade_in_points(tmp_path: Path) -> None:
    text = 'ID,Status,Bewertung,Skala\nTeilnehmer/in501,-,,"nicht bestanden    bestanden"\n'
    with pytest.raises(UsageProblem, match="graded by a scale"):
        fill(tmp_path, text)


@pytest.mark.parametrize("text", ["a,b\nx,y\n", "Identifier,Grade\nAda,1\n"])
def test_what_is_no_worksheet_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageProblem, match="no Moodle grading worksheet"):
        fill(tmp_path, text)


def test_a_learner_without_a_number_is_found_by_address_or_name(tmp_path: Path) -> None:
    for person in (Person("x", "", "ADA@example.org"), Person("x", "ada lovelace")):
        assert fill(tmp_path, book=only(row(person, factory.passed()))).changes


# Feedback.


def feedback(book: Gradebook) -> tuple[dict[str, bytes], tuple[str, ...]]:
    options = Options(receipt_bytes=lambda row, form: row.person.key.encode())
    made = exports.export("moodle-feedback", book, options)
    with zipfile.ZipFile(io.BytesIO(made.files[0][1])) as archive:
        return {name: archive.read(name) for name in archive.namelist()}, made.remarks


def moodle_reads(path: str) -> tuple[str, str, str, str] | None:
    """Return participant, plugin type, plugin and file as importziplib.php splits a path."""
    parts = path.split("/")
    while parts:
        info = parts.pop(0).split("_", 4)
        if len(info) >= 4 and info[1].isdigit():
            rest = "/".join([info[4] if len(info) > 4 else "", *parts])
            return info[1], info[2], info[3], rest.lstrip("/")
    return None


PLACE = "Ada Lovelace_501_assignsubmission_file"


@pytest.mark.parametrize(
    ("shown", "want"),
    [
        (f"{PLACE}/a.py", f"{PLACE}/"),
        (f"{PLACE}_/a.py", f"{PLACE}_/"),
        (f"x.zip/{PLACE}/deep/a.py", f"{PLACE}/"),
        (f"{PLACE}_a.py", f"{PLACE}_"),
        ("elsewhere.py", f"{PLACE}/"),
        ("Team 4_12_assignsubmission_file/a.py", f"{PLACE}/"),
    ],
)
def test_receipts_lie_in_the_folders_of_the_download(shown: str, want: str) -> None:
    members, _ = feedback(only(row(ADA, factory.passed(), shown=shown, ids={})))
    assert members == {f"{want}receipt-distributed-03.html": b"ada"}
    (name,) = members
    assert moodle_reads(name) == (
        "501", "assignsubmission", "file", "receipt-distributed-03.html"
    )  # fmt: skip


def test_the_folder_that_was_noted_is_kept() -> None:
    folder = "Participant_501_assignsubmission_file"
    members, _ = feedback(only(row(ADA, factory.passed(), ids={"moodle_folder": folder})))
    assert list(members) == [f"{folder}/receipt-distributed-03.html"]


def test_a_name_with_underscores_or_slashes_still_splits() -> None:
    person = Person("x", "a_b/c: d", "", {"moodle_participant": "7"})
    (name,), _ = feedback(only(row(person, factory.passed(), shown="x.py")))
    assert name == "a b c d_7_assignsubmission_file/receipt-distributed-03.html"


def test_who_has_no_folder_is_told_and_so_is_a_second_upload() -> None:
    members, remarks = feedback(small())
    assert len(members) == 2
    assert any("Without a folder of Moodle's" in one for one in remarks)
    assert any("replaces a receipt of the same name" in one for one in remarks)
    assert MARY.key not in "".join(members)
