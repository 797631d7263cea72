"""Every form of notebook is read, outputs are not, and what is none is told by a word."""

from __future__ import annotations

import codecs
import json
from typing import Any

import pytest

from grader import wire
from grader.records.cells import unpacked
from grader.sandbox import cells
from tests.notebook.forms import code, notebook, old, text

PNG = {"data": {"image/png": "A" * 5_000_000}, "metadata": {}, "output_type": "display_data"}
READ: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "version 4": (notebook("x = 1\ny = 2", "z = 3"), ("x = 1\ny = 2", "z = 3")),
    "text cells in between": (notebook(text("# Hi"), "x = 1", text("!ls")), ("x = 1",)),
    "a source that is one text": (notebook(code("", source="x = 1\ny = 2")), ("x = 1\ny = 2",)),
    "no code": (notebook(text("nothing")), ()),
    "no cell": (notebook(), ()),
    "an empty cell": (notebook("", "x = 1"), ("", "x = 1")),
    "line ends of Windows": (notebook(code("", source="x = 1\r\ny = 2\r")), ("x = 1\ny = 2",)),
    "version 3": (old(["x = 1"], ["y = 2", "z = 3"]), ("x = 1", "y = 2", "z = 3")),
    "a byte order mark": (codecs.BOM_UTF8 + notebook("x = 1"), ("x = 1",)),
    "UTF-16": (notebook("x = 'é'").decode().encode("utf-16"), ("x = 'é'",)),
    "a later minor version": (notebook("x = 1", nbformat_minor=99), ("x = 1",)),
    "no minor version and no ids": (notebook("x = 1", nbformat_minor=None), ("x = 1",)),
    "large outputs": (notebook(code("x = 1", outputs=[PNG] * 2)), ("x = 1",)),
    "outputs that are none": (notebook(code("x = 1", outputs={"a": float("nan")})), ("x = 1",)),
    "Python by its kernel": (
        notebook("x = 1", metadata={"kernelspec": {"language": "Python3"}}),
        ("x = 1",),
    ),
    "a key twice where it does not matter": (
        notebook("x = 1").replace(b'"metadata": {}', b'"metadata": {}, "metadata": {}'),
        ("x = 1",),
    ),
}


@pytest.mark.parametrize(("raw", "texts"), READ.values(), ids=READ)
def test_the_code_cells_come_in_their_order(raw: bytes, texts: tuple[str, ...]) -> None:
    found = cells.opened(raw)
    assert found["t"] == "cells", found
    assert unpacked(found["texts"]) == unpacked(found["python"]) == texts


R = {"language_info": {"name": "R"}}
TWICE = b'{"cells": [], "cells": [], "nbformat": 4}'
REFUSED: dict[str, tuple[bytes, str, list[str | int]]] = {
    "cut off": (b'{"cells"', "json", [1, 9, "Expecting ':' delimiter"]),
    "no object": (b"[]", "form", ["it is no JSON object"]),
    "no version": (b'{"cells": []}', "form", ["it does not say its nbformat"]),
    "a version that is no number": (
        notebook(nbformat="4"),
        "form",
        ["it does not say its nbformat"],
    ),
    "version 2": (notebook(nbformat=2), "version", [2]),
    "version 5": (notebook(nbformat=5), "version", [5]),
    "another language": (notebook("x <- 1", metadata=R), "language", ["R"]),
    "no cells": (notebook(cells=None), "form", ["it has no list of cells"]),
    "no worksheets": (b'{"nbformat": 3}', "form", ["it has no list of worksheets"]),
    "a cell that is none": (notebook(cells=[3]), "form", ["one of its cells is none"]),
    "a cell without a text": (notebook("", code("", source=None)), "cell", [2]),
    "a source of numbers": (notebook(code("", source=[1])), "cell", [1]),
    "a NUL": (notebook("", "x = 1\n\0"), "text", [2, 2, "U+0000"]),
    "half a character": (notebook("x = '\ud800'"), "text", [1, 1, "U+D800"]),
    "a key twice": (TWICE, "twice", ["cells"]),
    "not UTF-8": (b'{"cells": ["\xf6"]}', "encoding", ["0xf6", 12]),
    "nested without end": (b"[" * 300_000, "deep", []),
    "nested in an output": (
        notebook(code("", outputs=0)).replace(b'"outputs": 0', b'"outputs": ' + b"[" * 300_000),
        "deep",
        [],
    ),
    "too many cells": (
        b'{"nbformat": 4, "cells": ['
        + b",".join([b'{"cell_type": "code", "source": ""}'] * 5001)
        + b"]}",
        "many",
        [5001],
    ),
    "too much code": (notebook("x" * (1 << 20)), "large", []),
    "too many commands": (notebook("x = 1", "!ls\n" * 501), "commands", [2]),
}


@pytest.mark.parametrize(("raw", "why", "details"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_notebook_is_told_by_a_word(
    raw: bytes, why: str, details: list[str | int]
) -> None:
    found = cells.opened(raw)
    assert found == {"t": "refused", "why": why, "details": details}
    assert wire.unpack(wire.pack(found)[wire.HEADER.size :]) == found


def test_the_transformer_is_asked_for_only_where_a_cell_is_no_python() -> None:
    def none() -> Any:
        raise ImportError

    assert cells.opened(notebook("x = 1", "await x"), none)["t"] == "cells"
    lacking = cells.opened(notebook("x = 1", "!ls"), none)
    assert lacking == {"t": "refused", "why": "lacking", "details": []}


def test_commands_are_told_with_cell_and_line() -> None:
    found = cells.opened(notebook("x = 1", "y = 2\n%time z = 3", "%%bash\nls"))
    assert found["commands"] == [[2, 2, "%time z = 3", "runs"], [3, 1, "%%bash", "skipped"]]
    assert unpacked(found["texts"])[1] == "y = 2\n%time z = 3"
    assert unpacked(found["python"]) == ("x = 1", "y = 2\nz = 3", "\n")


def test_code_that_is_full_of_commas_is_no_larger_than_it_is() -> None:
    table = "[" + "1," * 300_000 + "]"
    frame = wire.pack(cells.opened(notebook(table, "!ls")))
    assert unpacked(wire.unpack(frame[wire.HEADER.size :])["texts"])[0] == table


def test_a_number_of_a_million_digits_costs_nothing() -> None:
    raw = notebook("x = 1").replace(b'"nbformat_minor": 5', b'"n": 1' + b"0" * 1_000_000)
    assert json.loads(json.dumps(cells.opened(raw)))["t"] == "cells"
