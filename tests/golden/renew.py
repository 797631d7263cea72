"""Writes the golden receipts anew: `python -m tests.golden.renew`, then read `git diff`.

They are made from hand-written records, so they depend on no JAX, no clock and no machine.
"""

from __future__ import annotations

from pathlib import Path

from grader.receipt.render import Form, render
from grader.records.receipt import Receipt
from tests.receipt import factory

HERE = Path(__file__).parent
TEMPLATES = [HERE.parents[1] / "templates"]
FORMS: tuple[Form, ...] = ("json", "html", "md", "txt")
RECEIPTS: dict[str, Receipt] = {
    "accepted": factory.passed(),
    "rejected": factory.failed(),
    "error": factory.error(),
    "undecided": factory.undecided(),
}


def golden(name: str, form: Form) -> Path:
    """Return where a golden receipt is kept."""
    return HERE / f"{name}.{form}"


def stored(exercise: str) -> Path:
    """Return where the record of a right solution of an exercise is kept."""
    return golden(exercise, "json")


def of_exercises() -> dict[str, Receipt]:
    """Return the kept records of graded solutions, by exercise; see `tests.golden.grade`."""
    return {
        path.stem: Receipt.model_validate_json(path.read_text(encoding="utf-8"))
        for path in sorted(HERE.glob("*-[0-9][0-9].json"))
    }


def main() -> None:
    """Write every receipt in every form."""
    for name, receipt in (RECEIPTS | of_exercises()).items():
        for form in FORMS:
            text = render(receipt, form, TEMPLATES)
            golden(name, form).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
