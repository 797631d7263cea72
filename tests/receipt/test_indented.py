"""Our own indented JSON is the standard library's, to the byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.receipt import indented
from tests.receipt import factory

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=30,
)


def plain(value: Any, *, sort_keys: bool = False) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, sort_keys=sort_keys)


@given(VALUES, st.booleans())
def test_it_is_the_text_of_the_standard_library(value: Any, sort_keys: bool) -> None:
    assert indented.dumps(value, sort_keys=sort_keys) == plain(value, sort_keys=sort_keys)


@pytest.mark.parametrize("made", [factory.passed, factory.failed, factory.error, factory.undecided])
def test_a_receipt_is_the_same(made: Any) -> None:
    record = made().model_dump(mode="json")
    assert indented.dumps(record) == plain(record)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [{"a": float("-inf")}]])
def test_a_number_that_is_none_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        indented.dumps(value)


@pytest.mark.parametrize("value", [b"", object(), {1: 2}, [{None: 1}], {"a": {1}}])
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        indented.dumps(value)
