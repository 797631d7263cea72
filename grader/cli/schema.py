"""`grade schema receipt`: the JSON Schema of a stored record."""

from __future__ import annotations

import json

import click


@click.command("schema")
@click.argument("record", type=click.Choice(["receipt", "instructor"]), metavar="RECORD")
def command(record: str) -> None:
    """Print the JSON Schema of RECORD, made from the record itself.

    Example: grade schema receipt
    """
    from pydantic import BaseModel

    from grader.records.instructor import InstructorRecord
    from grader.records.receipt import Receipt

    models: dict[str, type[BaseModel]] = {"receipt": Receipt, "instructor": InstructorRecord}
    schema = models[record].model_json_schema()
    click.echo(json.dumps(schema, indent=2, ensure_ascii=False, sort_keys=False))
