"""How many at a time, in which order and under which hash seed: nothing given out depends on it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from grader.receipt.render import render
from grader.records.receipt import Receipt
from grader.trust.seal import seal
from tests.command import ROOT
from tests.gradebook import classes
from tests.gradebook.bulk import FULL, PARTIAL, broken, export, files, grade, handing_in, root
from tests.gradebook.classes import BOB, JANE, WEI, ZOE
from tests.gradebook.sameness import (
    EXPORTS,
    FORMS,
    VARYING,
    canonical,
    every_export,
    reduced,
    rendered,
)
from tests.receipt import factory

T = TypeVar("T")
# It prints what no two runs have in common, and answers in whatever order a set has.
TALKS = """
import os, time
print('passed 100/100', os.getpid(), time.time_ns())
explanation = ' '.join({'all-reduce', 'reduce-scatter', 'all-gather', 'ring', 'bytes'})
prediction = {name: 8 for name in {'all_gradient', 'shard_gradient', 'gather'}}
"""
STOPS = TALKS + "raise ValueError(sorted({'one', 'two'}))\n"
PLAIN = {f"p{n}.py": broken(n) for n in range(3)} | {"one.py": "x = 1\n", "talks.py": TALKS}
MOODLE = "JAX-Assignment 3-991.zip"


def hand_in(place: Path, draw: random.Random) -> list[str]:
    """Write the class in some order; returns what names it, in some order as well."""

    def shuffled(some: list[T]) -> list[T]:
        return draw.sample(some, len(some))

    canvas = classes.canvas_members(handing_in(FULL, STOPS, learners=(JANE, BOB)), late=[2])
    moodle = classes.moodle_members(handing_in(PARTIAL, broken("wei"), learners=(ZOE, WEI)))
    for name in shuffled(list(PLAIN)):
        classes.write(place / "in", {name: PLAIN[name]})
    classes.zipped(place / "submissions.zip", shuffled(list(canvas.items())))
    classes.zipped(place / MOODLE, shuffled(list(moodle.items())))
    classes.canvas_roster(place / "canvas.csv")
    classes.moodle_roster(place / "moodle.csv")
    return shuffled([*(f"in/{name}" for name in PLAIN), "submissions.zip", MOODLE])


@pytest.mark.slow
def test_jobs_order_and_hash_seed_change_no_byte(tmp_path: Path) -> None:
    places, exports = [], []
    for number, (jobs, seed) in enumerate([("1", "0"), ("4", "1"), ("2", "77")]):
        place = tmp_path / str(number)
        named = hand_in(place, random.Random(number))
        ran = grade(place, *named, "--jobs", jobs, env={"PYTHONHASHSEED": seed})
        assert ran.code == 0, ran.said
        places.append(canonical(root(place)))
        exports.append(every_export(partial(export, place), root(place), "doejane-1001"))
    kinds = [name.rpartition(".")[2] for name in places[0]]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "json": 10, "md": 9, "html": 10, "csv": 1,
    }  # fmt: skip
    assert places[1] == places[0]
    assert places[2] == places[0]
    assert len(exports[0]) == len(EXPORTS) + 1
    for form in ("canvas-feedback", "moodle-feedback"):
        assert len(exports[0][f"{form}: {form}.zip"]) == 2
    assert exports[1] == exports[0]
    assert exports[2] == exports[0]


# ------------------------------------------------------------------------ what is taken away for it


def varied(receipt: Receipt) -> Receipt:
    """Return a receipt of another run: four fields differ, and no other."""
    timings = receipt.observed_cpu_us
    rows = [
        row.model_copy(update={"median_us": 7.25, "samples_us": [7.25] * 3}) for row in timings.rows
    ]
    return receipt.model_copy(
        update={
            "created_at": "2031-01-02T03:04:05Z",
            "wall_s": 98.7654,
            "observed_cpu_us": timings.model_copy(update={"rows": rows}),
            "output": receipt.output.model_copy(
                update={"text": "<b>`other`</b> '\x1b\n", "total_bytes": 20, "cut": True}
            ),
        }
    )


def without_varying(receipt: Receipt, form: Any) -> str:
    return rendered(
        receipt.model_dump(mode="json"), form, render(receipt, form, [ROOT / "templates"])
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("make", [factory.passed, factory.failed, factory.error, factory.undecided])
def test_receipts_that_differ_in_what_varies_alone_are_the_same(
    make: Callable[[], Receipt], form: str
) -> None:
    one, other = make(), varied(make())
    assert without_varying(one, form) == without_varying(other, form)
    assert "98.77" not in without_varying(other, form)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "change", [{"points": 1}, {"evidence_digest": "0" * 64}, {"blame": "grader"}], ids=str
)
def test_any_other_difference_is_seen(form: str, change: dict[str, Any]) -> None:
    one = factory.failed()
    other = varied(one).model_copy(update=change)
    assert without_varying(one, form) != without_varying(other, form)
    assert reduced(one.model_dump()) != reduced(other.model_dump())


@pytest.mark.parametrize("form", FORMS)
def test_a_piece_that_is_not_there_is_no_sameness(form: str) -> None:
    one = factory.passed()
    text = render(one, form, [ROOT / "templates"])  # type: ignore[arg-type]
    for name in VARYING:
        # Its text is not that of the record, in one field.
        other = varied(one).model_copy(
            update={key: getattr(one, key) for key in VARYING if key != name}
        )
        with pytest.raises(AssertionError):
            rendered(other.model_dump(mode="json"), form, text)


def test_a_class_of_which_one_byte_differs_is_not_the_same(tmp_path: Path) -> None:
    receipt = factory.failed()
    made = {form: render(receipt, form, [ROOT / "templates"]) for form in ("md", "html", "json")}  # type: ignore[arg-type]
    for form, text in seal(made).items():
        classes.write(tmp_path, {f"receipts/amy/amy.{form}": text})
    same = canonical(tmp_path)
    assert len(same) == len(files(tmp_path)) == 3
    assert json.loads(same["receipts/amy/amy.json"]) == reduced(receipt.model_dump(mode="json"))
    for form in FORMS:
        place = tmp_path / "receipts" / "amy" / f"amy.{form}"
        before = place.read_bytes()
        place.write_bytes(before.replace(b"values", b"value5", 1))
        assert canonical(tmp_path) != same
        place.write_bytes(before)
    assert canonical(tmp_path) == same
