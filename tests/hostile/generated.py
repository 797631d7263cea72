"""Attacks whose source is too long to lie in the repository, written when they are needed."""

from __future__ import annotations

_RUNS = "# outcome: finished\n# verdict: failed\n# points: 0\n"

GENERATED = {
    "source_of_1e5_lines": _RUNS
    + '"""A hundred thousand statements, each of which is compiled and reported."""\n'
    + "".join(f"a{i} = {i}\n" for i in range(100_000)),
    "source_in_one_line": _RUNS
    + '"""One line of a megabyte."""\n'
    + "numbers = ["
    + "1," * 500_000
    + "]\n",
    "source_nested_deep": "# outcome: syntax_error\n# verdict: error\n# points: 0\n"
    '"""Brackets deeper than any compiler goes."""\n'
    + "x = "
    + "[" * 100_000
    + "]" * 100_000
    + "\n",
    "source_of_operators": "# outcome: syntax_error, killed, no_result\n# verdict: error\n"
    "# points: 0\n"
    '"""A chain of signs that a recursive parser follows to the end of its stack."""\n'
    + "x = "
    + "-" * 1_000_000
    + "1\n",
    "name_of_1e5_letters": _RUNS
    + '"""Names as long as a book, defined, called and left for the report."""\n'
    + f"def {'f' * 100_000}():\n    return 1\n\n\n"
    + f"{'all_gradient' * 10_000} = {'f' * 100_000}()\n"
    + f"class {'C' * 100_000}(Exception):\n    pass\n\n\n"
    + f"budget = {'C' * 100_000}()\nring_all_bytes = [{'C' * 100_000}]\n"
    + "globals()['\\n' * 100_000] = globals()['\\x1b[2J'] = 1\n",
}
