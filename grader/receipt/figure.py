"""The lesson's figure from a submission's own data: what devices store, and what ranks send.

Which programs make up a bar follows from the payload model's rows: `a + b` is both, one after the
other, so it stores what `b` stores and sends what both send.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from math import floor, log10, prod
from urllib.parse import quote

from grader.records.receipt import CompiledRow, Receipt

_STEPS = 4
_HEAD = ["bar", "values_stored_per_device", "model_bytes_per_rank", "compiled_bytes_per_rank"]


@dataclass(frozen=True)
class Bar:
    """One bar in both panels: values per device, and bytes per rank; None where not observed."""

    label: str
    stored: int | None
    model: float
    compiled: float | None


@dataclass(frozen=True)
class Figure:
    """The bars, and where the ticks of both axes stand; the last tick is the end of its axis."""

    bars: list[Bar]
    value_ticks: list[float]
    byte_ticks: list[float]
    csv: str
    csv_url: str


def figure(receipt: Receipt) -> Figure | None:
    """Return the figure's data, None without a payload model."""
    if receipt.payload_model is None or not receipt.payload_model.rows:
        return None
    rows = {row.program: row for row in receipt.compiled_bytes.rows}
    bars = []
    for part in receipt.payload_model.rows:
        found = [rows.get(name) for name in programs(part.program)]
        bars.append(
            Bar(part.program, _stored(found[-1]), part.model_bytes_per_rank, _compiled(found))
        )
    table = _csv(bars)
    return Figure(
        bars,
        ticks([bar.stored for bar in bars]),
        ticks([number for bar in bars for number in (bar.model, bar.compiled)]),
        table,
        f"data:text/csv;charset=utf-8,{quote(table)}",
    )


def programs(label: str) -> list[str]:
    """Return the programs that a row of the payload model is made of, in the order they run."""
    return [name.strip() for name in label.split("+")]


def _stored(row: CompiledRow | None) -> int | None:
    shapes = row.stored_shapes if row else []
    return max((prod(shape) for shape in shapes), default=None)


def _compiled(found: list[CompiledRow | None]) -> float | None:
    total = 0.0
    for row in found:
        if row is None or row.bytes_per_rank is None:
            return None
        total += row.bytes_per_rank
    return total


def ticks(numbers: list[int | None] | list[float | None]) -> list[float]:
    """Return ticks from 0 to the first that no number exceeds, a few round steps apart."""
    largest = max((float(number) for number in numbers if number is not None), default=0.0)
    if largest <= 0:
        return [0.0, 1.0]
    power = 10.0 ** floor(log10(largest / _STEPS))
    step = next(m * power for m in (1, 2, 5, 10) if m * power * _STEPS >= largest)
    # A step below one would part a count in pieces.
    step = max(step, 1.0)
    count = next(n for n in range(1, _STEPS + 1) if n * step >= largest)
    return [n * step for n in range(count + 1)]


def _csv(bars: list[Bar]) -> str:
    out = io.StringIO(newline="")
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(_HEAD)
    for bar in bars:
        cells = [bar.stored, bar.model, bar.compiled]
        lines.writerow([bar.label, *("" if cell is None else f"{cell:g}" for cell in cells)])
    return out.getvalue()
