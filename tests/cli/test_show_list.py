"""`grade list` and `grade show` are read well in a narrow terminal, and code stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.cli.show import wrapped
from tests.command import EXERCISE, ROOT, run

pytestmark = pytest.mark.once
PROMPT = ROOT / "exercises" / EXERCISE / "prompt.md"


def test_the_list_is_no_wider_than_the_terminal(tmp_path: Path) -> None:
    ran = run("list", cwd=tmp_path, env={"COLUMNS": "60"})
    assert ran.code == 0
    assert f"{EXERCISE}  " in ran.stdout
    assert max(map(len, ran.stdout.splitlines())) <= 60


def test_a_prompt_is_wrapped_where_a_width_is_named_and_kept_in_a_file(tmp_path: Path) -> None:
    narrow = run("show", EXERCISE, cwd=tmp_path, env={"COLUMNS": "60"}).stdout
    prompt = PROMPT.read_text(encoding="utf-8")
    assert narrow == wrapped(prompt, 60) != prompt
    assert narrow.split() == prompt.split()
    assert run("show", EXERCISE, cwd=tmp_path, env={"COLUMNS": ""}).stdout == prompt


def test_prose_and_lists_are_wrapped_and_nothing_else_is() -> None:
    text = """\
# A heading that is much wider than the width of forty columns

Some prose that is wider than forty columns, in
two lines, with `code that is not broken at all` in it.
* an entry that is wider than forty columns, and
  goes on here
  * a deeper one, wider than forty columns as well
1. one
2. two

```python
x = "a line of code that is wider than forty columns"  # kept
* kept
```
| a table | that is wider than the width of forty | columns |
> a quotation that is wider than the width of forty columns

    indented code that is wider than the width of forty columns
"""
    assert (
        wrapped(text, 40)
        == """\
# A heading that is much wider than the width of forty columns

Some prose that is wider than forty
columns, in two lines, with
`code that is not broken at all` in it.
* an entry that is wider than forty
  columns, and goes on here
  * a deeper one, wider than forty
    columns as well
1. one
2. two

```python
x = "a line of code that is wider than forty columns"  # kept
* kept
```
| a table | that is wider than the width of forty | columns |
> a quotation that is wider than the width of forty columns

    indented code that is wider than the width of forty columns
"""
    )


def test_what_is_long_and_has_no_blank_is_never_cut() -> None:
    link = "https://example.org/" + "a" * 90
    assert wrapped(f"see {link} there\n", 40) == f"see\n{link}\nthere\n"
    assert wrapped("", 40) == "\n"
