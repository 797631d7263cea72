"""Whatever is handed in, the look at its bytes ends in an outcome or lets it through."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile

from hypothesis import example, given, settings
from hypothesis import strategies as st

from grader import intake
from grader.errors import UsageProblem
from grader.records.submission import Submission
from tests.fuzz import mutations

stable = settings(deadline=None, derandomize=True, max_examples=200)
names = st.sampled_from(["s.py", "s.ipynb", "S.IPYNB", "s", ".py", "s.tar.gz", "\udc80.py"])
SOURCE = b"# -*- coding: utf-8 -*-\nimport jax\n\n\ndef gather(g):\n    return g\n"
NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n"]},
            {
                **{"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": []},
                "source": ["import jax\n", "%time x = 1\n"],
            },
        ],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
).encode()


def looked_at(name: str, raw: bytes) -> None:
    submission = Submission(name, name, raw)
    outcome = intake.problem(submission)
    assert outcome is None or (outcome.kind == "syntax_error" and outcome.message)
    assert isinstance(intake.is_empty(submission), bool)
    assert all(len(line) <= 400 for line in intake.lines(submission, [None, 0, 1, 3]).values())


@stable
@given(names, st.binary(max_size=300))
@example("s.py", b"\xef\xbb\xbf# coding: utf-16\n")
@example("s.py", b"# coding: idna\n\xff")
@example("s.py", b"# coding: undefined\nx")
@example("s.py", b"# coding: rot13\nk")
@example("s.py", b"# coding: zlib\nk")
@example("s.py", b"# coding: unicode_escape\n\\N{no such}")
@example("s.py", b"# coding: punycode\n\xff-\n")
@example("s.py", b"# coding: utf-7\n+AAA-\n")
def test_any_bytes_are_an_outcome_or_let_through(name: str, raw: bytes) -> None:
    looked_at(name, raw)


@stable
@given(names, mutations.spoilt(SOURCE))
def test_spoilt_source_is_an_outcome_or_let_through(name: str, raw: bytes) -> None:
    looked_at(name, raw)


@stable
@given(st.sampled_from(["s.ipynb", "s.py"]), mutations.spoilt(NOTEBOOK))
def test_a_spoilt_notebook_is_an_outcome_or_let_through(name: str, raw: bytes) -> None:
    looked_at(name, raw)


@stable
@given(mutations.altered(json.loads(NOTEBOOK)))
def test_an_altered_notebook_is_an_outcome_or_let_through(notebook: object) -> None:
    looked_at("s.ipynb", json.dumps(notebook).encode())


@stable
@given(st.text(max_size=40), st.text(alphabet="./\\~$\0\n\x1b\udc80é", max_size=12))
@example("x" * 5000, "")
def test_any_name_is_read_or_is_a_usage_problem(text: str, odd: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in (text, odd, text + odd):
            with contextlib.suppress(UsageProblem):
                intake.read(os.path.join(folder, name.lstrip("/")))
