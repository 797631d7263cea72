"""Derive wrong variants of a right solution, one change each, to see what a rubric does not see.

The changes are those of the field: an operator, a number, an axis name, a collective that is left
out or exchanged, `tiled`, a partition. Only what a learner would have written is changed, not what
the starter brings. Mutation analysis: DeMillo, Lipton, Sayward, Hints on Test Data Selection, 1978.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from grader.errors import ContentProblem, EnvironmentProblem

if TYPE_CHECKING:
    import libcst as cst

_SUMS = {
    "psum": ("pmean", "pmax"),
    "pmean": ("psum",),
    "psum_scatter": ("psum",),
    "sum": ("mean", "max"),
    "mean": ("sum",),
}
# Called for what they bring from other devices; without them a device has its own part alone.
_COLLECTIVES = ("psum", "pmean", "all_gather", "psum_scatter", "ppermute")
_OPERATORS = {
    "Add": ("Subtract",),
    "Subtract": ("Add",),
    "Multiply": ("Divide", "Add"),
    "Divide": ("Multiply",),
    "Power": ("Multiply",),
    "FloorDivide": ("Multiply",),
}


@dataclass(frozen=True)
class Mutant:
    """One variant: the line that was changed, from 1, what was there, what is there, and all."""

    line: int
    before: str
    after: str
    source: str


def mutants(source: str, given: str = "", apart: Collection[str] = ()) -> list[Mutant]:
    """Return all variants of `source`, in the order of its lines, none of them twice.

    Args:
        source: a right solution.
        given: the starter; what stands on one of its lines is left as it is.
        apart: names that are worth no points; what they are given is left as it is.

    Raises:
        EnvironmentProblem: libcst is not installed.
        ContentProblem: the source is no Python.
    """
    try:
        import libcst as cst
        from libcst import metadata
    except ImportError:
        raise EnvironmentProblem(
            "mutants are made with libcst, which this Python does not have",
            next_step="pip install 'shardgrade[mutate]'",
        ) from None
    try:
        wrapper = metadata.MetadataWrapper(cst.parse_module(source))
    except cst.ParserSyntaxError as error:
        raise ContentProblem(
            f"the solution is no Python: {error.message}",
            next_step="give a file of accepted/ that passes",
        ) from error
    positions = wrapper.resolve(metadata.PositionProvider)
    known = {line.strip() for line in given.splitlines()}
    lines = source.splitlines()
    found: dict[str, Mutant] = {}
    for node, change in _changes(wrapper.module, apart):
        line = positions[node].start.line
        if lines[line - 1].strip() in known:
            continue
        made = wrapper.module.deep_replace(node, change)
        code = cast("cst.Module", made).code
        if code != source and code not in found:
            found[code] = Mutant(line, *_shown(lines, code.splitlines(), line), code)
    return sorted(found.values(), key=lambda one: (one.line, one.after))


def _shown(before: Sequence[str], after: Sequence[str], line: int) -> tuple[str, str]:
    """Return the first line that differs, as it was and as it is."""
    for old, new in zip(before[line - 1 :], after[line - 1 :], strict=False):
        if old != new:
            return old.strip(), new.strip()
    return before[line - 1].strip(), after[line - 1].strip() if line <= len(after) else ""


def _changes(
    module: cst.Module, apart: Collection[str]
) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """Yield each node that can be changed, with what takes its place."""
    import libcst as cst

    makers: dict[type[cst.CSTNode], Callable[[Any], Iterator[cst.CSTNode]]] = {
        cst.BinaryOperation: _operators,
        cst.AugAssign: _assigned,
        cst.UnaryOperation: _signs,
        cst.Integer: _integers,
        cst.Float: _floats,
        cst.SimpleString: _texts,
        cst.Call: _calls,
        cst.Arg: _arguments,
        cst.Subscript: _subscripts,
        cst.Attribute: _attributes,
    }
    stack: list[cst.CSTNode] = [module]
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Import | cst.ImportFrom | cst.Assert) or _is_aside(node, apart):
            continue
        maker = makers.get(type(node))
        if maker is not None:
            for change in maker(node):
                yield node, change
        stack += reversed(node.children)


def _is_aside(node: cst.CSTNode, apart: Collection[str]) -> bool:
    """Return whether a statement decides nothing: a docstring, a look at what came out."""
    import libcst as cst

    if isinstance(node, cst.Assign):
        names = (target.target for target in node.targets)
        return any(isinstance(name, cst.Name) and name.value in apart for name in names)
    if not isinstance(node, cst.Expr):
        return False
    called = _called(node.value) if isinstance(node.value, cst.Call) else ""
    return isinstance(node.value, cst.SimpleString) or called.startswith(("assert_", "print"))


def _operators(node: cst.BinaryOperation) -> Iterator[cst.CSTNode]:
    import libcst as cst

    for name in _OPERATORS.get(type(node.operator).__name__, ()):
        yield node.with_changes(operator=getattr(cst, name)())


def _assigned(node: cst.AugAssign) -> Iterator[cst.CSTNode]:
    import libcst as cst

    kind = type(node.operator).__name__.removesuffix("Assign")
    for name in _OPERATORS.get(kind, ()):
        yield node.with_changes(operator=getattr(cst, f"{name}Assign")())


def _signs(node: cst.UnaryOperation) -> Iterator[cst.CSTNode]:
    yield node.expression


def _integers(node: cst.Integer) -> Iterator[cst.CSTNode]:
    number = int(node.value.replace("_", ""), 0)
    for other in dict.fromkeys((number + 1, number * 2, number - 1)):
        if other >= 0 and other != number:
            yield node.with_changes(value=str(other))


def _floats(node: cst.Float) -> Iterator[cst.CSTNode]:
    import libcst as cst

    number = float(node.value.replace("_", ""))
    for other in dict.fromkeys((number * 2, 1.0 - number, 0.0)):
        if other >= 0 and other != number:
            yield cst.Float(repr(other))


def _texts(node: cst.SimpleString) -> Iterator[cst.CSTNode]:
    """Change a short name, as an axis has one; sentences are left alone."""
    text = node.raw_value
    if text.isidentifier() and not node.prefix:
        yield node.with_changes(value=f"{node.quote}{text}_{node.quote}")


def _called(node: cst.Call) -> str:
    import libcst as cst

    if isinstance(node.func, cst.Attribute):
        return node.func.attr.value
    return node.func.value if isinstance(node.func, cst.Name) else ""


def _calls(node: cst.Call) -> Iterator[cst.CSTNode]:
    import libcst as cst

    name, positional = _called(node), [arg for arg in node.args if arg.keyword is None]
    for other in _SUMS.get(name, ()):
        func = node.func
        renamed = (
            func.with_changes(attr=cst.Name(other))
            if isinstance(func, cst.Attribute)
            else cst.Name(other)
        )
        kept = [arg for arg in node.args if arg.keyword is None or name == other]
        yield node.with_changes(func=renamed, args=[_last(arg) for arg in kept])
    if name in _COLLECTIVES and positional:
        yield positional[0].value
    if name in ("P", "PartitionSpec"):
        yield from _partitions(node)
    if len(positional) == 2 and len(node.args) == 2 and name not in _COLLECTIVES:
        first, second = positional
        yield node.with_changes(
            args=[first.with_changes(value=second.value), second.with_changes(value=first.value)]
        )


def _last(arg: cst.Arg) -> cst.Arg:
    """Return an argument whose comma, if any, fits wherever it comes to stand."""
    import libcst as cst

    return arg.with_changes(
        comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=cst.SimpleWhitespace("")
    )


def _partitions(node: cst.Call) -> Iterator[cst.CSTNode]:
    import libcst as cst

    if not node.args:
        yield node.with_changes(args=[cst.Arg(cst.SimpleString('"data"'))])
        return
    yield node.with_changes(args=[])
    if len(node.args) > 1:
        turned = [_last(arg) for arg in reversed(node.args)]
        yield node.with_changes(args=turned)


def _arguments(node: cst.Arg) -> Iterator[cst.CSTNode]:
    """Turn a switch round."""
    import libcst as cst

    value = node.value
    if (
        node.keyword is not None
        and isinstance(value, cst.Name)
        and value.value in ("True", "False")
    ):
        other = "False" if value.value == "True" else "True"
        yield node.with_changes(value=cst.Name(other))


def _subscripts(node: cst.Subscript) -> Iterator[cst.CSTNode]:
    """Take an index off: no reversal, no part, no order."""
    yield node.value


def _attributes(node: cst.Attribute) -> Iterator[cst.CSTNode]:
    if node.attr.value == "T":
        yield node.value
