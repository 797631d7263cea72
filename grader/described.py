"""A course's files and the kinds of check, described from their own models.

Nothing is written down twice: JSON Schemas and the page of kinds are what the models say.
"""

from __future__ import annotations

import importlib
import inspect
import textwrap
import types
import typing
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from grader import checks
from grader.catalog import models, questions
from grader.catalog.models import Content

# By name: which file of a course it is, and its model.
FILES: dict[str, tuple[str, type[BaseModel]]] = {
    "exercise": ("exercises/<id>/exercise.toml", models.Exercise),
    "rubric": ("rubrics/<id>/rubric.toml", models.Rubric),
    "mistakes": ("rubrics/<id>/mistakes.toml", models.Explanations),
    "questions": ("exercises/<id>/questions.toml", questions.Questions),
}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_HEAD = """\
# Kinds of check

What `[[checks]]` of a `rubric.toml` may ask, kind by kind; `grade kinds` prints this page. Each
kind is one file in `grader/checks/`, and everything below stands in its models.

A check has an `id`, a `kind`, a `title`, a `hint` shown where no mistake is named, `hints` for
`grade hint`, its `items` (each with an `id` and `points`) and `[checks.params]`.
"""


def file_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a course's file, with every kind's own items and parameters.

    Raises: KeyError for a name that is not in `FILES`.
    """
    where, model = FILES[name]
    found = model.model_json_schema()
    if name == "rubric":
        _with_kinds(found)
    return {"$schema": _DIALECT, **found, "title": where}


def _with_kinds(schema: dict[str, Any]) -> None:
    """Let the kind that a check names decide what its items and parameters may be."""
    spec = schema["$defs"]["CheckSpec"]
    spec["properties"]["kind"] = {"enum": checks.kinds(), "title": "Kind", "type": "string"}
    spec["allOf"] = [_only_if(kind, schema["$defs"]) for kind in checks.kinds()]


def _only_if(kind: str, definitions: dict[str, Any]) -> dict[str, Any]:
    own = params_of(kind).model_json_schema(ref_template=f"#/$defs/{kind}.{{model}}")
    for name, one in own.pop("$defs", {}).items():
        definitions[f"{kind}.{name}"] = one
    items = own["properties"].pop("items")
    own["required"] = [key for key in own.get("required", ()) if key != "items"]
    definitions[f"{kind}.params"] = {**own, "title": f"parameters of {kind}"}
    then: dict[str, Any] = {
        "properties": {"items": items, "params": {"$ref": f"#/$defs/{kind}.params"}}
    }
    if own["required"]:
        then["required"] = ["params"]
    return {
        "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
        "then": then,
    }


def params_of(kind: str) -> type[Content]:
    """Return the model of a kind's parameters. Raises: ImportError for a kind there is not."""
    module = importlib.import_module(f"{checks.__name__}.{kind}")
    params: type[Content] = module.Params
    return params


def kinds_page() -> str:
    """Return the page about all kinds as Markdown."""
    return "\n".join([_HEAD, *(kind_section(kind) for kind in checks.kinds())])


def kind_section(kind: str) -> str:
    """Return what is to be said about one kind as Markdown."""
    module = importlib.import_module(f"{checks.__name__}.{kind}")
    params = params_of(kind)
    parts = [f"## `{kind}`", "", _flowing(module.__doc__), ""]
    for model in _items(params):
        parts += [
            f"An item of `items` (`{model.__name__}`): {_said(model)}",
            "",
            *_table(model),
            "",
        ]
    parts += [f"`[checks.params]`: {_said(params)}", "", *_table(params, leave="items"), ""]
    parts += _own_names(kind)
    for model in _inner(params):
        parts += [f"`{model.__name__}`: {_said(model)}", "", *_table(model), ""]
    return "\n".join(parts)


def _own_names(kind: str) -> list[str]:
    """Return what a kind names without being told to, as a paragraph and a table."""
    found = checks.names(kind)
    if not found:
        return []
    said = "Mistakes that it names by itself; the rubric needs words for each of them:"
    rows = [f"| `{mistake}` | {title} |" for mistake, title in found.items()]
    return [said, "", "| mistake | shows that |", "|---|---|", *rows, ""]


def _flowing(text: str | None) -> str:
    """Return a docstring with its paragraphs as one line each, wrapped for a page."""
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    joined = [" ".join(part.split()) for part in paragraphs]
    return "\n\n".join(textwrap.fill(part, 100, break_on_hyphens=False) for part in joined)


def _said(model: type[BaseModel]) -> str:
    said = _flowing(model.__doc__)
    return said[:1].lower() + said[1:]


def _table(model: type[BaseModel], leave: str = "") -> list[str]:
    rows = ["| key | type | default |", "|---|---|---|"]
    for name, field in model.model_fields.items():
        if name != leave:
            rows.append(f"| `{name}` | {_type(field.annotation)} | {_default(field)} |")
    return rows


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    return "none" if field.default is None else f"`{field.default!r}`".replace("|", "\\|")


def _type(annotation: Any) -> str:
    """Return a type in the words of the field, without the module it comes from."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is type(None):
        return "none"
    if origin is typing.Annotated:
        return _type(inner[0])
    if origin is typing.Literal:
        return " or ".join(f'`"{one}"`' for one in inner)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_type(one) for one in inner if one is not type(None))
    if origin in (tuple, list):
        return f"list of {_type(inner[0])}"
    if origin is dict:
        return f"table of {_type(inner[1])}"
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return f"`{annotation.__name__}`"
    return {str: "text", int: "whole number", float: "number", bool: "true or false"}.get(
        annotation, "anything"
    )


def _models(annotation: Any) -> list[type[BaseModel]]:
    """Return the models that a type is made of, in order."""
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in typing.get_args(annotation) for model in _models(part)]


def _items(params: type[BaseModel]) -> list[type[BaseModel]]:
    return _models(params.model_fields["items"].annotation)


def _inner(params: type[BaseModel]) -> list[type[BaseModel]]:
    """Return the models inside parameters and items that have a table of their own yet to come."""
    seen, found = [params, *_items(params)], []
    waiting = list(seen)
    while waiting:
        for field in waiting.pop(0).model_fields.values():
            for model in _models(field.annotation):
                if model not in seen:
                    seen.append(model)
                    found.append(model)
                    waiting.append(model)
    return found
