"""States that a module saves and restores in its confined process, and what is said of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grader.case import Case
from grader.catalog.models import Exercise, Rubric
from grader.checks import round_trip
from grader.records.evidence import Evidence, Layer, Outcome
from grader.records.finding import Item
from grader.records.submission import Submission
from grader.records.truth import Sent, Truth
from grader.sandbox import plainly, trip_frames
from grader.sandbox.client import Learner
from grader.sandbox.host import Host, fork_is_safe, open_host
from grader.sandbox.meaning import Raised
from tests.command import ROOT

needs_fork = pytest.mark.skipif(not fork_is_safe(), reason="children are not confined here")
EXERCISE = Exercise.model_validate(
    {
        "id": "kept-01",
        "title": "Kept",
        "summary": "A state of two parts.",
        "lesson": "",
        "minutes": 1,
        "programs": [],
        "claims": [],
        "limits": {"cpu_s": 4, "wall_s": 20, "scratch_mib": 1},
        "round_trips": [
            {
                "name": "kept",
                "leaves": [
                    {"name": "v", "shape": [8], "dtype": "float32", "split": 0},
                    {"name": "key", "shape": [2], "dtype": "uint32"},
                    {"name": "n", "shape": [], "dtype": "int32"},
                ],
            }
        ],
    }
)
STATES: list[dict[str, Any]] = [
    {
        "v": np.arange(8, dtype=np.float32) + 10 * number,
        "key": np.array([2**32 - 1, number], np.uint32),
        "n": np.int32(number),
    }
    for number in (3, 7)
]
SENT = {
    "kept": [
        Sent(state, {"other-state": other, "v-lost": {"v": np.zeros(8)}})
        for state, other in zip(STATES, reversed(STATES), strict=True)
    ]
}
PARAMS = round_trip.Params.model_validate(
    {
        "items": [
            {"id": "saved", "points": 1, "written": "kept"},
            {"id": "v", "points": 2, "leaf": "kept.v", "stored": [2], "layout": "split"},
            {"id": "key", "points": 2, "leaf": "kept.key"},
            {"id": "n", "points": 2, "leaf": "kept.n"},
        ],
        "nothing_written": "nothing",
        "written_late": "late",
        "layout_mistakes": {"v:host": "on-the-host", "v:replicated": "whole-everywhere"},
    }
)
RUBRIC = Rubric.model_validate(
    {
        "exercise": "kept-01",
        "max_points": 7,
        "mistakes": [],
        "refusals": [{"mistake": "made-before", "says": "File exists"}],
        "checks": [{"id": "c", "kind": "round_trip", "title": "", "hint": "", "items": [{}]}],
    }
)
GIVEN = "import jax, os, numpy as np\n"
SAVE = """
def save(folder, state):
    folder.mkdir()
    np.savez(folder / "state", **state)
"""
LOAD = """
def load(folder):
    with np.load(folder / "state.npz") as held:
        return dict(held)
"""
RESTORE = """
def restore(folder, like):
    return {n: jax.device_put(a, like[n].sharding) for n, a in load(folder).items()}
"""
HONEST = GIVEN + SAVE + LOAD + RESTORE


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    opened = open_host([str(ROOT / "rubrics")], None)
    yield opened
    opened.close()


def came(host: Host, source: str) -> Evidence:
    submission = Submission("state.py", "state.py", source.encode())
    with tempfile.TemporaryDirectory(prefix="run-", dir=host.room) as folder:
        with open(f"{folder}/state.py", "w", encoding="utf-8") as file:
            file.write(source)
        learner = Learner(host, EXERCISE, submission, folder, states=SENT)
        return learner.evidence(lambda _program: None)


def judged(evidence: Evidence) -> dict[str, Item]:
    truth = Truth({}, {}, round_trips=SENT)
    items, _rows = round_trip.judge(PARAMS, Case(RUBRIC, evidence, {}, truth))
    return {item.id: item for item in items}


def told(items: Mapping[str, Item]) -> dict[str, tuple[str, str | None]]:
    """Return message and mistake of what did not pass."""
    return {
        name: (item.message, item.mistake)
        for name, item in items.items()
        if item.status != "passed"
    }


def every(message: str, mistake: str | None = None) -> dict[str, tuple[str, str | None]]:
    return dict.fromkeys(("saved", "v", "key", "n"), (message, mistake))


@needs_fork
def test_two_states_come_back_exactly_and_in_their_places(host: Host) -> None:
    items = judged(came(host, HONEST))
    assert told(items) == {}
    assert {item.source for item in items.values()} == {"claimed"}
    assert sum(item.points for item in items.values()) == 7
    assert items["saved"].message == "each state lies in its own folder when saving returns"
    assert items["v"].message == "`kept.v` comes back as it was saved"


NOTHING = ("no file lies in the folder that was passed", "nothing")
OTHER = "is not what was saved for 1 of 2 states"
Told = dict[str, tuple[str, str | None]]
WRONG: dict[str, tuple[str, Told]] = {
    "a variable is no file": (
        GIVEN
        + "kept = {}\ndef save(folder, state): kept[folder] = state\n"
        + "def restore(folder, like): return kept[folder]\n",
        every(*NOTHING),
    ),
    "one place for all": (
        GIVEN
        + LOAD
        + RESTORE.replace("load(folder)", "load(newest)")
        + SAVE.replace("folder.mkdir()", "global newest; newest = folder; folder.mkdir()"),
        {
            "v": (f"`kept.v` {OTHER}", "other-state"),
            "key": (f"`kept.key` {OTHER}", "other-state"),
            "n": (f"`kept.n` {OTHER}", "other-state"),
        },
    ),
    "a part is lost": (
        HONEST.replace("**state)", "**{**state, 'v': np.zeros(8)})"),
        {"v": ("`kept.v` is not what was saved", "v-lost")},
    ),
    "a part is left out": (
        HONEST.replace("**state)", "key=state['key'], n=state['n'])"),
        {"v": ("what is restored has no `v`", None)},
    ),
    "left on the host": (
        HONEST.replace("jax.device_put(a, like[n].sharding)", "a"),
        {"v": ("`kept.v` is an ndarray on the host, not an array on the devices", "on-the-host")},
    ),
    "no dict": (
        HONEST.replace("return {n:", "return 0, {n:"),
        every("`restore` returns a tuple, and a dict was asked"),
    ),
    "nothing returned": (
        HONEST.replace("return {n:", "back = {n:"),
        every("`restore` returns nothing, and a dict was asked"),
    ),
    "other shape": (
        HONEST.replace("**state)", "**{**state, 'n': [1, 2]})").replace(
            "jax.device_put(a, like[n].sharding)", "a"
        ),
        {
            "v": ("`kept.v` is an ndarray on the host, not an array on the devices", "on-the-host"),
            "n": ("`kept.n` comes back with shape (2,), not ()", None),
        },
    ),
    "raises by hand": (
        HONEST.replace("    folder.mkdir()", "    raise ValueError('no room')"),
        every("`save` stopped: ValueError: no room"),
    ),
    "unfilled": (
        HONEST.replace("    folder.mkdir()", "    raise NotImplementedError('step 2a')"),
        every("`save` is not filled in yet"),
    ),
    "outside of the folder": (
        HONEST.replace('folder / "state", **state', '"/var/tmp/state.npz", **state'),
        every(
            "`save`: the sandbox refused opening '/var/tmp/state.npz' for writing",
        ),
    ),
    "made twice": (
        HONEST.replace("folder.mkdir()", "folder.mkdir(); folder.mkdir()"),
        every(
            "`save` stopped: FileExistsError: [Errno 17] File exists: 'round_trip_kept/state_1'",
            "made-before",
        ),
    ),
    "too much": (
        HONEST.replace("**state)", "**state, much=np.ones(1 << 20))"),
        every(
            "`save`: the module wrote the file beyond the size that a file may have: the working"
            " directory holds 1 MiB"
        ),
    ),
    "the process ends": (
        HONEST.replace("    folder.mkdir()", "    os._exit(3)"),
        every("saving and restoring a state did not come to an end"),
    ),
    "exits": (
        HONEST.replace("    folder.mkdir()", "    raise SystemExit(3)"),
        every("`save` stopped: SystemExit: 3"),
    ),
}


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_what_goes_wrong_is_said_in_plain_words(host: Host, name: str) -> None:
    source, wanted = WRONG[name]
    evidence = came(host, source)
    assert told(judged(evidence)) == wanted
    assert evidence.outcome.kind == "finished", "what was found before stands"


@needs_fork
def test_a_name_that_is_missing_is_told_as_any_other(host: Host) -> None:
    found = told(judged(came(host, GIVEN + SAVE.replace("save", "saves"))))
    assert found == every("`save` is not defined; did you mean your `saves`?")
    found = told(judged(came(host, HONEST + "restore = ...\n")))
    assert found == every("`restore` is still empty")
    found = told(judged(came(host, HONEST + "restore = 3\n")))
    assert found == every("`restore` is not a function (it is an int)")


@needs_fork
def test_writing_that_goes_on_in_the_background_is_told(host: Host) -> None:
    source = HONEST.replace(
        "def save(folder, state):",
        "import threading, time\n"
        "def save(folder, state):\n"
        "    global late\n"
        "    late = threading.Timer(0.5, really, (folder, state))\n"
        "    late.start()\n"
        "def really(folder, state):",
    ).replace("    return {n:", "    late.join(); time.sleep(0.5)\n    return {n:")
    found = told(judged(came(host, source)))
    assert found == {"saved": ("no file lies in the folder yet when saving returns", "late")}


@needs_fork
@pytest.mark.slow
def test_a_hang_costs_the_round_trip_alone(host: Host) -> None:
    source = HONEST.replace("    folder.mkdir()", "    while True: pass")
    evidence = came(host, source)
    assert told(judged(evidence)) == every("`save` did not come to an end within the limits")
    assert evidence.round_trips["kept"].line == 4
    assert evidence.outcome.kind == "finished"


def test_where_nothing_can_be_written_the_machine_is_named() -> None:
    frame = {"name": "kept", "status": "no_folder", "reason": "Permission denied"}
    off = trip_frames.read(frame, [Layer("scratch", False, "no namespaces")], 1)
    items = judged(replace(_nothing(), round_trips={"kept": off}))
    assert {item.status for item in items.values()} == {"undecided"}
    assert items["v"].message == (
        "this machine gives a module no folder to write in, so nothing could be saved"
        " (Permission denied)"
    )


def test_a_module_cannot_say_that_the_machine_is_to_blame() -> None:
    frame = {"name": "kept", "status": "no_folder", "reason": "Permission denied"}
    there = trip_frames.read(frame, [Layer("scratch", True, "1 MiB")], 1)
    items = judged(replace(_nothing(), round_trips={"kept": there}))
    assert {item.status for item in items.values()} == {"failed"}


def test_without_a_word_of_the_process_nothing_passes() -> None:
    assert told(judged(_nothing())) == every(
        "nothing was saved and restored: the module's process ended before"
    )


def _nothing() -> Evidence:
    return Evidence(Outcome("finished"))


@pytest.mark.parametrize("counts", [[], [0], [-1, 2]])
def test_counts_that_are_missing_are_no_files(counts: Sequence[int]) -> None:
    frame = {"name": "kept", "status": "done", "at_once": counts, "in_the_end": counts}
    trip = trip_frames.read({**frame, "states": []}, [], 1)
    found = judged(replace(_nothing(), round_trips={"kept": trip}))
    assert {item.status for item in found.values()} == {"failed"}


@pytest.mark.once
@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "ValueError: Destination ck/1 already exists.",
            "a checkpoint is to be written where something lies already",
        ),
        (
            "FileNotFoundError: Checkpoint at ck/1 not found.",
            "no checkpoint lies at the place that is read",
        ),
        (
            "TypeError: cond branches must have equal output types but they differ. true_fun is f"
            " at a.py:1 false_fun is g at a.py:2 The output of true_fun at path [1] has type"
            " float32[12] but the corresponding output of false_fun has type int32[12], so the"
            " dtypes do not match.",
            "the branches of a cond give different things: a float32[12] here, a int32[12] there",
        ),
    ],
)
def test_errors_of_saving_and_of_branches_have_plain_words(text: str, what: str) -> None:
    found = plainly.meaning(Raised(text))
    assert found is not None
    assert found.what == what


@needs_fork
def test_files_that_come_late_are_told_where_restoring_finds_none(host: Host) -> None:
    source = HONEST.replace(
        "def save(folder, state):",
        "import threading\n"
        "def save(folder, state):\n"
        "    threading.Timer(0.3, really, (folder, state)).start()\n"
        "def really(folder, state):",
    )
    found = told(judged(came(host, source)))
    assert {mistake for _message, mistake in found.values()} == {"late"}
