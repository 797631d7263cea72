"""The portfolio's page, and where its links lead: inside the zip, or to the files on the disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from grader.portfolio import paths
from grader.portfolio.gather import Attempt
from grader.portfolio.progress import Links, portfolio
from grader.portfolio.submissions import path_of
from grader.receipt.render import fill

STEM = "portfolio"
# How a page of ours is known again, before it is written over.
MARK = '<meta name="generator" content="grade portfolio">'
_LABELS = (("html", "receipt"), ("md", "md"), ("txt", "txt"), ("json", "json"))


def page(
    attempts: Sequence[Attempt],
    submissions: Iterable[str],
    templates: Sequence[Path],
    links: Links,
    *,
    cache: Path | None = None,
    inside: bool = True,
) -> str:
    """Return the page; `templates` are searched in order for `portfolio.html.j2`.

    `inside` says that it lies in the zip, beside the manifest. Equal attempts give equal pages.

    Raises: ContentProblem, naming file, line and variable, when the template is wrong.
    """
    shown = portfolio(attempts, len(set(submissions)), links)
    return fill(STEM, "html", templates, cache=cache, portfolio=shown, inside=inside)


def inside(submissions: Iterable[str]) -> Links:
    """Return links as they are inside the zip; `submissions` are the paths of those in it."""
    there = frozenset(submissions)

    def links(one: Attempt) -> list[tuple[str, str]]:
        base = f"{paths.RECEIPTS}/{one.place}"
        found = {ending: f"{base}.{ending}" for ending in one.forms}
        own = path_of(one)
        return _labelled(found, own if own in there else "")

    return links


def on_disk(folder: Path) -> Links:
    """Return links from a page in `folder` to the files where they lie."""

    def links(one: Attempt) -> list[tuple[str, str]]:
        try:
            found = {
                ending: Path(os.path.relpath(path, folder)).as_posix()
                for ending, path in one.sources.items()
            }
        except ValueError:  # another drive of Windows
            found = {ending: path.resolve().as_posix() for ending, path in one.sources.items()}
        return _labelled(found, "")

    return links


def _labelled(found: dict[str, str], submission: str) -> list[tuple[str, str]]:
    labels = [*_LABELS, ("dsse.json", "signature")]
    named = [(label, quote(found[ending])) for ending, label in labels if ending in found]
    return [*named, ("submission", quote(submission))] if submission else named
