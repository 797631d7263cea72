"""Names that a module gives a value only inside one of its functions are found without a call."""

from __future__ import annotations

from typing import Any

import pytest

from grader.sandbox import learner

pytestmark = pytest.mark.once
SOURCE = """
def helper(x2):
    return x2

def main():
    r2 = 1
    def inner():
        return w2
    w2 = 2
    global y2
    y2 = 3

def later():
    r2 = 4

new_v = 5

class Odd:
    @property
    def __code__(self):
        raise SystemExit

odd = Odd()
"""
JOB: dict[str, Any] = {
    "filename": "mine.py",
    "programs": [{"name": "gather"}],
    "claims": ["r2", "w2", "x2", "y2", "new_v"],
    "round_trips": [],
}


def inside(filename: str) -> dict[str, str]:
    module: dict[str, Any] = {"__name__": "mine"}
    exec(compile(SOURCE, filename, "exec"), module)
    return learner._inside(module, JOB)


def test_a_name_is_found_in_the_first_function_that_binds_it_and_is_no_parameter() -> None:
    assert inside("mine.py") == {"r2": "main", "w2": "main"}


def test_functions_of_other_files_are_not_looked_at() -> None:
    assert inside("library.py") == {}
