"""The floors of `grader/`, the three kinds of process and the sizes, kept by reading the source."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import grader

PACKAGE = Path(grader.__file__).parent

# A module imports only from lower floors. A name here is a module or a whole package of grader/;
# modules of one package may import each other, neighbours on a floor may not.
FLOORS: tuple[frozenset[str], ...] = (
    frozenset({"results"}),
    frozenset({"errors", "records"}),
    frozenset({"wire", "compare", "placement", "secret", "remembered"}),
    frozenset({"process", "hints", "answers", "mutants"}),
    frozenset({"catalog", "sandbox", "replay", "intake"}),
    frozenset({"case"}),
    frozenset({"shapes"}),
    frozenset({"checks"}),
    frozenset({"scoring", "receipt", "trust", "soundness"}),
    frozenset({"engine"}),
    frozenset({"gradebook", "portfolio", "audit", "warming", "described", "mutation"}),
    frozenset({"cli"}),
    frozenset({"__main__"}),
)
# `catalog.models` is pure records: the limits and arguments of an exercise, which both seams need.
# The fork server names the clean room's entry without importing it: the forked child does.
NEIGHBOURS = {
    ("sandbox", "catalog.models"),
    ("replay", "catalog.models"),
    ("sandbox", "replay.worker"),
}
# Only these run in a child, where JAX is; everything else belongs to the coordinator.
WITH_JAX = {
    "placement",
    "sandbox.learner",
    "sandbox.programs",
    "sandbox.round_trips",
    "sandbox.ahead",
    "sandbox.claims",
    "sandbox.statements",
    "sandbox.server",
    "replay.replayer",
    "replay.worker",
    "replay.requested",
}
MODULE_LINES = 400
FUNCTION_LINES = 60
_EXERCISE_ID = re.compile(r"\bdistributed-\d\d\b")
_MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|home|opt|root|tmp|mnt|Users)(?:/|\b)|[A-Z]:\\\\")
_DOTTED = re.compile(r"grader(?:\.\w+)+")


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@functools.cache
def _tree(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


def _imports(name: str) -> Iterator[str]:
    """Yield every module named in an import, wherever it stands, or in a string of dotted names."""
    for node in ast.walk(_tree(name)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and _DOTTED.fullmatch(node.value)
        ):
            yield node.value


def _ours(name: str) -> Iterator[str]:
    """Yield the modules of grader/ that a module depends on, without the leading `grader.`."""
    for target in _imports(name):
        if target.startswith("grader."):
            path = target.removeprefix("grader.")
            while path and path not in MODULES:
                path = path.rpartition(".")[0]
            if path:
                yield path


def _floor(name: str) -> int:
    top = name.partition(".")[0]
    return next(number for number, names in enumerate(FLOORS) if top in names)


def _docstrings(tree: ast.Module) -> set[ast.AST]:
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, holders)
        and node.body
        and isinstance(node.body[0], ast.Expr)
        and isinstance(node.body[0].value, ast.Constant)
    }


def _texts(name: str) -> Iterator[str]:
    """Yield every string of a module that is no docstring."""
    tree = _tree(name)
    prose = _docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in prose:
            yield node.value


def _functions(name: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(_tree(name)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _public(name: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the public functions of a module, and the public methods of its public classes."""
    bodies = [_tree(name).body]
    bodies += [
        node.body
        for node in _tree(name).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    for body in bodies:
        for node in body:
            if isinstance(
                node, ast.FunctionDef | ast.AsyncFunctionDef
            ) and not node.name.startswith("_"):
                yield node


every_module = pytest.mark.parametrize("name", sorted(MODULES))


def test_every_module_has_a_floor() -> None:
    known = frozenset().union(*FLOORS) | {"__init__"}
    assert {name.partition(".")[0] for name in MODULES} <= known


@every_module
def test_a_module_imports_only_from_lower_floors(name: str) -> None:
    if name == "__init__":
        assert not list(_ours(name))
        return
    top = name.partition(".")[0]
    wrong = {
        other
        for other in _ours(name)
        if other.partition(".")[0] not in (top, "__init__")
        and _floor(other) >= _floor(name)
        and (top, other) not in NEIGHBOURS
    }
    assert not wrong


@pytest.mark.parametrize("kind", sorted(n for n in MODULES if n.startswith("checks.")))
def test_kinds_of_checks_do_not_know_each_other(kind: str) -> None:
    assert not {other for other in _ours(kind) if other.startswith("checks")}


@pytest.mark.parametrize("name", sorted(n for n in MODULES if n.startswith("cli.")))
def test_only_the_command_line_may_import_the_command_line(name: str) -> None:
    assert not [
        other
        for other in MODULES
        if not other.startswith("cli") and name in _ours(other) and other != "__main__"
    ]


@every_module
def test_only_what_runs_in_a_child_imports_jax(name: str) -> None:
    found = {target.partition(".")[0] for target in _imports(name)}
    assert name in WITH_JAX or not found & {"jax", "jaxlib", "flatbuffers"}


@every_module
def test_nothing_of_a_child_is_imported_by_the_coordinator(name: str) -> None:
    if name in WITH_JAX:
        return
    with_jax = {f"grader.{module}" for module in WITH_JAX - {"sandbox.server"}}
    assert not with_jax & set(_imports(name))


def _modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def test_the_coordinator_loads_no_jax() -> None:
    loaded = _modules_after("import grader.cli.main, grader.engine, grader.cli.run")
    assert "grader.engine" in loaded
    assert not loaded & {"jax", "jaxlib"}


def test_help_loads_nothing_heavy() -> None:
    loaded = _modules_after("from grader.cli.main import run\nassert run(['--help']) == 0")
    assert not loaded & {"jax", "jaxlib", "numpy", "pydantic", "rich", "jinja2"}


@every_module
def test_modules_and_functions_stay_small(name: str) -> None:
    lines = MODULES[name].read_text(encoding="utf-8").count("\n")
    assert lines <= MODULE_LINES
    long = {
        f"{node.name}: {(node.end_lineno or 0) - node.lineno + 1} lines"
        for node in _functions(name)
        if (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES
    }
    assert not long


@every_module
def test_no_module_is_a_drawer_for_odds_and_ends(name: str) -> None:
    assert not {"utils", "util", "helpers", "helper", "common", "misc"} & set(name.split("."))


@every_module
def test_every_module_and_every_public_function_says_what_it_gives(name: str) -> None:
    assert ast.get_docstring(_tree(name))
    assert not [node.name for node in _public(name) if not ast.get_docstring(node)]


@every_module
def test_no_exercise_is_known_to_the_program(name: str) -> None:
    named = [text for text in _texts(name) if _EXERCISE_ID.search(text)]
    assert not [text for text in named if "xample" not in text]


@every_module
def test_no_path_of_one_machine_is_in_the_program(name: str) -> None:
    assert not [text for text in _texts(name) if _MACHINE_PATH.search(text)]
