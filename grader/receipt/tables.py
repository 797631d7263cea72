"""The receipt's own tables as rows of text, header first, for the forms without markup."""

from __future__ import annotations

from grader.receipt.figure import Figure
from grader.receipt.placed import Group, Held
from grader.receipt.view import collectives, glyph, number, prediction, word
from grader.records.finding import Finding
from grader.records.receipt import CompiledRow, Receipt

Rows = list[list[str]]


def check_rows(receipt: Receipt) -> Rows:
    """Return one row for each check, and the total."""
    rows = [["", "Result", "Check", "Points", "Asks"]]
    for check in receipt.checks:
        points = f"{check.points} / {check.max_points}"
        rows.append([glyph(check.status), word(check.status), check.id, points, check.title])
    return [*rows, ["", "", "total", f"{receipt.points} / {receipt.max_points}", ""]]


def item_rows(finding: Finding) -> Rows:
    """Return one row for each item of a check, with what was observed."""
    rows = [["Item", "Result", "Points", "Source", "Observed"]]
    for part in finding.items:
        points = f"{part.points} / {part.max_points}"
        rows.append([part.id, word(part.status), points, part.source, part.message])
    return rows if any(row[-1] for row in rows[1:]) else [row[:-1] for row in rows]


def device_rows(group: Group) -> Rows:
    """Return what each device stores, one row for each device of each program."""
    rows = [["Program", "Device", "Shape", "Part", "Unit", "Values", "Found"]]
    for drawing in group.drawings:
        for one in drawing.devices:
            place = [drawing.program, str(one.id), one.shape, one.part]
            rows.append([*place, drawing.unit, _values(one), one.wrong])
        if not drawing.devices:
            rows.append([drawing.program, "not observed", "", "", "", "", ""])
    kept = [at for at in range(7) if at < 3 or any(row[at] for row in rows[1:])]
    return [[row[at] for at in kept] for row in rows]


def _values(one: Held) -> str:
    known = [cell for cell in one.cells if cell is not None]
    more = f", and {one.left_out} more" if one.left_out and known else ""
    if known and known != ["•"] * len(known):
        return f"{', '.join(known)}{more}"
    return f"{one.values} value{'' if one.values == 1 else 's'}"


def figure_rows(figure: Figure) -> Rows:
    """Return the figure's data as text."""
    head = ["Bar", "Values stored per device", "Idealised payload, bytes per rank"]
    rows = [[*head, "Compiled, bytes per rank"]]
    for bar in figure.bars:
        rows.append([bar.label, *map(number, (bar.stored, bar.model, bar.compiled))])
    return rows


def payload_rows(receipt: Receipt) -> Rows:
    """Return the idealised model's figures."""
    rows = [["Program", "Values stored per device", "Payload, bytes per rank"]]
    parts = receipt.payload_model.rows if receipt.payload_model else []
    for row in parts:
        rows.append([row.program, str(row.values_per_device), number(row.model_bytes_per_rank)])
    return rows


def collective_rows(row: CompiledRow) -> Rows:
    """Return a program's collectives, the requested ones before the compiled ones."""
    head = ["Found in", "Operation", "Operand", "Operand bytes", "Group", "Times run"]
    rows = [[*head, "Bytes per rank"]]
    for found, part in collectives(row):
        chosen = ", chosen by the compiler" if part.by_compiler else ""
        figures = (part.operand_bytes, part.group_size, part.trip_count, part.bytes_per_rank)
        rows.append([f"{found}{chosen}", part.op, part.operand, *map(number, figures)])
    return rows


def timing_rows(receipt: Receipt) -> Rows:
    """Return the observed timings."""
    rows = [["Program", "Median, µs", "Completed calls after a warm-up, µs"]]
    for row in receipt.observed_cpu_us.rows:
        samples = ", ".join(map(number, row.samples_us))
        rows.append([row.program, number(row.median_us), samples])
    return rows


def prediction_rows(receipt: Receipt) -> Rows:
    """Return what was predicted beside what was observed."""
    rows = [["Program", "Predicted", "Observed", "Agrees"]]
    for row in prediction(receipt.separate) or []:
        predicted = "no whole number" if row.predicted is None else number(row.predicted)
        observed = "not yet" if row.observed is None else number(row.observed)
        agrees = "not compared" if row.agrees is None else number(row.agrees)
        rows.append([row.program, predicted, observed, agrees])
    return rows
