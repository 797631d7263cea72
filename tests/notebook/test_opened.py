"""What the process that opens notebooks answers is checked; each refusal is a plain sentence."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest

from grader import wire
from grader.errors import EnvironmentProblem, Undecided
from grader.process import SIGKILL, Child, Exit
from grader.records.cells import Cells, packed
from grader.records.evidence import Outcome
from grader.records.submission import Submission
from grader.sandbox import notebook
from grader.sandbox.host import SpawnHost
from grader.sandbox.launching import Allowance
from tests.notebook import forms

NAME = "n.ipynb"
OK = Exit(0, None)
LAYERS = {"t": "layers", "layers": []}
ON = {"t": "layers", "layers": [{"name": "rlimits", "on": True, "reason": ""}]}


class Ended:
    """The handle of a child that ended as it is told."""

    def __init__(self, ended: Exit | None) -> None:
        self._ended = ended

    def kill(self) -> None: ...

    def remind(self) -> None: ...

    def wait(self, timeout_s: float) -> Exit | None:
        return self._ended


class Answering:
    """A host whose only child has answered these frames, and ended so."""

    room = ""

    def __init__(self, *frames: dict[str, Any] | bytes, ended: Exit | None = OK) -> None:
        self._bytes = b"".join(f if isinstance(f, bytes) else wire.pack(f) for f in frames)
        self._ended = ended

    def start(self, entry: str, workdir: str, allowance: Allowance) -> Child:
        assert entry == "cells"
        pipes = (io.BytesIO(), io.BytesIO(self._bytes), io.BytesIO(b"last words\n"))
        stdin, frames, output = (cast(BinaryIO, pipe) for pipe in pipes)
        return Child(stdin, frames, output, Ended(self._ended), allowance.output_bytes)

    def alive(self) -> bool:
        return True

    def close(self) -> None: ...


def opened(*frames: dict[str, Any] | bytes, only_full: bool = False, **more: Any) -> Any:
    given = Submission(NAME, NAME, b"{}")
    return notebook.opened(Answering(*frames, **more), given, "", only_full=only_full)


def told(*frames: dict[str, Any] | bytes, **more: Any) -> tuple[str, str]:
    found = opened(*frames, **more)
    assert isinstance(found, Outcome)
    assert (found.kind, found.line) == ("syntax_error", None)
    return found.message, found.next_step


def refused(why: str, *details: str | int) -> tuple[str, str]:
    return told(ON, {"t": "refused", "why": why, "details": list(details)})


def cells(texts: list[str], python: list[str], commands: object = ()) -> dict[str, Any]:
    made = {"texts": packed(texts), "python": packed(python), "commands": commands}
    return {"t": "cells", **made}


def test_cells_come_with_the_submission() -> None:
    found = opened(ON, cells(["!ls", "x"], ["pass", "x"], [[1, 1, "!ls", "nothing"]]))
    assert isinstance(found, Submission)
    assert found.cells == Cells(("!ls", "x"), ("pass", "x"), ((1, 1, "!ls", "nothing"),))
    assert (found.raw, found.source, found.name) == (b"{}", b"!ls\nx", NAME)


SAVE = "open it in Jupyter, run all cells, save it, and grade that file"
PYTHON = "open it in Jupyter and save it as nbformat 4 with a Python kernel"
SENTENCES: dict[str, tuple[tuple[str | int, ...], str, str]] = {
    "json": (
        (3, 7, "Expecting ':' delimiter"),
        "is no notebook that can be read: it is not JSON at line 3, column 7 (Expecting ':'"
        " delimiter)",
        f"it was cut off, merged or edited by hand; {SAVE}",
    ),
    "form": (("it has no list of cells",), "is no notebook: it has no list of cells", SAVE),
    "encoding": (
        ("0xf6", 12),
        "is no notebook that can be read: the byte 0xf6 at 12 is not UTF-8",
        SAVE,
    ),
    "twice": (
        ("cells",),
        "is no notebook that can be read: it says `cells` twice in one place",
        f"it was merged or edited by hand; {SAVE}",
    ),
    "version": ((2,), "is of nbformat 2, and 3 and 4 are read", PYTHON),
    "language": (("R",), "says that it is written in R, not in Python", PYTHON),
    "many": (
        (5001,),
        "has 5001 code cells, more than a notebook may have",
        "keep the cells that belong to the exercise",
    ),
    "large": (
        (),
        "holds more than 1 MiB of code",
        "keep the cells that belong to the exercise, and move data out of them",
    ),
    "cell": ((2,), "has no text in cell 2", SAVE),
    "text": (
        (2, 3, "U+0000"),
        "holds U+0000 in cell 2, line 3: that is no character of a program",
        "delete it there: it cannot be seen; type the line again",
    ),
    "commands": (
        (2,),
        "has more commands in cell 2 than can be taken out",
        "delete the lines that begin with % or ! there",
    ),
    "deep": ((), "is nested deeper than any notebook", SAVE),
    "memory": (
        (),
        "took more memory to open than any notebook needs",
        "clear all outputs, save it, and grade that file",
    ),
    "a word of nobody's": ((), "cannot be read as a notebook", SAVE),
}


@pytest.mark.parametrize("why", SENTENCES)
def test_each_reason_is_a_sentence_with_a_next_step(why: str) -> None:
    details, message, step = SENTENCES[why]
    assert refused(why, *details) == (f"{NAME} {message}", step)


def test_every_reason_has_its_sentence_here() -> None:
    assert SENTENCES.keys() - {"a word of nobody's"} == notebook.REASONS


def test_without_ipython_commands_cannot_be_taken_out() -> None:
    with pytest.raises(
        EnvironmentProblem, match=r"n\.ipynb has commands of IPython, and"
    ) as caught:
        refused("lacking")
    assert caught.value.next_step == "install it: python -m pip install ipython"


NOTHING = f"{NAME} cannot be read as a notebook"
NO_END = f"{NOTHING}: the process that tried did not come to an end with it"


@pytest.mark.parametrize(
    "frame",
    [
        {"t": "refused"},
        {"t": "refused", "why": "json", "details": [1]},
        {"t": "cells"},
        {"t": "else"},
        cells(["x"], ["x", "y"]),
        cells(["x"], ["x\ny"]),
        cells(["x"], ["x"], [[1, 1, "!ls", "runs the shell"]]),
        cells(["x"], ["x"], [[1, True, "!ls", "runs"]]),
        cells(["x"], ["x"], [1]),
        {"t": "cells", "texts": "no base64", "python": "", "commands": []},
        {"t": "cells", "texts": [], "python": [], "commands": []},
    ],
)
def test_an_answer_of_the_wrong_form_is_no_notebook(frame: dict[str, Any]) -> None:
    assert told(ON, frame) == (NOTHING, SAVE)


@pytest.mark.parametrize(
    "ended", [Exit(None, 11), Exit(70, None), Exit(None, SIGKILL, cpu_s=20.0)], ids=str
)
def test_a_notebook_that_ends_the_parser_is_refused(ended: Exit) -> None:
    assert told(ON, ended=ended) == (NO_END, SAVE)
    assert told(ON, b"\xff\xff\xff\xff", ended=ended) == (NO_END, SAVE)


@pytest.mark.parametrize(
    ("frames", "ended"),
    [((), Exit(1, None)), ((LAYERS,), Exit(1, None)), ((ON,), None), ((ON,), Exit(None, SIGKILL))],
)
def test_what_is_our_sides_fault_is_undecided(frames: tuple[Any, ...], ended: Exit | None) -> None:
    with pytest.raises(Undecided, match="opens notebooks did not come to an end") as caught:
        opened(*frames, ended=ended)
    assert caught.value.where == "last words"


def test_full_confinement_is_insisted_on() -> None:
    with pytest.raises(EnvironmentProblem, match="nothing was run: full confinement is required"):
        opened(ON, only_full=True)


# ------------------------------------------------------------------------------ with a real process

HURTFUL: dict[str, tuple[bytes, str]] = {
    "nested without end": (b"[" * 2_000_000, "is nested deeper than any notebook"),
    "a million cells": (
        b'{"nbformat": 4, "cells": ['
        + b",".join([b'{"cell_type": "code", "source": ""}'] * 1_000_000)
        + b"]}",
        "has 1000000 code cells",
    ),
    "brackets in a cell": (forms.notebook("x = " + "(" * 500_000), ""),
    "minus in a cell": (forms.notebook("x = " + "-" * 900_000 + "1"), ""),
    "commands in every line": (forms.notebook("!ls\n" * 100_000), "has more commands in cell 1"),
    "braces for ever": (b'{"a":' * 1_000_000, "is nested deeper than any notebook"),
}


@pytest.fixture(scope="module")
def host() -> Any:
    made = SpawnHost(None, forbidden=[])
    yield made
    made.close()


@pytest.mark.parametrize(("raw", "says"), HURTFUL.values(), ids=HURTFUL)
def test_a_notebook_made_to_hurt_costs_itself_alone(
    host: SpawnHost, tmp_path: Path, raw: bytes, says: str
) -> None:
    (tmp_path / NAME).write_bytes(raw)
    found = notebook.opened(host, Submission(NAME, NAME, raw), str(tmp_path))
    if isinstance(found, Outcome):
        assert found.message.startswith(f"{NAME} {says}")
    else:
        assert not says
    (tmp_path / NAME).write_bytes(forms.notebook("x = 1"))
    after = notebook.opened(host, Submission(NAME, NAME, b"{}"), str(tmp_path))
    assert isinstance(after, Submission)


def test_notes_say_how_cells_count_and_what_became_of_commands() -> None:
    found = Cells(
        ("!ls", "!ls", "%time x"),
        ("pass", "pass", "x"),
        ((1, 1, "!ls", "nothing"), (2, 1, "!ls", "nothing"), (3, 1, "%time x", "runs")),
    )
    count, ran, nothing = notebook.notes(found)
    assert count.startswith("cells are counted from the top, those with code alone")
    assert ran == "of these the Python ran once, and nothing else: `%time x` (cell 3, line 1)"
    assert nothing == (
        "these did nothing, as they are commands of IPython and no Python: `!ls` (cell 1, line 1)"
    )
    assert notebook.notes(Cells((), ())) == []
    many = Cells(("x",), ("x",), tuple((1, n, f"!l{n}", "nothing") for n in range(1, 12)))
    assert notebook.notes(many)[1].endswith("`!l8` (cell 1, line 8) and 3 more")
