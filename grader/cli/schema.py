"""`grade schema RECORD`: the JSON Schema of a stored record, or of a file of a course."""

from __future__ import annotations

import json
from typing import Any

import click

_RECORDS = ("receipt", "instructor")
_FILES = ("exercise", "rubric", "mistakes", "questions")


@click.command("schema")
@click.argument("record", type=click.Choice([*_RECORDS, *_FILES]), metavar="RECORD")
def command(record: str) -> None:
    """Print the JSON Schema of RECORD, made from the record itself.

    RECORD is receipt or instructor, or a file of a course: exercise, rubric, mistakes or questions.

    Example: grade schema receipt
    """
    click.echo(json.dumps(_schema(record), indent=2, ensure_ascii=False, sort_keys=False))


def _schema(record: str) -> dict[str, Any]:
    if record in _FILES:
        from grader.described import file_schema

        return file_schema(record)
    from grader.records.instructor import InstructorRecord
    from grader.records.receipt import Receipt

    model = Receipt if record == "receipt" else InstructorRecord
    return model.model_json_schema()
