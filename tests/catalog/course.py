"""A small course in a temporary folder, to be spoilt one file at a time."""

from __future__ import annotations

from pathlib import Path

from grader.catalog.course import Course

ID = "tiny-01"
EXERCISE = """\
id = "tiny-01"
title = "Tiny"
summary = "One program."
lesson = "1"
minutes = 5
claims = ["answer"]

[separate]
prediction = "prediction"
checkpoint = "checkpoint"
explanation = "explanation"

[[programs]]
name = "double"
arguments = [{ name = "x", shape = [4], dtype = "float32", split = 0 }]
"""
RUBRIC = """\
exercise = "tiny-01"
max_points = 10

[[checks]]
id = "values"
kind = "program_values"
title = "It doubles"
hint = "Multiply by two."
items = [{ id = "double", points = 6, program = "double" }]
[checks.params]
relative_tolerance = 1e-6
open_case = "lesson"

[[checks]]
id = "answer"
kind = "claims"
title = "The answer"
hint = "Think."
items = [{ id = "answer", points = 4, name = "answer" }]

[[mistakes]]
id = "halved"
title = "it halves"
hint = "Multiply."
"""
ORACLE = """\
import numpy as np


def cases(rng):
    x = rng.standard_normal(4).astype(np.float32)
    return {"hidden_0": {"double": [x]}, "lesson": {"double": [np.ones(4, np.float32)]}}


def answer(program, inputs):
    return 2.0 * inputs[0]


def mistakes(program, inputs):
    return {"halved": 0.5 * inputs[0]}


def claims(given, own):
    return {"answer": {"value": np.ones(4), "atol": 1e-6}}


def replays(given):
    return {}


def figures():
    return {"bytes": {"right": 48.0}}


def rows():
    return {"right": {2: {"a": 1.0}}}
"""


def make(root: Path) -> Course:
    """Write the course and return it."""
    write(root, f"exercises/{ID}/exercise.toml", EXERCISE)
    write(root, f"rubrics/{ID}/rubric.toml", RUBRIC)
    write(root, f"rubrics/{ID}/oracle.py", ORACLE)
    return Course(root)


def write(root: Path, name: str, text: str) -> Path:
    """Write one file of the course."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def spoil(root: Path, name: str, old: str, new: str) -> Path:
    """Replace text in one file, which must hold it once."""
    path = root / name
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (name, old)
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path
