"""Finds the columns of a Moodle grading worksheet, whose header is in the site's language.

The words that are known are looked for first; then the shape of the sheet tells; then the options.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from grader.errors import UsageProblem
from grader.gradebook.exports.parts.cells import Sheet
from grader.gradebook.exports.parts.figures import parsed
from grader.gradebook.exports.parts.sheets import candidates
from grader.receipt.escape import visible_line

# English, German, French, Spanish, Italian, Portuguese, Dutch, Russian.
_WORDS: Mapping[str, frozenset[str]] = {
    "id": frozenset(
        {"identifier", "id", "identifiant", "identificador", "identificativo", "идентификатор"}
    ),
    "grade": frozenset(
        {"grade", "bewertung", "note", "calificación", "valutazione", "voto", "nota", "avaliação",
         "beoordeling", "cijfer", "оценка"}
    ),
    "maximum": frozenset(
        {"maximum grade", "bestwertung", "note maximale", "calificación máxima",
         "valutazione massima", "voto massimo", "nota máxima", "avaliação máxima",
         "maximumcijfer", "максимальная оценка"}
    ),
    "scale": frozenset({"scale", "skala", "barème", "escala", "scala", "schaal", "шкала"}),
    "locked": frozenset(
        {"grade can be changed", "bewertung kann geändert werden", "la note peut être modifiée",
         "la calificación puede ser cambiada", "la calificación puede cambiarse",
         "la valutazione può essere cambiata"}
    ),
    "comment": frozenset(
        {"feedback comments", "feedback als kommentar", "feedback par commentaires",
         "comentarios de retroalimentación"}
    ),
    "name": frozenset(
        {"full name", "vollständiger name", "nom complet", "nombre completo", "nome completo",
         "volledige naam", "полное имя"}
    ),
    "email": frozenset(
        {"email address", "e-mail-adresse", "adresse de courriel", "dirección de correo",
         "indirizzo email", "endereço de e-mail", "e-mailadres", "адрес электронной почты"}
    ),
    "number": frozenset({"id number", "id-nummer", "numéro d’identification", "número de id"}),
}  # fmt: skip
_NO = frozenset({"no", "nein", "non", "não", "nee", "нет", "nej", "nei", "nie", "ne", "ei", "否"})
_NUMBERED = re.compile(r".*\d+")


@dataclass(frozen=True)
class Columns:
    """Places of columns; None where the worksheet has no such column."""

    id: int
    grade: int
    maximum: int | None
    comment: int | None
    locked: int | None
    name: int | None
    email: int | None
    number: int | None
    remarks: tuple[str, ...]


def is_locked(cell: str) -> bool:
    """Return whether a cell of “Grade can be changed” says no."""
    return cell.strip().casefold() in _NO


def find_columns(sheet: Sheet, name: str, asked: Mapping[str, str]) -> Columns:
    """Return where a worksheet has what; `asked` holds titles by `Options.columns`' keys.

    Raises: UsageProblem when there is no id or no grade column, or the grades are a scale's words.
    """
    titles = [cell.text.strip("\ufeff ") for cell in sheet.rows[0]] if sheet.rows[0] else []
    found = {kind: _by_word(titles, words) for kind, words in _WORDS.items()}
    remarks: list[str] = []
    for kind, title in asked.items():
        if title:
            found[kind] = _asked(titles, kind, title)
    if found["id"] is None and _ids(sheet, 0):
        found["id"] = 0
    if found["id"] is None or not _ids(sheet, found["id"]):
        raise UsageProblem(
            f"{name} is no Moodle grading worksheet: no column holds “Participant” and a number",
            next_step="in Moodle choose “Download grading worksheet”, or give --id-column",
        )
    if found["scale"] is not None and found["maximum"] is None:
        raise UsageProblem(
            f"{name}: the assignment is graded by a scale, not by points",
            next_step="set its grade type to Point in Moodle and download the worksheet again",
        )
    _by_shape(sheet, titles, found, remarks)
    grade = found["grade"]
    if grade is None:
        raise UsageProblem(
            f"{name}: which column holds the grade?",
            next_step=f"give --grade-column; there are: {candidates(titles)}",
        )
    if found["comment"] is None:
        remarks.append("No column for feedback comments was found: only grades are filled in.")
    places = {
        kind: found[kind] for kind in ("maximum", "comment", "locked", "name", "email", "number")
    }
    return Columns(found["id"], grade, remarks=tuple(remarks), **places)


def _by_word(titles: list[str], words: frozenset[str]) -> int | None:
    fits = [index for index, title in enumerate(titles) if title.casefold() in words]
    return fits[0] if len(fits) == 1 else None


def _asked(titles: list[str], kind: str, title: str) -> int:
    fits = [index for index, one in enumerate(titles) if one == title]
    if len(fits) != 1:
        said = "is not there" if not fits else f"is there {len(fits)} times"
        raise UsageProblem(
            f"The {kind} column {title!r} {said}", next_step=f"there are: {candidates(titles)}"
        )
    return fits[0]


def _ids(sheet: Sheet, column: int) -> bool:
    cells = [
        sheet.cell(row, column).strip() for row in range(1, len(sheet.rows)) if sheet.rows[row]
    ]
    return all(_NUMBERED.fullmatch(cell) for cell in cells)


def _by_shape(
    sheet: Sheet, titles: list[str], found: dict[str, int | None], remarks: list[str]
) -> None:
    """Find grade and maximum in a language without words here: one number, the same in all rows.

    The maximum stands right after the grade, whatever the language.
    """
    if found["maximum"] is None and found["grade"] is None:
        same = [c for c in range(2, len(titles)) if _one_number(sheet, c)]
        if len(same) == 1 and _grades(sheet, same[0] - 1):
            found["maximum"], found["grade"] = same[0], same[0] - 1
            told = [visible_line(titles[same[0] - 1]), visible_line(titles[same[0]])]
            remarks.append(f"Taken for the grade and its maximum: “{told[0]}” and “{told[1]}”.")
    elif found["grade"] is None and found["maximum"] is not None:
        found["grade"] = found["maximum"] - 1
    elif found["maximum"] is None and found["grade"] is not None:
        after = found["grade"] + 1
        found["maximum"] = after if after < len(titles) and _one_number(sheet, after) else None


def _one_number(sheet: Sheet, column: int) -> bool:
    cells = {
        parsed(sheet.cell(row, column)) for row in range(1, len(sheet.rows)) if sheet.rows[row]
    }
    return len(cells) == 1 and None not in cells


def _grades(sheet: Sheet, column: int) -> bool:
    cells = [
        sheet.cell(row, column).strip() for row in range(1, len(sheet.rows)) if sheet.rows[row]
    ]
    return all(cell in ("", "-") or parsed(cell) is not None for cell in cells)
