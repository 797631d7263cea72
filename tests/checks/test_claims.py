from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grader.case import as_array
from grader.errors import ContentProblem
from grader.records.evidence import Claim, Outcome
from grader.records.finding import Item
from grader.records.observation import Replay
from tests.checks.factory import (
    CHECKS,
    ORACLE,
    PROGRAMS,
    RUBRIC,
    W2H,
    WH,
    XH,
    YH,
    case,
    judge,
    number,
    observed,
    on_devices,
    on_host,
    part,
    replicated,
    right,
    right_claims,
    stored,
    written,
)

OWNER = {"momentum": ("new_v", "new_w", "updated"), "label_reversal": ("wrong_labels",)}
OWNER["permutation"] = ("x2", "y2", "w2h", "w2", "r2")
CHECK = {name: check for check, names in OWNER.items() for name in names}
RIGHT = {name: as_array(claim) for name, claim in right_claims().items() if name in CHECK}
LAID = {"new_v": "split", "x2": "split", "y2": "split"}


def shown(*claims: Claim, of: str = "", **more: Any) -> Item:
    """Return the item of the first claim (or of `of`) in its check."""
    name = of or claims[0].name
    return part(judge(CHECK[name], case(claims=claims, **more)), name)


def value_of(name: str) -> Any:
    value = RIGHT[name]
    assert value is not None
    return value


# ------------------------------------------------------------------------------------------ passing


@pytest.mark.parametrize("check", OWNER)
def test_right_answers_pass_with_all_points(check: str) -> None:
    finding = judge(check, case())
    assert (finding.status, finding.points) == ("passed", finding.max_points)
    assert {item.source for item in finding.items} == {"claimed"}


@pytest.mark.parametrize("name", ["w2h", "r2", "wrong_labels"])
@pytest.mark.parametrize("kind", ["devices", "split", "host", "double", "list"])
def test_where_no_place_is_asked_any_kind_of_array_passes(name: str, kind: str) -> None:
    value = value_of(name)
    claim = {
        "devices": on_devices(name, value),
        "split": on_devices(name, value, "split"),
        "host": on_host(name, np.asarray(value, np.float32)),
        "double": on_host(name, np.asarray(value, np.float64)),
        "list": written(name, "list", "list", np.asarray(value, np.float64).tolist()),
    }[kind]
    assert shown(claim).status == "passed"


def test_any_changed_weights_will_do_and_the_rest_follows_from_them() -> None:
    w2h = np.linspace(3, -5, 8, dtype=np.float32)
    answers = [
        on_host("w2h", w2h),
        on_devices("w2", w2h),
        on_devices("r2", ORACLE.answer("all_gradient", [XH, YH, w2h]).value),
        on_host("wrong_labels", ORACLE.answer("all_gradient", [XH, YH[::-1], w2h]).value),
    ]
    for name in ("w2h", "w2", "r2", "wrong_labels"):
        again = ORACLE.replays({"x2": XH[::-1], "y2": YH[::-1], "w2": w2h})
        programs = {p: observed(p, cases={**case().truth.cases, **again}) for p in PROGRAMS}
        assert shown(*answers, of=name, programs=programs).status == "passed"


def test_how_an_answer_is_stored_is_evidence() -> None:
    row = judge("permutation", case()).evidence[0]
    assert (row["name"], row["layout"], row["global_shape"]) == ("x2", "split", [16, 8])
    assert (row["device_ids"], row["shapes"]) == ([0, 1, 2, 3], [[4, 8]] * 4)


def test_reversing_only_the_rows_gives_the_same_label_reversal() -> None:
    same = ORACLE.answer("all_gradient", [XH[::-1], YH, W2H]).value
    assert shown(on_host("wrong_labels", same)).status == "passed"


# -------------------------------------------------------------------------------- missing, unusable


@pytest.mark.parametrize("name", CHECK)
def test_a_missing_answer_costs_its_own_points_alone(name: str) -> None:
    finding = judge(CHECK[name], case(without=[name]))
    item = part(finding, name)
    assert (item.status, item.points, item.source) == ("failed", 0, "claimed")
    assert item.message == f"`{name}` is not defined"
    spoilt = {other.id for other in finding.items if other.status != "passed"}
    assert spoilt == ({"w2h", "w2", "r2"} if name == "w2h" else {name})


def test_after_a_stop_the_stop_is_the_reason() -> None:
    item = shown(of="r2", without=["r2"], outcome=Outcome("raised", "x", 40))
    assert item.message == "`r2` is not defined: the module stopped at line 40 first"


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (written("r2", "none", "NoneType"), "`r2` is still empty (it is None)"),
        (written("r2", "other", "ellipsis"), "`r2` is still empty (it is ...)"),
        (written("r2", "text", "str", "48"), "`r2` is a str, not an array of real numbers"),
        (
            written("r2", "other", "ndarray", reason="it could not be read: too large"),
            "`r2` is an ndarray, not an array of real numbers: it could not be read: too large",
        ),
        (written("r2", "list", "list", [[1], [2, 3]]), "`r2` is a list, not an array of real"),
        (number("r2", 5), "`r2` has shape (), not (8,)"),
        (on_host("r2", np.zeros((8, 1))), "`r2` has shape (8, 1), not (8,)"),
        (on_host("r2", np.zeros(0)), "`r2` has shape (0,), not (8,)"),
        (on_host("w2h", np.zeros(4)), "`w2h` has shape (4,), not (8,)"),
        (on_host("w2h", np.full(8, np.nan)), "`w2h` has shape (8,), not (8,)"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.kind,
)
def test_what_is_no_such_array_is_told(claim: Claim, message: str) -> None:
    item = shown(claim)
    assert (item.status, item.mistake) == ("failed", None)
    assert item.message.startswith(message)
    assert item.line == 3


@pytest.mark.parametrize("name", ["r2", "wrong_labels", "new_v", "updated", "x2"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_no_pass(name: str, value: float) -> None:
    spoilt = np.array(value_of(name), np.float64)
    spoilt.reshape(-1)[-1] = value
    for claim in (on_host(name, spoilt), on_devices(name, spoilt, LAID.get(name, "replicated"))):
        item = shown(claim)
        assert (item.status, item.mistake) == ("failed", None)
        assert "not finite" in item.message or "on 3 of 4 devices only" in item.message


def test_huge_weights_do_not_make_everything_right() -> None:
    huge = on_host("w2h", np.full(8, 1e308))
    nans = [on_devices(name, np.full(8, np.nan)) for name in ("w2", "r2", "wrong_labels")]
    with np.errstate(all="ignore"):
        for name in ("w2", "r2", "wrong_labels"):
            assert shown(huge, *nans, of=name).status == "failed"


# ----------------------------------------------------------------------------------------- mistakes


def predicted(name: str) -> dict[str, Any]:
    return dict(case().truth.claims[name].mistakes)


@pytest.mark.parametrize(
    ("name", "key"),
    sorted((name, key) for name in CHECK if name != "w2h" for key in predicted(name)),
)
def test_an_answer_that_a_mistake_predicts_names_it(name: str, key: str) -> None:
    value = predicted(name)[key]
    item = shown(on_devices(name, value, LAID.get(name, "replicated")))
    assert (item.status, item.mistake) == ("failed", key.partition("/")[0])
    assert RUBRIC.mistake(item.mistake or "") is not None


def test_weights_that_did_not_change_are_named() -> None:
    for w2h in (WH, WH + 1e-4):
        item = shown(on_host("w2h", w2h))
        assert (item.status, item.mistake) == ("failed", "weights-unchanged")
    assert shown(on_host("w2h", WH + 2e-3)).status == "passed"


def test_a_wrong_answer_without_a_known_mistake_gives_no_figure_that_leads_to_the_right_one() -> (
    None
):
    item = shown(on_host("r2", value_of("r2") + 0.5))
    assert (item.status, item.mistake) == ("failed", None)
    assert item.message == "`r2` is not what was asked"


@pytest.mark.parametrize("alone", range(4))
def test_one_right_replica_of_an_answer_is_named(alone: int) -> None:
    good = np.asarray(value_of("updated"), np.float32)
    views = [good if d == alone else good + 1 for d in range(4)]
    item = shown(replace(on_devices("updated", good), shards=replicated(*views)))
    assert (item.status, item.mistake) == ("failed", "one-replica-only")
    assert item.message == "`updated` is right on 1 of 4 devices only"


def test_two_right_replicas_are_told_and_names_no_mistake() -> None:
    good = np.asarray(value_of("updated"), np.float32)
    shards = replicated(good, good + 1, good + 1, good)
    item = shown(replace(on_devices("updated", good), shards=shards))
    assert (item.status, item.mistake) == ("failed", None)
    assert item.message == "`updated` is right on 2 of 4 devices only"


def test_one_right_slice_is_not_called_a_replica() -> None:
    item = shown(on_devices("x2", np.where(np.arange(16)[:, None] < 4, value_of("x2"), 7), "split"))
    assert (item.status, item.mistake) == ("failed", None)
    assert item.message == "`x2` is right on 1 of 4 devices only"


# ------------------------------------------------------------------------------- where it is stored


@pytest.mark.parametrize(
    ("claim", "mistake", "told"),
    [
        (on_devices("new_v", value_of("new_v")), "gathered-too-early", "(8,) on each of 4"),
        (on_devices("updated", value_of("updated"), "split"), "not-gathered", "(2,) on each of 4"),
        (on_devices("x2", value_of("x2")), "not-sharded", "(16, 8) on each of 4 devices"),
        (on_devices("y2", value_of("y2")), "not-sharded", "(16,) on each of 4 devices"),
        (on_devices("w2", W2H, "split"), "sharded-not-replicated", "(2,) on each of 4 devices"),
    ],
    ids=lambda value: value.name if isinstance(value, Claim) else "",
)
def test_right_values_in_the_wrong_place_are_named(claim: Claim, mistake: str, told: str) -> None:
    item = shown(claim)
    assert (item.status, item.points, item.mistake) == ("failed", 0, mistake)
    assert item.message.startswith(f"`{claim.name}` has the right values but is stored as {told}")


@pytest.mark.parametrize("name", ["new_v", "updated", "x2", "y2", "w2"])
def test_an_array_on_the_host_is_in_no_place(name: str) -> None:
    item = shown(on_host(name, value_of(name)))
    assert (item.status, item.mistake) == ("failed", None)
    assert item.message.endswith("is an ndarray on the host, not an array on the devices")


@pytest.mark.parametrize("name", ["x2", "y2"])
def test_an_array_on_one_device_is_not_sharded(name: str) -> None:
    whole = on_devices(name, value_of(name))
    item = shown(replace(whole, shards=whole.shards[:1]))
    assert (item.status, item.mistake) == ("failed", "not-sharded")
    assert " on one device, not as (4" in item.message


@pytest.mark.parametrize("name", ["new_v", "updated", "x2", "w2"])
@pytest.mark.parametrize("device", range(4))
def test_a_missing_shard_is_no_pass(name: str, device: int) -> None:
    claim = on_devices(name, value_of(name), LAID.get(name, "replicated"))
    kept = tuple(shard for shard in claim.shards if shard.device != device)
    assert shown(replace(claim, shards=kept)).status == "failed"


# --------------------------------------------------------------------------- what follows from what


@pytest.mark.parametrize("name", ["w2", "r2", "wrong_labels"])
def test_what_follows_from_a_missing_answer_is_blocked(name: str) -> None:
    item = shown(of=name, without=["w2h"])
    assert (item.status, item.points) == ("blocked", 0)
    assert item.message == f"`{name}` follows from `w2h`, which is not usable yet"


def test_a_check_whose_only_fault_is_another_check_is_blocked() -> None:
    assert judge("label_reversal", case(without=["w2h"])).status == "blocked"


def halved(program: str) -> Any:
    return observed(program, lambda inputs: right(program)(inputs) / 2)


def test_momentum_that_follows_from_a_wrong_gradient_is_blocked_by_it() -> None:
    programs = {"shard_gradient": halved("shard_gradient")}
    own = {"shard_gradient": right("shard_gradient")([XH, YH, WH]) / 2}
    expected = ORACLE.claims({}, own)
    for name in OWNER["momentum"]:
        claim = on_devices(name, expected[name].other, LAID.get(name, "replicated"))
        item = shown(claim, programs=programs)
        assert (item.status, item.points, item.mistake) == ("blocked", 0, None)
        assert item.message.endswith("follows from a result that is wrong; mend `values` first")


def test_momentum_that_follows_from_nothing_fails_even_beside_a_wrong_gradient() -> None:
    claim = on_devices("new_v", value_of("new_v") + 1, "split")
    programs = {"shard_gradient": halved("shard_gradient")}
    assert shown(claim, programs=programs).status == "failed"


def test_right_momentum_passes_beside_a_wrong_gradient() -> None:
    programs = {"shard_gradient": halved("shard_gradient")}
    assert judge("momentum", case(programs)).status == "passed"


REPLAYED = {"permutation": ("r2", "reversed"), "label_reversal": ("wrong_labels", "label_reversal")}


@pytest.mark.parametrize("check", ["permutation", "label_reversal"])
def test_programs_that_do_not_give_the_value_on_the_learners_arrays_fail(check: str) -> None:
    name, replayed_case = REPLAYED[check]
    for program in PROGRAMS:
        seen = observed(program)
        wrong = Replay(stored(np.zeros(8), "replicated"))
        spoilt = replace(seen, replays={**seen.replays, replayed_case: wrong})
        item = shown(of=name, programs={program: spoilt})
        assert (item.status, item.source) == ("failed", "replayed")
        assert f"`{program}`, replayed on the arrays of this part" in item.message


@pytest.mark.parametrize("check", ["permutation", "label_reversal"])
@pytest.mark.parametrize("device", range(4))
def test_every_replica_must_give_the_value_on_the_learners_arrays(check: str, device: int) -> None:
    name, replayed_case = REPLAYED[check]
    seen = observed("all_gradient")
    shards = seen.replays[replayed_case].shards
    shards[device].data[3] += 1
    item = shown(of=name, programs={"all_gradient": seen})
    assert item.status == "failed"


@pytest.mark.parametrize("check", ["permutation", "label_reversal"])
def test_a_program_that_did_not_survive_the_learners_arrays_fails(check: str) -> None:
    name, replayed_case = REPLAYED[check]
    seen = observed("gather")
    lost = replace(seen, replays={**seen.replays, replayed_case: Replay(error="lost")})
    assert shown(of=name, programs={"gather": lost}).status == "failed"


@pytest.mark.parametrize("check", ["permutation", "label_reversal"])
def test_a_replay_that_our_side_never_made_is_undecided_and_no_pass(check: str) -> None:
    name, replayed_case = REPLAYED[check]
    seen = observed("gather")
    kept = {n: r for n, r in seen.replays.items() if n != replayed_case}
    item = shown(of=name, programs={"gather": replace(seen, replays=kept)})
    assert (item.status, item.points) == ("undecided", 0)


def test_what_was_replayed_on_the_learners_arrays_is_evidence() -> None:
    rows = [row for row in judge("permutation", case()).evidence if "program" in row]
    assert [row["program"] for row in rows] == list(PROGRAMS)
    assert all(row["equal_on_every_device"] is True for row in rows)


@pytest.mark.parametrize("check", ["permutation", "label_reversal"])
def test_one_mistake_in_the_programs_costs_once(check: str) -> None:
    programs = {name: halved(name) for name in PROGRAMS}
    assert judge("values", case(programs)).status == "failed"
    assert judge(check, case(programs)).status == "passed"


@pytest.mark.parametrize("name", ["x2", "y2", "w2"])
def test_a_wrong_input_costs_its_own_points_and_not_those_of_the_result(name: str) -> None:
    claim = on_devices(name, value_of(name) + 1, LAID.get(name, "replicated"))
    finding = judge("permutation", case(claims=[claim]))
    assert [item.id for item in finding.items if item.status != "passed"] == [name]


@pytest.mark.parametrize(("needed", "status"), [(0.01, "passed"), (10.0, "failed")])
def test_an_answer_must_stand_apart_from_the_one_it_contrasts_with(
    needed: float, status: str
) -> None:
    check = CHECKS["label_reversal"]
    params: Any = check.params
    spec = params.items[0].model_copy(update={"min_difference": needed})
    changed = replace(check, params=params.model_copy(update={"items": (spec,)}))
    (item,) = changed.judge(case()).items
    assert (item.status, item.mistake) == (status, None)
    assert (item.message == "`wrong_labels` is within 10 of `r2`") == (status == "failed")


# ------------------------------------------------------------------------------------------ content


def test_a_name_the_oracle_says_nothing_of_is_a_content_problem() -> None:
    given = case()
    claims = {name: e for name, e in given.truth.claims.items() if name != "r2"}
    with pytest.raises(ContentProblem, match=r"claims\(\) gives nothing for 'r2'"):
        judge("permutation", replace(given, truth=replace(given.truth, claims=claims)))


@pytest.mark.parametrize(
    "claim", [written("r2", "list", "list", []), written("r2", "mapping", "dict", {})]
)
def test_what_is_empty_where_a_module_stopped_is_told_with_the_stop(claim: Claim) -> None:
    claim = replace(claim, line=40)
    stop = Outcome("raised", "ValueError: no", 44)
    item = shown(claim, outcome=stop)
    assert item.message == "`r2` is still empty: the module stopped at line 44 first"
    assert item.hint == "mend what is said above; the rest of the file did not run"
    cell = replace(stop, place="line 3 of cell 5")
    assert shown(claim, outcome=cell).message == (
        "`r2` is still empty: the module stopped at line 3 of cell 5 first"
    )
    for other in (Outcome("finished"), replace(stop, line=12)):
        assert "stopped" not in shown(claim, outcome=other).message
