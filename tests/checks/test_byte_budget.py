from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grader.errors import ContentProblem
from grader.records.evidence import Claim, Program
from grader.records.finding import Item
from grader.records.observation import Collective
from tests.checks.factory import (
    COLLECTIVES,
    GATHER,
    ORACLE,
    PERMUTE,
    PROGRAMS,
    PSUM,
    SCALAR,
    SCATTER,
    budget,
    case,
    judge,
    number,
    observed,
    on_devices,
    on_host,
    part,
    written,
)

FIGURES = {"ring_all_bytes": 48, "ring_scatter_bytes": 24}
RANKS = (2, 4, 8)
COLUMNS = ("all_reduce_bytes", "scatter_gather_bytes", "shard_storage_bytes")


def shown(item: str, *claims: Claim, **more: Any) -> Item:
    return part(judge("byte_budget", case(claims=claims, **more)), item)


def table(rows: Any, type_name: str = "list") -> Claim:
    return written("budget", "list", type_name, rows)


def sent(program: str, *compiled: Collective, **more: Any) -> Item:
    """Return the item of one program that runs these collectives."""
    seen = observed(program, compiled=compiled, **more)
    return shown(f"compiled_{program}", programs={program: seen})


def test_right_numbers_and_programs_pass() -> None:
    finding = judge("byte_budget", case())
    assert (finding.status, finding.points) == ("passed", 13)
    sources = {item.id: item.source for item in finding.items}
    assert sources["ring_all_bytes"] == sources["rows_2"] == "claimed"
    assert sources["compiled_gather"] == "replayed"


# ------------------------------------------------------------------------------------------ figures


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("kind", [int, float, np.asarray, "one element", "devices", "list"])
def test_a_figure_is_compared_as_a_number(name: str, kind: Any) -> None:
    value = FIGURES[name]
    claims: dict[Any, Claim] = {
        np.asarray: on_host(name, np.int32(value)),
        "one element": on_host(name, [float(value)]),
        "devices": on_devices(name, np.float32(value).reshape(())),
        "list": written(name, "list", "list", [value]),
    }
    claim = claims.get(kind) or number(name, kind(value))
    item = shown(name, claim)
    assert (item.status, item.points, item.mistake) == ("passed", 2, None)
    assert item.message == f"`{name}` is {value} bytes per rank"


PREDICTED = sorted(
    (name, mistake)
    for name, entries in ORACLE.figures().items()
    for mistake in entries
    if mistake != "right"
)


@pytest.mark.parametrize(("name", "mistake"), PREDICTED)
def test_a_figure_that_a_mistake_predicts_names_it(name: str, mistake: str) -> None:
    item = shown(name, number(name, ORACLE.figures()[name][mistake]))
    assert (item.status, item.points, item.mistake) == ("failed", 0, mistake)
    assert item.line == 3


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("value", [0, -48, 47.999, 1e300, 10**60])
def test_another_figure_is_told_and_names_no_mistake(name: str, value: Any) -> None:
    item = shown(name, number(name, value))
    assert (item.status, item.mistake) == ("failed", None)
    assert item.message.endswith("which is not what the ring model gives")


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (number("ring_all_bytes", True), "`ring_all_bytes` is a bool, not a number"),
        (written("ring_all_bytes", "text", "str", "48"), "`ring_all_bytes` is a str, not a number"),
        (written("ring_all_bytes", "none", "NoneType"), "`ring_all_bytes` is still empty, not a"),
        (written("ring_all_bytes", "other", "ellipsis"), "`ring_all_bytes` is still empty, not a"),
        (on_host("ring_all_bytes", [48, 48]), "`ring_all_bytes` is an ndarray, not a number"),
        (on_host("ring_all_bytes", np.nan), "`ring_all_bytes` is an ndarray, not a number"),
        (number("ring_all_bytes", float("inf")), "`ring_all_bytes` is a float, not a number"),
        (written("ring_all_bytes", "mapping", "dict", {}), "`ring_all_bytes` is a dict, not a"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.kind,
)
def test_what_is_no_figure_is_told(claim: Claim, message: str) -> None:
    item = shown("ring_all_bytes", claim)
    assert (item.status, item.mistake) == ("failed", None)
    assert item.message.startswith(message)


@pytest.mark.parametrize("name", [*FIGURES, "budget"])
def test_a_missing_number_costs_its_own_points_alone(name: str) -> None:
    finding = judge("byte_budget", case(without=[name]))
    spoilt = {item.id for item in finding.items if item.status != "passed"}
    assert spoilt == ({"rows_2", "rows_4", "rows_8"} if name == "budget" else {name})
    assert all(i.message == f"`{name}` is not defined" for i in finding.items if i.id in spoilt)


# --------------------------------------------------------------------------------------------- rows


@pytest.mark.parametrize("change", [reversed, list], ids=["turned round", "as asked"])
def test_rows_may_come_in_any_order_with_more_keys_and_more_rows(change: Any) -> None:
    rows = [{**row, "note": "mine"} for row in budget()] + [{"ranks": 16}, {"other": 1}, {}]
    finding = judge("byte_budget", case(claims=[table(list(change(rows)))]))
    assert finding.status == "passed"


def test_numbers_of_a_row_are_compared_as_numbers() -> None:
    rows = [{k: float(v) for k, v in row.items()} for row in budget()]
    assert judge("byte_budget", case(claims=[table(rows)])).status == "passed"
    almost = [{k: v * (1 + 1e-12) for k, v in row.items()} for row in budget()]
    for row in almost:
        row["ranks"] = round(row["ranks"])
    assert judge("byte_budget", case(claims=[table(almost)])).status == "passed"


TABLES = sorted(m for m in ORACLE.rows() if m != "right")


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("mistake", TABLES)
def test_a_row_that_a_mistake_predicts_names_it(mistake: str, ranks: int) -> None:
    rows = [dict(row) for row in ORACLE.rows()[mistake].values()]
    item = shown(f"rows_{ranks}", table(rows))
    assert (item.status, item.points, item.mistake) == ("failed", 0, mistake)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("column", COLUMNS)
def test_one_wrong_number_spoils_its_own_row_alone(column: str, ranks: int) -> None:
    rows = budget(**{column: lambda p: 7 if p == ranks else budget()[RANKS.index(p)][column]})
    finding = judge("byte_budget", case(claims=[table(rows)]))
    assert [item.id for item in finding.items if item.status != "passed"] == [f"rows_{ranks}"]
    item = part(finding, f"rows_{ranks}")
    assert item.mistake is None
    assert item.message == f"the row for {ranks} ranks: {column} = 7 does not follow from the model"


def test_a_mistake_in_one_column_is_named_where_no_mistake_explains_them_all() -> None:
    storage = table(budget(shard_storage_bytes=lambda _p: 2**20))
    assert shown("rows_4", storage).mistake == "storage-not-divided"
    cycle = table(budget(scatter_gather_bytes=lambda p: (p - 1) / p * 2**20))
    assert shown("rows_4", cycle).mistake == "gather-not-counted"
    both = table(
        budget(
            shard_storage_bytes=lambda _p: 2**20,
            scatter_gather_bytes=lambda p: (p - 1) / p * 2**20,
        )
    )
    assert shown("rows_4", both).mistake is None


@pytest.mark.parametrize("column", COLUMNS)
def test_a_missing_column_is_told_by_name(column: str) -> None:
    rows = [{k: v for k, v in row.items() if k != column} for row in budget()]
    item = shown("rows_2", table(rows))
    assert item.message == f"the row for 2 ranks lacks `{column}`"


@pytest.mark.parametrize("value", [None, "48", True, [1], {"a": 1}, 10**400, float("nan")], ids=str)
def test_a_number_of_a_row_that_is_none_is_no_pass(value: Any) -> None:
    item = shown("rows_2", table(budget(all_reduce_bytes=lambda _p: value)))
    assert (item.status, item.mistake) == ("failed", None)
    assert "all_reduce_bytes = no number" in item.message


@pytest.mark.parametrize(
    ("rows", "count"),
    [(budget()[1:], 0), (budget() + budget()[:1], 2), ([], 0), ([{"ranks": True}], 0)],
    ids=["missing", "twice", "none", "a truth value"],
)
def test_there_is_exactly_one_row_for_each_number_of_ranks(rows: Any, count: int) -> None:
    item = shown("rows_2", table(rows))
    assert item.message == f"`budget` has {count} rows for 2 ranks, not one"
    assert item.status == "failed"


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (
            written("budget", "mapping", "dict", {"2": {}}),
            "`budget` is a dict, and not a list of mappings",
        ),
        (table([1, 2, 3]), "`budget` is a list, and not a list of mappings"),
        (table([{"ranks": 2}, None]), "`budget` is a list, and not a list of mappings"),
        (
            written("budget", "none", "NoneType"),
            "`budget` is still empty, and not a list of mappings",
        ),
        (on_host("budget", np.zeros((3, 4))), "`budget` is an ndarray, and not a list of mappings"),
        (
            written("budget", "other", "list", reason="it could not be read: too many"),
            "`budget` is a list, and not a list of mappings (it could not be read: too many)",
        ),
        (
            written("budget", "list", "list", "forged"),
            "`budget` is a list, and not a list of mappings",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else value.kind,
)
def test_what_is_no_table_is_told(claim: Claim, message: str) -> None:
    for ranks in RANKS:
        item = shown(f"rows_{ranks}", claim)
        assert (item.status, item.message, item.mistake) == ("failed", message, None)


# ----------------------------------------------------------------------------------------- compiled


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_bytes_of_a_compiled_program_are_evidence(program: str) -> None:
    rows = judge("byte_budget", case()).evidence
    (row,) = [row for row in rows if row["program"] == program]
    assert row["bytes_per_rank"] == COLLECTIVES[program].bytes_per_rank
    assert row["chosen_by_compiler"] is False


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_scalar_on_the_side_is_told_and_forgiven(program: str) -> None:
    item = sent(program, COLLECTIVES[program], SCALAR)
    assert item.status == "passed"
    assert item.message.endswith("a scalar on the side included")


@pytest.mark.parametrize(
    ("program", "compiled"),
    [
        ("all_gradient", (SCATTER, GATHER)),
        ("shard_gradient", (PERMUTE,) * 3),
        ("gather", (replace(PERMUTE, trip_count=3, bytes_per_rank=24.0),)),
    ],
    ids=["two halves", "a ring", "a ring in a loop"],
)
def test_the_same_bytes_by_other_means_pass(program: str, compiled: tuple[Collective, ...]) -> None:
    assert sent(program, *compiled).status == "passed"


WHOLE = Collective("all-gather", "f32[4,8]", 128, 4, 1, 384.0, by_compiler=True)


@pytest.mark.parametrize(
    ("program", "compiled", "told", "mistake"),
    [
        ("all_gradient", (), "0 bytes per rank, less than its part: nothing is exchanged", None),
        ("gather", (), "0 bytes per rank, less than its part: nothing is exchanged", None),
        ("all_gradient", (SCATTER,), "24 bytes per rank, less than its part", None),
        ("shard_gradient", (PSUM,), "48 bytes per rank, more than its part", None),
        ("all_gradient", (PSUM, PSUM), "96 bytes per rank, more than its part", None),
        ("all_gradient", (PSUM, *[SCALAR] * 3), "66 bytes per rank, more than its part", None),
        ("all_gradient", (WHOLE,), "384 bytes per rank, more", "replicated-inputs"),
        ("shard_gradient", (SCATTER, WHOLE), "408 bytes per rank, more", "replicated-inputs"),
    ],
    ids=lambda value: "" if isinstance(value, tuple) else str(value)[:20],
)
def test_bytes_outside_floor_and_ceiling_fail(
    program: str, compiled: tuple[Collective, ...], told: str, mistake: str | None
) -> None:
    item = sent(program, *compiled)
    assert (item.status, item.points, item.mistake) == ("failed", 0, mistake)
    assert told in item.message
    assert item.line == 10 + PROGRAMS.index(program)


def test_an_asked_for_gather_is_not_blamed_on_the_compiler() -> None:
    asked_for = replace(WHOLE, by_compiler=False)
    assert sent("all_gradient", asked_for).mistake is None


@pytest.mark.parametrize("program", PROGRAMS)
def test_64_bit_values_are_named(program: str) -> None:
    one = COLLECTIVES[program]
    assert one.bytes_per_rank is not None
    wide = replace(
        one, operand=one.operand.replace("f32", "f64"), bytes_per_rank=2 * one.bytes_per_rank
    )
    item = sent(program, wide, element_types=("f32", "f64"))
    assert (item.status, item.mistake) == ("failed", "double-precision")


def test_a_number_of_trips_that_is_not_static_is_unknown_and_no_pass() -> None:
    item = sent("all_gradient", replace(PSUM, trip_count=None, bytes_per_rank=None))
    assert (item.status, item.points) == ("failed", 0)
    assert "bytes unknown" in item.message


def test_a_spelling_that_is_not_known_is_undecided() -> None:
    item = sent("all_gradient", compiled_unknown="replica groups spelled ?")
    assert (item.status, item.points) == ("undecided", 0)
    assert item.message == "`all_gradient`: bytes unknown (replica groups spelled ?)"


def test_figures_that_stand_for_each_other_are_named_as_that() -> None:
    both = (written("ring_all_bytes", "number", "int", 24),)
    swapped = (*both, written("ring_scatter_bytes", "number", "int", 48))
    finding = judge("byte_budget", case(claims=swapped))
    for name, value in (("ring_all_bytes", 24), ("ring_scatter_bytes", 48)):
        found = part(finding, name)
        assert (found.status, found.mistake) == ("failed", "figures-exchanged")
        told = f"`{name}` is {value}, which is not what the ring model gives"
        assert found.message == told, "the other's right value stays unsaid"
    alone = part(judge("byte_budget", case(claims=both)), "ring_all_bytes")
    assert alone.mistake == "gather-not-counted"


def test_a_program_that_is_not_there_fails_for_that_reason_alone() -> None:
    finding = judge("byte_budget", case({"gather": Program("gather", "missing")}))
    assert (finding.status, finding.points) == ("failed", 12)
    assert part(finding, "compiled_gather").message == "`gather` is not defined"


# ------------------------------------------------------------------------------------------ content


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("figures", {}, r"figures\(\) gives nothing for 'ring_all_bytes'"),
        ("figures", {"ring_all_bytes": {}}, r"figures\(\) gives nothing for 'right'"),
        ("rows", {}, r"rows\(\) gives nothing for 'right'"),
        ("rows", {"right": {}}, r"rows\(\) gives nothing for 2"),
        ("rows", {"right": {2: {}}}, r"rows\(\) gives nothing for 'all_reduce_bytes'"),
    ],
)
def test_what_the_oracle_does_not_say_is_a_content_problem(
    field: str, value: Any, told: str
) -> None:
    given = case()
    truth = replace(given.truth, **{field: value})
    with pytest.raises(ContentProblem, match=told):
        judge("byte_budget", replace(given, truth=truth))


def test_a_mistake_whose_table_lacks_a_row_is_not_named() -> None:
    given = case(claims=[table(budget(all_reduce_bytes=lambda _p: 5))])
    truth = replace(given.truth, rows={**given.truth.rows, "sign": {4: {}}, "no-sum": {}})
    finding = judge("byte_budget", replace(given, truth=truth))
    assert part(finding, "rows_2").mistake is None
