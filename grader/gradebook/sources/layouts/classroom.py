"""GitHub Classroom's clones: `<slug>-submissions/<slug>-<user>/`, a repository each.

Source: github/gh-classroom, which clones them, 2026. What `.git` holds is never read.
"""

from __future__ import annotations

import itertools

from grader.gradebook.sources.found import Found, Reading, Wanted
from grader.gradebook.sources.tree import Tree
from grader.records.gradebook import Note, Person

NAME = "classroom"

_ENDING = "-submissions"


def looks_like(tree: Tree) -> float:
    """Return how sure the folder's name and its repositories' names make it."""
    names = list(tree.folders)
    if not names:
        return 0.0
    if tree.name.endswith(_ENDING):
        slug = tree.name.removesuffix(_ENDING)
        part = sum(1 for name in names if name.startswith(f"{slug}-")) / len(names)
        return 0.95 * part
    cloned = [name for name in names if name in tree.repositories]
    shared = len(names) > 1 and _slug(tree) != ""
    return 0.8 * len(cloned) / len(names) if shared else 0.0


def _slug(tree: Tree) -> str:
    """Return what comes before the user in each name, as far as it ends at a dash."""
    if tree.name.endswith(_ENDING):
        return tree.name.removesuffix(_ENDING)
    if len(tree.folders) < 2:
        # One repository shares its whole name with itself, user and all.
        return ""
    first, last = min(tree.folders), max(tree.folders)
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(one for one, _ in alike).rpartition("-")[0]


def read(tree: Tree, wanted: Wanted) -> Reading:
    """Return the files of each repository."""
    slug = _slug(tree)
    notes = [Note("ignored", one.shown, "it lies in no repository") for one in tree.files]
    found = []
    for name, inside in tree.folders.items():
        user = name.removeprefix(f"{slug}-") if slug else name
        person = Person("", user, ids={"github": user})
        ids = {"github_repository": name}
        found.append(Found((person,), inside, inside.where, ids=ids))
    return Reading(tuple(found), notes=tuple(notes))
