"""Collects every English message of the program as a template, and compiles what was translated.

`python -m tests.messages` writes grader/locale/grade.pot, brings each .po in step with it and
compiles it; the tests only read.
"""

from __future__ import annotations

import ast
import datetime
import functools
import importlib
import inspect
import io
import re
import typing
from collections.abc import Iterator
from pathlib import Path

import click
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

import grader
from grader.receipt import view
from grader.records.evidence import OutcomeKind

PACKAGE = Path(grader.__file__).parent
LOCALE = PACKAGE / "locale"
TEMPLATE = LOCALE / "grade.pot"

# What a person reads in the terminal is written in these; pages, and what one of our processes
# says to another, are not.
_READ = (
    *("*.py", "checks/*.py", "catalog/*.py", "cli/*.py", "gradebook/**/*.py", "portfolio/*.py"),
    *("receipt/*.py", "trust/*.py", "sandbox/*.py", "replay/*.py", "records/cells.py"),
)
_PASSED_OVER = {
    *("cli/completing.py", "cli/language.py", "gradebook/report.py", "portfolio/page.py"),
    *("portfolio/chart.py", "sandbox/seccomp.py", "sandbox/landlock.py", "receipt/tables.py"),
    *("trust/page.py", "receipt/layout.py", "receipt/figure.py", "described.py"),
}
# What is given to these is compared, looked up or matched.
_NO_MESSAGE = frozenset(
    (
        *("startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition"),
        *("split", "rsplit", "replace", "compile", "match", "fullmatch", "search", "sub"),
        *("findall", "finditer", "get", "import_module", "getattr", "hasattr", "encode", "decode"),
        *("strip", "lstrip", "rstrip", "TypeVar", "Literal", "getenv", "pop", "find", "index"),
        *("count", "argument", "escape", "cast"),
    )
)
_NO_MESSAGE_KEYWORDS = frozenset({"metavar", "encoding", "name", "title", "kind", "type"})
# Headers that would make two equal files differ, or that name nobody.
_OF_THE_MOMENT = re.compile(
    r'^"(?:POT-Creation-Date|PO-Revision-Date|Generated-By|Last-Translator|Language-Team'
    r"|Report-Msgid-Bugs-To): .*\n",
    re.MULTILINE,
)
_WORD = re.compile(r"[A-Za-z]{2,}")
_PROSE = re.compile(r"[A-Za-z`'’)},:]\s+[A-Za-z`'({]|\bgrade: ")
_CODE = re.compile(r"[\\^]|\(\?|\{\{|\n\s*\n|^[<\[]|^\W*(?:import|from|def|class|lambda) ")

# Said by Click, as it is shown here.
OF_CLICK = (
    *("Usage:", "Options", "Commands", "Show this message and exit.", "Show the version and exit."),
    *("missing argument '{0}'", "missing option '{0}'", "option '{0}' requires an argument"),
    *("option '{0}' does not take a value", "got unexpected extra argument ({0})"),
    *("got unexpected extra arguments ({0})", "invalid value for '{0}': {1}"),
    *("{0} is not one of {1}", "{0} is not a valid integer range", "{0} is not in the range {1}"),
    "[default: {0}]",
)
# What stands around other messages, and words that are made of a record's own.
AROUND = (
    *("grade: {0}", "Next: {0}", "Example: {0}", "`{0}` and `{1}`", "receipt", "a list"),
    "predicted",
)
# What `meaning.counted` makes of a number and a thing.
_COUNTED = "value values device devices argument arguments dimension dimensions entry entries"
COMPOSED = (
    *("{0} more", "{0} fewer"),
    "the {0} entries of dimension {1} of `{2}`, of shape {3}, {4}, as {5} asks",
    "in_specs has {0}, and the function is called with {1}",
    "returns a tuple of {0}, not one array",
    "returns a list of {0}, not one array",
)
COUNTED = tuple(
    f"{'{0}' if thing.endswith('s') else '1'} {thing}"
    for thing in (*_COUNTED.split(), "CPU device", "CPU devices")
)


def sources() -> list[tuple[str, Path]]:
    """Return the files that hold messages, by their name in the package."""
    found = {path for pattern in _READ for path in PACKAGE.glob(pattern)}
    named = [(path.relative_to(PACKAGE).as_posix(), path) for path in sorted(found)]
    return [(name, path) for name, path in named if name not in _PASSED_OVER]


@functools.cache
def collected() -> dict[str, set[str]]:
    """Return every message, with the files that say it."""
    found: dict[str, set[str]] = {}

    def add(text: str, where: str) -> None:
        found.setdefault(text, set()).add(where)

    for name, path in sources():
        for text in _Reader(ast.parse(path.read_text(encoding="utf-8"))).messages():
            add(text, f"grader/{name}")
            if name.startswith(("checks/", "case")):
                for joint in _joint(text):
                    add(joint, f"grader/{name}")
    for text in (*OF_CLICK, *AROUND, *COMPOSED, *COUNTED):
        add(text, "tests/messages.py")
    for text in _words_of_a_verdict():
        add(text, "grader/receipt/view.py")
    for command_name, text in _helps():
        add(text, f"grade {command_name}")
    return found


def _words_of_a_verdict() -> Iterator[str]:
    for table in (view._HEADLINES, view._WORDS):
        yield from table.values()
    for kind in typing.get_args(OutcomeKind):
        yield view.sentence(kind)


def _joint(text: str) -> Iterator[str]:
    """Yield what is said of one name as `view.grouped` says it of several."""
    if re.match(r"(?:is|has|does|raises|calls|returns|gives) ", text):
        verb, _, rest = text.partition(" ")
        yield f"{view._plural(verb)} {rest}"
    if not re.match(r"`\{0\}` [a-z]", text):
        return
    (said,) = view.grouped([text.replace("{0}", "{first}"), text.replace("{0}", "{last}")])
    renumbered = re.sub(r"\{(\d+)\}", lambda m: f"{{{int(m[1]) + 1}}}", said)
    yield " ".join(renumbered.replace("`{first}`", "{0}").replace("{last}", "{1}").split())


def commands() -> dict[str, click.Command]:
    """Return every command by its name; the one that grades goes by `EXERCISE`."""
    from grader.cli import main

    named = {name: module for name, (module, _text) in main._COMMANDS.items()}
    named["EXERCISE"] = main._RUN
    found = {name: importlib.import_module(module).command for name, module in named.items()}
    return {"": main.cli, **found}


def _helps() -> Iterator[tuple[str, str]]:
    from grader.cli import main

    for heading, section in main._SECTIONS.items():
        yield "", heading
        yield from (("", text) for _module, text in section.values())
    yield "", "Grading"
    yield "", "Grade FILE; a folder, an archive or several are a class."
    for name, command in commands().items():
        for part in inspect.cleandoc(command.help or "").split("\n\n"):
            if not part.startswith("Example"):
                yield name, " ".join(part.split())
        for param in command.params:
            told = getattr(param, "help", None)
            if told:
                yield name, " ".join(told.split())


class _Reader:
    """Reads the messages of one module from its syntax."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.parent = {c: p for p in ast.walk(tree) for c in ast.iter_child_nodes(p)}

    def messages(self) -> Iterator[str]:
        for node in ast.walk(self.tree):
            if self._is_text(node) and not self._is_text(self.parent[node]):
                text = " ".join(template(node).split())
                if self._is_label(node) or (_is_prose(text) and self._is_said(node)):
                    yield text

    def _is_text(self, node: ast.AST) -> bool:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._is_text(node.left) or self._is_text(node.right)
        if isinstance(node, ast.Constant):
            return isinstance(node.value, str)
        return isinstance(node, ast.JoinedStr)

    def _is_label(self, node: ast.AST) -> bool:
        """Return whether it stands before a paragraph: `label=`, or the second of `show`."""
        up, place = self.parent[node], node
        if isinstance(up, ast.IfExp) and node is not up.test:
            place, up = up, self.parent[up]
        if not _WORD.search(re.sub(r"\{\d+\}", "", template(node))):
            return False
        if isinstance(up, ast.keyword):
            return up.arg == "label"
        if not isinstance(up, ast.Call):
            return False
        at = {"show": 1, "_row": 0}.get(_called(up), len(up.args))
        return at < len(up.args) and up.args[at] is place

    def _is_said(self, node: ast.AST) -> bool:
        child, up = node, self.parent[node]
        while not isinstance(up, ast.stmt):
            if isinstance(up, ast.Compare | ast.Subscript) or _is_key(up, child):
                return False
            if isinstance(up, ast.keyword) and up.arg in _NO_MESSAGE_KEYWORDS:
                return False
            if isinstance(up, ast.Call) and child in up.args and _called(up) in _NO_MESSAGE:
                # What `get` gives where nothing is found may be said.
                return _called(up) == "get" and child is not up.args[0]
            if isinstance(up, ast.arg | ast.arguments):
                return False
            child, up = up, self.parent[up]
        if isinstance(up, ast.AnnAssign):
            # Rules are patterns of what others say.
            return child is not up.annotation and getattr(up.target, "id", "") != "RULES"
        return not isinstance(up, ast.Expr | ast.FunctionDef | ast.ClassDef) or isinstance(
            child, ast.Call | ast.Yield
        )


def _is_key(up: ast.AST, child: ast.AST) -> bool:
    return isinstance(up, ast.Dict) and child in up.keys


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _is_prose(text: str) -> bool:
    bare = re.sub(r"\{\d+\}", "", text)
    return bool(_WORD.search(bare) and _PROSE.search(text) and not _CODE.search(text))


def template(node: ast.AST) -> str:
    """Return a text with a numbered place for each value; the same value has the same place."""
    places: dict[str, int] = {}
    text = "".join(_pieces(node, places))
    # Values side by side are one: nothing tells where the first ends.
    return re.sub(r"\{\d+\}", _renumbered(), re.sub(r"(\{\d+\})(?:\s*\{\d+\})+", r"\1", text))


def _renumbered() -> typing.Callable[[re.Match[str]], str]:
    seen: dict[str, str] = {}
    return lambda found: seen.setdefault(found[0], f"{{{len(seen)}}}")


def _pieces(node: ast.AST, places: dict[str, int]) -> Iterator[str]:
    if isinstance(node, ast.JoinedStr):
        for value in node.values:
            yield from _pieces(value, places)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _pieces(node.left, places)
        yield from _pieces(node.right, places)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value.replace("{", "{{").replace("}", "}}")
    else:
        value = node.value if isinstance(node, ast.FormattedValue) else node
        yield f"{{{places.setdefault(ast.dump(value), len(places))}}}"


# ----------------------------------------------------------------------------------------- files


def languages() -> list[Path]:
    """Return the .po of every language."""
    return sorted(LOCALE.glob("*/LC_MESSAGES/grade.po"))


def read(path: Path, locale: str | None = None) -> Catalog:
    """Return what a .pot or .po holds."""
    with path.open("rb") as file:
        return read_po(file, locale=locale)


def compiled(path: Path) -> bytes:
    """Return the .mo of a .po."""
    out, found = io.BytesIO(), read(path, path.parts[-3])
    # Where a file says no date, the moment of reading would stand there.
    found.creation_date = found.revision_date = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
    write_mo(out, found)
    return out.getvalue()


def _template() -> Catalog:
    made = Catalog(project="grade", version="1", charset="utf-8", fuzzy=False)
    for text, where in sorted(collected().items()):
        made.add(text, locations=[(name.replace(" ", ":"), 0) for name in sorted(where)])
    return made


def _write(path: Path, catalog: Catalog) -> None:
    out = io.BytesIO()
    write_po(out, catalog, width=96, include_lineno=False, omit_header=False)
    text = _OF_THE_MOMENT.sub("", out.getvalue().decode())
    path.write_text(re.sub(r"\A(?:#.*\n)+", "", text), encoding="utf-8")


def main() -> None:
    """Write the template, bring every language in step, compile."""
    made = _template()
    LOCALE.mkdir(exist_ok=True)
    _write(TEMPLATE, made)
    for path in languages():
        known = read(path, path.parts[-3])
        known.update(made, no_fuzzy_matching=True)
        known.obsolete.clear()
        _write(path, known)
        path.with_suffix(".mo").write_bytes(compiled(path))


if __name__ == "__main__":
    main()
