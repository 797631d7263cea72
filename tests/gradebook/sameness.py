"""Results without what differs from one run to the next, and nothing else taken away.

Of a receipt those are four fields of its record. Their text goes from the Markdown and the page as
well: each piece has to be there exactly once, or the comparison fails.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from markupsafe import escape as html_escape

from grader.receipt.escape import markdown, markdown_fence, visible
from grader.receipt.view import moment, number
from grader.trust import page
from tests.gradebook.bulk import files

VARYING = ("created_at", "wall_s", "observed_cpu_us", "output")
FORMS = ("md", "html")
Export = Callable[..., dict[str, bytes]]
# Each form that an export takes, with what it is given besides, but for one learner's own.
EXPORTS: Mapping[str, tuple[str, ...]] = {
    "csv": (),
    "json": (),
    "junit": (),
    "github-classroom": (),
    "canvas": ("--template", "canvas.csv", "--column", "991"),
    "canvas-feedback": (),
    "moodle": ("--template", "moodle.csv"),
    "moodle-feedback": (),
}

_RECORD = re.compile(
    r'<script type="application/vnd\.grade\.receipt\+json".*?</script>\n', re.DOTALL
)
_TIMES = re.compile(r"<!-- times -->.*?<!-- end of times -->", re.DOTALL)
_SUITE = re.compile(r'(<testsuite [^>]*?) time="[^"]*" timestamp="[^"]*"')


def reduced(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a receipt's record without the fields that vary; all of them have to be there."""
    assert set(VARYING) <= set(record)
    return {key: value for key, value in record.items() if key not in VARYING}


def without(text: str, pieces: list[str]) -> str:
    """Return a text without these pieces, each of which it has exactly once."""
    for piece in pieces:
        assert text.count(piece) == 1, (text.count(piece), piece)
        text = text.replace(piece, "")
    return text


def rendered(record: Mapping[str, Any], form: str, text: str) -> str:
    """Return a receipt's Markdown or page without the text of the fields that vary."""
    return without(text, _pieces(record, form))


def _pieces(record: Mapping[str, Any], form: str) -> list[str]:
    when, took = moment(record["created_at"]), number(record["wall_s"])
    rows = [
        (row["program"], number(row["median_us"]), ", ".join(map(number, row["samples_us"])))
        for row in record["observed_cpu_us"]["rows"]
    ]
    if form == "md":
        return [
            f", graded {when} in {took} s.\n",
            f"- Graded: {when}, in {took} s\n",
            *(f"| {markdown(name)} | {median} | {samples} |\n" for name, median, samples in rows),
            _printed(record["output"], "{}\n\n{}\n", markdown_fence),
        ]
    return [
        f", graded {when} in {took} s</p>",
        f"<dt>Graded</dt><dd>{when}, in {took} s</dd>",
        *(
            f'<tr><th scope="row"><code>{html_escape(name)}</code></th>'
            f'<td class="num">{median}</td><td>{samples}</td></tr>'
            for name, median, samples in rows
        ),
        _printed(
            record["output"],
            '<p class="soft">{}</p>\n  <pre tabindex="0">{}</pre>',
            lambda said: str(html_escape(visible(said))),
        ),
    ]


def _printed(output: Mapping[str, Any], form: str, marked: Callable[[str], str]) -> str:
    """Return what a receipt shows of the output; where there is none, the end that says so."""
    if not output["text"]:
        return '<p class="soft">Nothing.</p>' if "<" in form else "\nNothing.\n"
    cut = "; the middle is left out" if output["cut"] else ""
    return form.format(f"{output['total_bytes']} bytes in all{cut}.", marked(output["text"]))


def canonical(folder: Path) -> dict[str, bytes]:
    """Return the files of some results as they are to be the same in every run."""
    found = {}
    for name, raw in files(folder).items():
        if name.endswith("report.html"):
            text, count = _TIMES.subn("", raw.decode())
            assert count == 1, name
            found[name] = text.encode()
        elif "receipts/" in name:
            stem, _, form = name.rpartition(".")
            record = json.loads((folder / f"{stem}.json").read_bytes())
            if form == "json":
                found[name] = json.dumps(reduced(record)).encode()
            elif form == "html":
                # The record in the page is the one beside it, which is compared as it is.
                assert page.split(raw).receipt == (folder / f"{stem}.json").read_bytes()
                text, count = _RECORD.subn("", raw.decode())
                assert count == 1, name
                found[name] = rendered(record, form, text).encode()
            else:
                found[name] = rendered(record, form, raw.decode()).encode()
        else:
            found[name] = raw
    return found


# ------------------------------------------------------------------------------------------ exports


def every_export(export: Export, folder: Path, learner: str) -> dict[str, Any]:
    """Return what `export` gives in every form, as it is to be the same in every run.

    `folder` holds the results; every receipt that comes out has to be one that lies there.
    `learner` is whose results Gradescope gets; `canvas.csv` and `moodle.csv` are to be filled.
    """
    same = canonical(folder)
    there = {
        raw.decode(): same[name].decode()
        for name, raw in files(folder).items()
        if "receipts/" in name
    }
    forms = {**EXPORTS, "gradescope": ("--learner", learner)}
    return {
        f"{form}: {name}": _export(form, raw, there)
        for form, given in forms.items()
        for name, raw in export(form, *given).items()
    }


def _export(form: str, raw: bytes, there: Mapping[str, str]) -> Any:
    if form.endswith("-feedback"):
        return _archive(raw, there)
    if form == "json":
        facts = json.loads(raw)
        for row in facts["rows"]:
            row["receipt"] = row["receipt"] and reduced(row["receipt"])
        return json.dumps(facts)
    if form == "junit":
        text, count = _SUITE.subn(r"\1", raw.decode())
        assert count == text.count("<testsuite ")
        return text
    if form == "gradescope":
        facts = json.loads(raw)
        facts.pop("execution_time")
        said = facts["output"]
        (inside,) = [text for text in there if said.endswith(f"\n\n{text}")]
        facts["output"] = said.removesuffix(inside) + there[inside]
        return json.dumps(facts)
    return raw


def _archive(raw: bytes, there: Mapping[str, str]) -> list[tuple[Any, ...]]:
    """Return all that a zip says of each member, in its order, and the receipt in it."""
    with zipfile.ZipFile(io.BytesIO(raw)) as file:
        return [
            (one.filename, one.date_time, one.compress_type, one.external_attr, one.create_system,
             there[file.read(one).decode()])
            for one in file.infolist()
        ]  # fmt: skip
