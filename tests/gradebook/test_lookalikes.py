"""Look-alikes are found whatever was renamed, nobody is charged with what everybody was given, and
source that is made to hurt a parser costs its own comparison alone."""

from __future__ import annotations

import io
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from grader.errors import Undecided
from grader.gradebook.lookalikes import (
    LEAST_PRINTS,
    MOST_PAIRS,
    MOST_SOURCE_BYTES,
    Found,
    Group,
    Outline,
    Outliner,
    lookalikes,
)
from grader.process import Child, Exit
from grader.sandbox.host import SpawnHost
from grader.sandbox.launching import Allowance
from grader.sandbox.outline import outline
from tests.command import EXERCISE, ROOT, SOLUTIONS, run

STARTER = (ROOT / "exercises" / EXERCISE / "starter.py").read_bytes()
FILLED = (SOLUTIONS / "accepted" / "starter_filled.py").read_bytes()
_PIECES = (
    "a * b", "a[b]", "a(b)", "-a", "(a if b else c)", "[a, b]", "{a: b}", "a.x", "(lambda: b)",
    "a @ b", "(not a)", "(a < b < c)", "f'{a}'", "(a, *b)", "[x for x in a]", "a(b, key=c)",
)  # fmt: skip


def program(seed: int, functions: int = 6) -> str:
    """Return a program of its own kind."""
    draw = random.Random(seed)
    bodies = [
        "".join(f"    v{n} = {' + '.join(draw.choices(_PIECES, k=3))}\n" for n in range(6))
        for _ in range(functions)
    ]
    return "".join(f"def f{n}(a, b, c):\n{body}\n" for n, body in enumerate(bodies))


def renamed(text: str) -> str:
    """Return a program with other names."""
    return re.sub(r"\b([abv])(\d*)\b", r"other_\1\2", text)


@pytest.fixture(scope="module")
def host() -> Iterator[SpawnHost]:
    made = SpawnHost(None, forbidden=[str(ROOT)])
    yield made
    made.close()


def alike(host: SpawnHost, texts: dict[str, str | bytes], starter: bytes = b"") -> Found:
    pairs = ((name, text if isinstance(text, bytes) else text.encode())
             for name, text in texts.items())  # fmt: skip
    return lookalikes(pairs, starter, host)


# ------------------------------------------------------------------------------- what is left of it

ORIGINAL = '''
"""About."""
import numpy as np

def total(rows, scale=2):
    """Sum."""
    out = np.sum(rows, axis=0, dtype="f4")  # all
    return out * scale
'''
SAME = {
    "names": ORIGINAL.replace("rows", "zeilen").replace("out", "result").replace("total", "g"),
    "texts": ORIGINAL.replace('"f4"', '"f8"').replace("About", "Nothing").replace("2", "3.5"),
    "comments": ORIGINAL.replace("# all", "# everything there is"),
    "docstrings": ORIGINAL.replace('    """Sum."""\n', ""),
    "layout": ORIGINAL.replace("\n    return", "\n\n\n    return").replace(", ", ",   "),
    "keywords": ORIGINAL.replace('axis=0, dtype="f4"', 'dtype="f4", axis=0'),
    "annotations": ORIGINAL.replace("(rows, scale", "(rows: list, scale").replace(
        "out =", "out: object ="
    ),
    "imports": ORIGINAL.replace("import numpy as np", "import os\nfrom numpy import *"),
    "idle": ORIGINAL.replace("    return", "    pass\n    'a note'\n    return"),
}
OTHER = {
    "operator": ORIGINAL.replace("out * scale", "out + scale"),
    "statement": ORIGINAL.replace("    return", "    out = out\n    return"),
    "argument": ORIGINAL.replace("axis=0, ", ""),
}


def digest(text: str) -> str:
    found = outline(text.encode())
    assert found is not None
    return str(found["digest"])


@pytest.mark.parametrize("what", SAME)
def test_what_a_copier_changes_changes_nothing(what: str) -> None:
    assert SAME[what] != ORIGINAL
    assert digest(SAME[what]) == digest(ORIGINAL)


@pytest.mark.parametrize("what", OTHER)
def test_another_program_is_another_one(what: str) -> None:
    assert digest(OTHER[what]) != digest(ORIGINAL)


def test_a_shared_run_of_code_is_found_wherever_it_stands() -> None:
    shared, others = program(1, 1), [program(seed, 3) for seed in (2, 3)]
    first, second = (outline(text.encode()) for text in (others[0] + shared, shared + others[1]))
    assert first is not None
    assert second is not None
    alone = outline(shared.encode())
    assert alone is not None
    both = set(first["prints"]) & set(second["prints"])
    assert len(both & set(alone["prints"])) >= 0.8 * len(alone["prints"])


def test_a_short_program_has_a_fingerprint_or_none() -> None:
    assert outline(b"") == {"digest": digest(""), "prints": []}
    small = outline(b"x = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]\n")
    assert small is not None
    assert 0 < len(small["prints"]) < LEAST_PRINTS


# --------------------------------------------------------------------------- who looks like whom


def test_equal_bytes_are_one_group(host: SpawnHost) -> None:
    found = alike(host, {"amy": program(1), "bob": program(2), "carl": program(1)})
    assert found.groups == (Group(("amy", "carl"), "equal bytes"),)
    assert (found.pairs, found.clusters) == ((), (("amy", "carl"),))


def test_a_renamed_copy_is_found(host: SpawnHost) -> None:
    copy = renamed(program(1)) + "# mine\n"
    found = alike(host, {"amy": program(1), "bob": program(2), "carl": copy})
    assert found.groups == (Group(("amy", "carl"), "equal but for names, texts and layout"),)


def test_a_copy_with_something_added_is_found(host: SpawnHost) -> None:
    copy = program(7, 2) + renamed(program(1))
    found = alike(host, {"amy": program(1), "bob": program(2), "carl": copy, "dora": program(3)})
    (pair,) = found.pairs
    assert {pair.first, pair.second} == {"amy", "carl"}
    assert pair.percent >= 90
    assert found.clusters == (("amy", "carl"),)
    assert found.typical is not None
    assert found.typical < 20


def test_what_the_starter_gave_does_not_count(host: SpawnHost) -> None:
    given = program(100, 8)
    texts = {f"p{n}": given + program(n, 2) for n in range(6)}
    assert alike(host, dict(texts), given.encode()).pairs == ()
    assert len(alike(host, dict(texts)).pairs) > 0


def test_the_starter_handed_in_as_it_is_is_no_copy(host: SpawnHost) -> None:
    given = program(100, 8)
    texts: dict[str, str | bytes] = {"amy": given, "bob": given, "carl": renamed(given)}
    found = alike(host, texts, given.encode())
    assert (found.groups, found.pairs, found.clusters) == ((), (), ())


def test_how_much_of_the_class_solved_it_does_not_count(host: SpawnHost) -> None:
    usual = program(100, 8)
    texts: dict[str, str | bytes] = {f"p{n:02d}": usual + program(n, 2) for n in range(30)}
    texts["copy"] = str(texts["p07"]) + "extra = [1, 2]\n"
    found = alike(host, texts)
    assert [{one.first, one.second} for one in found.pairs] == [{"p07", "copy"}]


def test_too_little_to_tell_is_not_told(host: SpawnHost) -> None:
    found = alike(host, {"amy": "x = a + b\n", "bob": "y = c + d\n"})
    assert (found.groups, found.pairs, found.typical) == ((), (), None)


def test_clusters_hang_together_by_any_likeness(host: SpawnHost) -> None:
    texts = {
        "amy": program(1),
        "bob": program(1),
        "carl": renamed(program(1)),
        "dora": program(1) + program(8, 1),
        "eve": program(2),
        "fay": program(2) + program(9, 1),
        "gus": program(3),
    }
    found = alike(host, dict(texts))
    assert [set(one) for one in found.clusters] == [
        {"amy", "bob", "carl", "dora"}, {"eve", "fay"},
    ]  # fmt: skip


def test_order_changes_nothing_but_who_stands_first(host: SpawnHost) -> None:
    texts = {f"p{n:02d}": program(n % 7) + program(50 + n, 1) for n in range(14)}
    mixed = random.Random(3).sample(sorted(texts), len(texts))
    one, other = (alike(host, {name: texts[name] for name in o}) for o in (sorted(texts), mixed))
    assert {(frozenset((p.first, p.second)), p.percent) for p in one.pairs} == {
        (frozenset((p.first, p.second)), p.percent) for p in other.pairs
    }
    assert one.typical == other.typical
    assert {frozenset(c) for c in one.clusters} == {frozenset(c) for c in other.clusters}


def test_a_large_class_gives_a_bounded_list(host: SpawnHost) -> None:
    texts: dict[str, str | bytes] = {
        f"p{n:03d}": program(n % 20, 4) + f"x{n} = {'a + ' * (n // 20)}b\n" for n in range(400)
    }
    found = alike(host, texts)
    assert len(found.pairs) == MOST_PAIRS
    assert found.more > 0
    assert found.pairs[0].percent >= found.pairs[-1].percent >= 80


# ------------------------------------------------------------------------ what is made to hurt it

HURTFUL = {
    "brackets": b"x = " + b"(" * 90_000 + b")" * 90_000,
    "minus": b"x = " + b"-" * 200_000 + b"1",
    "attributes": b"x = a" + b".b" * 100_000,
    "calls": b"f" + b"()" * 100_000,
    "nul": b"x = 1\0",
    "encoding": b"# coding: utf-7\nx = 1\n",
    "bytes": bytes(range(128, 256)) * 50,
    "indents": b"".join(b" " * n + b"if x:\n" for n in range(500)) + b" " * 500 + b"pass\n",
}


def test_source_that_hurts_a_parser_costs_only_its_own_comparison(host: SpawnHost) -> None:
    found = alike(host, {"amy": program(1), **HURTFUL, "bob": renamed(program(1))})
    assert {name for name, _ in found.unread} <= set(HURTFUL)
    assert {"nul", "brackets"} <= {name for name, _ in found.unread}
    assert found.groups == (Group(("amy", "bob"), "equal but for names, texts and layout"),)


def test_a_file_that_is_too_large_is_compared_by_its_bytes(host: SpawnHost) -> None:
    huge = b"x = 1\n" * (MOST_SOURCE_BYTES // 6 + 1)
    found = alike(host, {"amy": huge, "bob": huge, "carl": program(1)})
    assert found.groups == (Group(("amy", "bob"), "equal bytes"),)
    assert found.unread == (("amy", "larger than 256 KiB"), ("bob", "larger than 256 KiB"))


_CHILD = """
import base64, os, sys
from grader import wire
from grader.sandbox.outline import outline
out = sys.stdout.buffer
def say(message):
    out.write(wire.pack(message)); out.flush()
say({"t": "layers", "layers": []})
while (job := wire.read(sys.stdin.buffer)) is not None:
    source = base64.b64decode(job["source"])
    if b"CRASH" in source: os.abort()
    if b"HANG" in source: sys.stdin.buffer.read()
    if b"LIE" in source: say({"t": "outline", "outline": {"digest": 1, "prints": ["x"]}})
    elif b"NOISE" in source: out.write(b"\\xff" * 64); out.flush()
    else: say({"t": "outline", "outline": outline(source)})
"""


class Handle:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def kill(self) -> None:
        self._process.kill()

    def remind(self) -> None:
        """Do nothing."""

    def wait(self, timeout_s: float) -> Exit | None:
        code = self._process.wait(timeout_s)
        return Exit(code if code >= 0 else None, -code if code < 0 else None)


class Fragile:
    """A host whose children crash, hang or lie where the source says so."""

    room = tempfile.gettempdir()

    def __init__(self, program: str = _CHILD) -> None:
        self._program = program
        self.started = 0

    def start(self, entry: str, workdir: str, allowance: Allowance) -> Child:
        assert entry == "outline"
        self.started += 1
        process = subprocess.Popen(
            [sys.executable, "-c", self._program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        frames = io.BufferedReader(cast(io.RawIOBase, process.stdout))
        stdin, output = cast(BinaryIO, process.stdin), cast(BinaryIO, process.stderr)
        return Child(stdin, frames, output, Handle(process), allowance.output_bytes)

    def alive(self) -> bool:
        return True

    def close(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize("trick", ["CRASH", "HANG", "LIE", "NOISE"])
def test_a_parser_that_fails_is_replaced(trick: str) -> None:
    fragile = Fragile()
    outliner = Outliner(fragile, file_s=2.0)
    try:
        assert isinstance(outliner.outline(b"x = 1\n"), Outline)
        said = outliner.outline(f"x = 1  # {trick}\n".encode())
        assert said == "the parser did not come to an end with it"
        assert isinstance(outliner.outline(b"x = 2\n"), Outline)
    finally:
        outliner.close()
    assert fragile.started == 2


def test_a_machine_that_starts_no_process_is_told() -> None:
    outliner = Outliner(Fragile("import sys; sys.exit('no room')"))
    with pytest.raises(Undecided, match="did not start") as raised:
        outliner.outline(b"x = 1\n")
    outliner.close()
    assert raised.value.where == "no room"


# -------------------------------------------------------------------------------------- the command


def test_the_command_lists_them_and_says_what_a_likeness_is(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    copy = FILLED.replace(b"x_block", b"part").replace(b"reduce_all", b"everything")
    texts = {
        "amy": FILLED, "bob": FILLED, "carl": copy, "dora": STARTER, "eve": STARTER,
        "fay": (SOLUTIONS / "accepted" / "explicit_axes.py").read_bytes(), "gus": b"def broken(:\n",
    }  # fmt: skip
    for name, text in texts.items():
        (folder / f"{name}.py").write_bytes(text)
    ran = run("lookalikes", EXERCISE, "in", cwd=tmp_path)
    assert ran.code == 0, ran.said
    lines = ran.stdout.splitlines()
    assert lines[0] == "equal bytes: amy, bob"
    assert lines[1] == "equal but for names, texts and layout: amy, carl"
    assert "together 1: amy, bob, carl" in lines
    assert lines[-1] == "a likeness is a reason to look, and proves nothing"
    assert not [line for line in lines if "dora" in line or "eve" in line]
    assert "only the bytes compared: gus: no Python that can be parsed" in ran.stderr
    # It reads, and writes nothing.
    assert sorted(one.name for one in tmp_path.iterdir()) == ["in"]


def test_the_command_says_when_there_are_none(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"p{number}.py").write_text(program(number), encoding="utf-8")
    ran = run("lookalikes", EXERCISE, ".", "--at-least", "50", cwd=tmp_path)
    assert ran.code == 0, ran.said
    assert ran.stdout.startswith("none of 3 submissions share 50 % or more\n")
