"""Turns a receipt into text: HTML, Markdown, plain text or JSON, from the course's templates.

It decides nothing. Whatever a template prints is escaped for its form, whether or not the template
asks for it, so that no text in a receipt can act on its reader.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, Literal

from grader.errors import ContentProblem
from grader.receipt import (
    escape,
    exhibits,
    figure,
    indented,
    layout,
    placed,
    quoting,
    tables,
    view,
)
from grader.records.receipt import Receipt

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment

Form = Literal["html", "md", "txt", "json"]

# Texts up to this length are kept as they were escaped, this many of them.
_SHORT = 80
_MOST_AGAIN = 2048

_LINE: Mapping[str, Callable[[str], str]] = {
    "html": escape.visible,
    "md": escape.markdown,
    "txt": escape.visible_line,
}


# What templates may call; a module would hand them everything it imports.
_FILTERS = {
    function.__name__: function
    for function in (
        view.headline, view.summary, view.glyph, view.word, view.stopped, view.words, view.number,
        view.shape, view.collectives, view.share, view.sentence, view.moment, view.explanations,
        view.agreement, view.prediction, view.predicted_when, view.checkpoint, view.quiz_tries,
        view.hints_seen, view.answers, view.record, view.digests, exhibits.evidence, exhibits.lines,
        exhibits.line_text, exhibits.place, exhibits.advice, view.observed_in_one,
        quoting.excerpts, quoting.listing, quoting.numbered, placed.groups, figure.figure,
        tables.check_rows, tables.item_rows, tables.device_rows, tables.figure_rows,
        tables.payload_rows, tables.collective_rows, tables.timing_rows, tables.prediction_rows,
    )
}  # fmt: skip


def render(
    receipt: Receipt, form: Form, templates: Sequence[Path], *, cache: Path | None = None
) -> str:
    """Return `receipt` in `form`; `templates` are searched in order for `receipt.<form>.j2`.

    `cache` is a folder for compiled templates that nobody else can write to.

    Raises: ContentProblem, naming file, line and variable, when a template is missing or wrong.
    """
    if form == "json":
        return to_json(receipt)
    return fill("receipt", form, templates, cache=cache, receipt=receipt)


def fill(
    stem: str, form: Form, templates: Sequence[Path], *, cache: Path | None = None, **given: Any
) -> str:
    """Return the template `<stem>.<form>.j2`, filled with what is given by name.

    Raises: ContentProblem, as `render` does.
    """
    environment = _environment(form, tuple(templates), cache)
    try:
        return environment.get_template(f"{stem}.{form}.j2").render(given)
    except Exception as error:
        raise _problem(error, form, templates) from error


def prepare(form: Form, templates: Sequence[Path], cache: Path | None) -> None:
    """Load the template of one form now, so that `render` is quick later.

    Raises: ContentProblem, as `render` does, when the template is missing or is no template.
    """
    try:
        _environment(form, tuple(templates), cache).get_template(f"receipt.{form}.j2")
    except Exception as error:
        raise _problem(error, form, templates) from error


def to_json(receipt: Receipt) -> str:
    """Return the receipt as indented JSON: same record, same bytes; hidden characters escaped."""
    return escape.json_text(indented.dumps(receipt.model_dump(mode="json"))) + "\n"


@lru_cache(maxsize=16)
def _environment(form: str, templates: tuple[Path, ...], cache: Path | None) -> Environment:
    # Imported here because jinja2 costs more than everything else the coordinator starts with.
    from jinja2 import FileSystemLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader([str(folder) for folder in templates]),
        undefined=StrictUndefined,
        # On for every form: `finalize` escapes for the form and marks the result as ready, and
        # what is ready passes through `markupsafe.escape` unchanged.
        autoescape=True,
        finalize=_finalizer(_LINE[form]),
        bytecode_cache=_bytecode_cache(cache),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(_filters(form))
    return environment


def _finalizer(line: Callable[[str], str]) -> Callable[[Any], Any]:
    from markupsafe import Markup
    from markupsafe import escape as html_escape

    def ready(text: str) -> Markup:
        return html_escape(line(text)) if line is escape.visible else Markup(line(text))

    # The same few words, names and numbers come again and again, in every receipt.
    again = lru_cache(maxsize=_MOST_AGAIN)(ready)

    def finalize(value: Any) -> Any:
        if hasattr(value, "__html__"):
            return value
        text = value if isinstance(value, str) else view.number(value)
        return again(text) if len(text) <= _SHORT else ready(text)

    return finalize


def _filters(form: str) -> dict[str, Callable[..., Any]]:
    """Return the filters of templates: those that arrange, and those that mark up text."""
    from markupsafe import Markup
    from markupsafe import escape as html_escape

    def html(text: str) -> str:
        return str(html_escape(escape.visible(text)))

    def html_code(text: str) -> str:
        return f"<code>{html(text)}</code>"

    def html_lines(piece: list[quoting.Line]) -> str:
        """Return numbered lines in one go: a submission has hundreds."""
        return "".join(_html_line(line, html(line.text)) for line in piece)

    ready: dict[str, dict[str, Callable[..., str]]] = {
        "html": {
            "code": html_code,
            "numbered": html_lines,
            "prose": lambda text: layout.prose(text, html, html_code),
        },
        "md": {
            "code": escape.markdown_code,
            "prose": _markdown_prose,
            "block": escape.markdown_fence,
            "cells": lambda row: " | ".join(map(_markdown_cell, row)),
        },
        "txt": {"block": layout.quoted, "prose": layout.wrapped, "columns": layout.columns},
    }

    def marked(make: Callable[..., str]) -> Callable[..., Markup]:
        return lambda *given, **named: Markup(make(*given, **named))

    return {**_FILTERS, **{name: marked(make) for name, make in ready[form].items()}}


def _markdown_cell(cell: str) -> str:
    return _again_markdown(cell) if len(cell) <= _SHORT else _markdown_prose(cell)


def _markdown_prose(text: str) -> str:
    return layout.prose(text, escape.markdown, escape.markdown_code)


_again_markdown = lru_cache(maxsize=_MOST_AGAIN)(_markdown_prose)


def _html_line(line: quoting.Line, text: str) -> str:
    tag = "mark" if line.marked else "span"
    return f'<{tag}><i class="no">{line.label}</i>{text}\n</{tag}>'


def _bytecode_cache(cache: Path | None) -> BytecodeCache | None:
    """Return a store of compiled templates in `cache`, None where that cannot be written."""
    if cache is None:
        return None
    from jinja2 import FileSystemBytecodeCache

    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return FileSystemBytecodeCache(str(cache)) if os.access(cache, os.W_OK) else None


def _problem(error: Exception, form: Form, templates: Sequence[Path]) -> ContentProblem:
    """Return what is wrong with a template: the file, the line, and the words on that line."""
    from jinja2 import TemplateNotFound, TemplateSyntaxError

    folders = ", ".join(str(folder) for folder in templates)
    if isinstance(error, TemplateNotFound):
        step = f"put it into one of: {folders}"
        return ContentProblem(f"The template {error.name} is missing", next_step=step)
    if isinstance(error, TemplateSyntaxError):
        file, line = error.filename or f"receipt.{form}.j2", error.lineno
    else:
        file, line = _template_line(error, form)
    reason = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
    return ContentProblem(
        f"The template {Path(file).name} is wrong: {reason}",
        where=f"{file}, line {line}" + _quote(file, line),
        next_step="correct that line, or remove the file to use the template that comes with grade",
    )


def _template_line(error: Exception, form: str) -> tuple[str, int]:
    """Return the innermost place in a template that an exception passed through."""
    frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename.endswith(".j2")]
    return (frames[-1].filename, frames[-1].lineno or 0) if frames else (f"receipt.{form}.j2", 0)


def _quote(file: str, line: int) -> str:
    try:
        text = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()[line - 1]
    except (OSError, IndexError):
        return ""
    return f": {escape.visible_line(text.strip())}" if line else ""
