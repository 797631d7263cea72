from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from grader import case as cases
from grader.errors import ContentProblem
from grader.records.evidence import Claim, Outcome, Program, Shard
from grader.records.observation import Fate, Observation
from grader.records.truth import Answer
from tests.checks.factory import (
    PROGRAMS,
    case,
    observed,
    on_devices,
    on_host,
    right_claims,
    written,
)

NAME = "all_gradient"


def absent(given: Any = ..., **more: Any) -> cases.Decision:
    """Return why `all_gradient` cannot be judged."""
    decision = cases.absent(case({} if given is ... else {NAME: given}, **more), NAME)
    assert decision is not None
    return decision


def refused(cause: str, reason: str = "", line: int | None = None) -> Program:
    return Program(NAME, "refused", reason=reason, cause=cause, line=line)


# --------------------------------------------------------------------------- programs not there


def test_a_program_that_was_replayed_is_there() -> None:
    assert cases.absent(case(), NAME) is None


def test_a_missing_program_is_told_with_the_nearest_name() -> None:
    found = absent(Program(NAME, "missing"), names=("all_gradients", "x"))
    assert found.status == "failed"
    assert found.message == "`all_gradient` is not defined; did you mean your `all_gradients`?"
    assert found.hint == "call it all_gradient, exactly so"
    assert absent(Program(NAME, "missing")).message == "`all_gradient` is not defined"


@pytest.mark.parametrize("mine", ["R2", "r_2", "r2s", "_R2"])
def test_case_underscores_and_plurals_make_no_other_name(mine: str) -> None:
    found = cases.undefined(case(names=(mine, "grad_of_loss")), "r2")
    assert found.message == f"`r2` is not defined; did you mean your `{mine}`?"


def test_a_name_under_a_main_guard_is_told_as_not_run() -> None:
    found = cases.undefined(case(names=("mesh",), lines={"new_v": 60}), "new_v")
    told = "`new_v` is given a value only in a part of the module that did not run"
    assert (found.message, found.line) == (told, 60)
    assert found.hint == (
        'move it to module level: nothing under `if __name__ == "__main__":` runs while the grader'
        " imports the module"
    )


def test_a_single_name_inside_a_function_is_told_with_that_function() -> None:
    found = cases.undefined(case(names=("mesh", "r2s"), inside={"r2": "main"}), "r2")
    assert found.message == "`r2` is given a value only inside `main()`"
    assert found.hint == "move that out of main() to module level, where the starter has it"


def test_a_part_not_begun_is_to_be_filled_in_also_where_others_are() -> None:
    given = replace(case(), given_names=frozenset({"r2"}))
    found = cases.undefined(given, "r2")
    assert (found.message, found.hint) == ("`r2` is not defined", cases.FILL_IN)
    assert cases.undefined(case(), "r2").hint == (
        "define at module level what is missing, as the starter has it"
    )


def test_an_untouched_starter_is_open_and_no_mistake() -> None:
    nothing = {name: Program(name, "missing") for name in PROGRAMS}
    given = case(nothing, without=list(right_claims()), names=("mesh", "x"))
    given = replace(given, given_names=frozenset({"mesh", "x"}))
    found = cases.undefined(given, NAME)
    assert found.message == "`all_gradient` is open: nothing is filled in yet"
    assert found.hint == "fill in this part; the steps stand in the starter, the idea in the prompt"
    begun = cases.undefined(replace(case(nothing), given_names=given.given_names), NAME)
    assert begun.message == "`all_gradient` is not defined"


def test_a_program_for_another_mesh_is_told_with_its_devices() -> None:
    found = absent(Observation(NAME, "refused", "it was built for 2 devices, not four"))
    assert found.message == "`all_gradient` is built for 2 devices, not four"
    assert found.hint == "build its mesh from all four devices: jax.devices() gives them"


def test_a_name_that_is_there_is_not_told_to_be_missing() -> None:
    found = absent(Program(NAME, "missing"), names=(NAME,))
    assert found.message == "`all_gradient` is defined, but could not be taken out of the module"


def test_names_inside_a_function_are_told_to_be_invisible() -> None:
    found = absent(Program(NAME, "missing"), names=("main",), hidden_in="main")
    assert found.message == "`all_gradient` is not visible: everything sits inside main()"
    assert found.hint == "move the definitions out of main() to module level"


def test_a_module_that_stopped_is_told_as_the_reason() -> None:
    found = absent(Program(NAME, "missing"), outcome=Outcome("raised", "ValueError: no", 7))
    assert found.message == "`all_gradient` is not defined: the module stopped at line 7 first"
    syntax = absent(Program(NAME, "missing"), outcome=Outcome("syntax_error", "no", 7))
    assert syntax.message == "nothing of the file could run, so no name is defined"
    assert syntax.hint == "mend what is said above first"


@pytest.mark.parametrize("kind", ["NoneType", "ellipsis"])
def test_a_program_left_empty_is_told_as_that(kind: str) -> None:
    found = absent(Program(NAME, "not_callable", reason=kind))
    assert (found.message, found.line) == ("`all_gradient` is still empty", 10)


def test_what_is_no_function_is_told_by_its_type() -> None:
    found = absent(Program(NAME, "not_callable", reason="ArrayImpl"))
    assert found.message == "`all_gradient` is not a function (it is an ArrayImpl)"


@pytest.mark.parametrize(
    ("cause", "message", "mistake"),
    [
        ("host_code", "does not stay in JAX", None),
        ("callback", "calls back into Python, so it is not a pure JAX program", "host"),
        ("unfilled", "is not filled in yet", None),
        ("signature", "does not take the arguments it is called with", None),
        ("result", "does not give one array", None),
        ("size", "is too large", None),
        ("stuck", "has an export that did not come to an end", None),
        ("own", "raises an error of its own", None),
        ("raised", "cannot be traced", None),
        ("forged", "cannot be traced", None),
        ("", "cannot be traced", None),
    ],
)
def test_a_program_that_cannot_be_exported_is_told_with_its_cause(
    cause: str, message: str, mistake: str | None
) -> None:
    found = absent(refused(cause, "TypeError: no", 33))
    assert (found.status, found.line) == ("failed", 33)
    assert found.message == f"`all_gradient` {message}: TypeError: no"
    assert found.mistake == (mistake and "host-round-trip")
    assert found.hint
    assert absent(refused(cause)).message == f"`all_gradient` {message}"


@pytest.mark.parametrize(
    "given", [None, Observation(NAME, "undecided", "the clean room gave no answer")], ids=str
)
def test_what_our_side_did_not_measure_is_undecided(given: Observation | None) -> None:
    found = absent(given)
    assert (found.status, found.mistake, found.line) == ("undecided", None, None)
    assert found.message.startswith("`all_gradient` could not be judged: ")


@pytest.mark.parametrize("fate", [f for f in get_args(Fate) if f not in ("replayed", "undecided")])
def test_a_program_that_did_not_survive_its_replay_fails(fate: Fate) -> None:
    found = absent(Observation(NAME, fate, "why"))
    assert (found.status, found.line) == ("failed", 10)
    assert found.message.startswith("`all_gradient`: ") and found.message.endswith(" (why)")
    assert fate not in found.message or fate == "refused"
    assert found.hint


# --------------------------------------------------------------------------------- written answers


@pytest.mark.parametrize(
    ("claim", "wanted"),
    [
        (on_host("a", [[1.5, 2]]), [[1.5, 2]]),
        (on_host("a", np.float32(3).reshape(())), 3.0),
        (on_host("a", np.array([1, 2], np.int8)), [1, 2]),
        (on_host("a", np.array([1 + 0j])), [1]),
        (on_devices("a", np.arange(8.0), "split"), np.arange(8.0)),
        (on_devices("a", np.arange(8.0)), np.arange(8.0)),
        (written("a", "list", "list", [[1, 2], [3, 4.5]]), [[1, 2], [3, 4.5]]),
        (written("a", "list", "list", []), []),
        (written("a", "number", "int", 48), 48.0),
        (written("a", "number", "int", 10**60), None),
    ],
    ids=lambda value: str(value)[:40],
)
def test_numbers_are_taken_from_every_kind_of_answer(claim: Claim, wanted: Any) -> None:
    found = cases.as_array(claim)
    if wanted is None:
        assert found is None
    else:
        assert found is not None
        np.testing.assert_array_equal(found, np.asarray(wanted))


NOT_NUMBERS = [
    Claim("a", "missing"),
    written("a", "none", "NoneType"),
    written("a", "other", "generator"),
    written("a", "text", "str", "48"),
    written("a", "list", "list", ["48"]),
    written("a", "list", "list", [1, None]),
    written("a", "list", "list", [[1], [2, 3]]),
    written("a", "list", "list", [{"a": 1}]),
    written("a", "list", "list", "48"),
    written("a", "list", "list", [10**90]),
    written("a", "mapping", "dict", {"a": 1}),
    on_host("a", [1 + 2j]),
    replace(on_devices("a", np.arange(8.0), "split"), shards=()),
    replace(on_devices("a", np.arange(8.0)), shards=(Shard(0, ((0, 4),), np.zeros(4)),)),
]


@pytest.mark.parametrize("claim", NOT_NUMBERS, ids=lambda c: f"{c.kind} {str(c.value)[:20]}")
def test_what_holds_no_numbers_is_no_array_and_no_number(claim: Claim) -> None:
    assert cases.as_array(claim) is None
    assert cases.as_number(claim) is None


@pytest.mark.parametrize(
    ("claim", "number"),
    [
        (written("a", "number", "int", 48), 48.0),
        (written("a", "number", "float", 48.5), 48.5),
        (written("a", "number", "int", 10**60), 1e60),
        (on_host("a", 48), 48.0),
        (on_host("a", [48.0]), 48.0),
        (on_devices("a", np.float32(48).reshape(())), 48.0),
        (written("a", "list", "list", [48]), 48.0),
        (written("a", "number", "bool", True), None),
        (written("a", "number", "float", float("inf")), None),
        (on_host("a", [48.0, 48.0]), None),
        (on_host("a", np.nan), None),
        (on_host("a", []), None),
    ],
    ids=lambda value: str(value)[:40],
)
def test_one_number_is_taken_from_every_kind_of_answer(claim: Claim, number: float | None) -> None:
    assert cases.as_number(claim) == number


def test_a_missing_answer_is_a_claim_of_its_own() -> None:
    assert cases.claim(case(without=["r2"]), "r2") == Claim("r2", "missing")


# ------------------------------------------------------------------------------------------- rest


def test_a_key_the_oracle_does_not_know_is_a_content_problem() -> None:
    assert cases.known({"a": 1}, "a", "rows") == 1
    with pytest.raises(ContentProblem) as caught:
        cases.known({"a": 1}, "b", "rows")
    assert (
        caught.value.what == "oracle.py: rows() gives nothing for 'b', which rubric.toml asks about"
    )


@pytest.mark.parametrize("status", ["passed", "failed", "blocked", "undecided"])
def test_an_item_has_all_of_its_points_or_none(status: Any) -> None:
    found = cases.item("a", 5, cases.Decision(status, "why", "sign", 3, "claimed", "try"))
    assert (found.points, found.max_points) == (5 if status == "passed" else 0, 5)
    assert (found.status, found.source, found.message) == (status, "claimed", "why")
    assert (found.mistake, found.line, found.hint) == ("sign", 3, "try")


def test_an_earlier_check_passed_or_it_did_not() -> None:
    given = case()
    assert not given.passed("values")
    assert given.mistake(None) is None
    assert given.mistake("sign") is not None
    assert given.line(NAME) == 10
    assert given.line("no_such_name") is None


def test_observations_know_how_their_result_is_stored() -> None:
    assert observed("all_gradient").replicated
    assert not observed("shard_gradient").replicated
    assert observed("all_gradient").bytes_per_rank() == 48.0
    assert observed("all_gradient", compiled=()).bytes_per_rank() == 0.0
    assert observed("all_gradient", compiled_unknown="why").bytes_per_rank() is None


# ------------------------------------------------------------------- a program of several results


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("tuple of 2", "returns a tuple of 2, not new_w, loss and gradient"),
        ("list of 4", "returns a list of 4, not new_w, loss and gradient"),
        ("structure of 1", "returns one array, not new_w, loss and gradient"),
        ("structure of 3", "returns another structure, not new_w, loss and gradient"),
        (
            "dict of 3",
            "returns a dict of 3, not one with the keys new_w, loss and gradient, each an array",
        ),
        (
            "tuple of 3",
            "returns new_w, loss and gradient in another form: one of them is not an array but"
            " holds some",
        ),
    ],
)
def test_several_results_that_are_others_are_told_with_the_names_asked_for(
    reason: str, told: str
) -> None:
    message, hint = told_of_a_step(Program("train_step", "refused", reason=reason, cause="result"))
    assert message == f"`train_step` {told}"
    assert hint == (
        "return new_w, loss, gradient in this order, each an array, or a dict with these keys"
    )


def test_several_results_where_a_function_returns_none() -> None:
    program = Program("train_step", "refused", reason="None", cause="result")
    assert told_of_a_step(program) == (
        "`train_step` returns nothing, not new_w, loss and gradient",
        "end the function in `return new_w, loss, gradient`, in this order",
    )


def test_results_in_a_type_of_the_learners_own_are_told_so() -> None:
    reason = (
        "ValueError: Cannot serialize PyTreeDef containing an unregistered type "
        "`<class 'submission.StepResult'>`. Use `export.register_pytree_node_serialization`"
    )
    program = Program("train_step", "refused", reason=reason, cause="raised")
    message, _ = told_of_a_step(program)
    assert message == "`train_step` returns its result in a type of your own (StepResult)"
    assert absent(refused("raised", reason)).hint == "return the array alone"


def told_of_a_step(program: Program) -> tuple[str, str]:
    """Return message and hint for a refused program that is asked for three results."""
    names = [f"train_step.{one}" for one in ("new_w", "loss", "gradient")]
    given = case()
    truth = replace(given.truth, answers={("lesson", one): Answer(np.zeros(2)) for one in names})
    evidence = replace(given.evidence, programs={"train_step": program})
    decision = cases.absent(replace(given, truth=truth, evidence=evidence), names[1])
    assert decision is not None
    return decision.message, decision.hint
