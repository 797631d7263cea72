"""Check a portfolio before anything of it is used: its signature, its list, each of its files.

A portfolio without a signature says only that it is whole; who made it nobody vouches for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from grader.portfolio import paths
from grader.portfolio.files import shown
from grader.portfolio.gather import Attempt, NotAReceipt, read_receipt
from grader.portfolio.manifest import Manifest, NotAManifest, parse
from grader.portfolio.refused import Refused
from grader.portfolio.submissions import allowed

# Takes the manifest's bytes and the signature's; raises where that is not the pinned key's.
Check = Callable[[bytes, bytes], None]


@dataclass(frozen=True)
class Verified:
    """A portfolio whose every file is as its manifest says; `checked`: its signature held too."""

    manifest: Manifest
    attempts: list[Attempt]
    submissions: dict[str, bytes]
    signed: bool
    checked: bool


def verify(files: Mapping[str, bytes], where: str, check: Check | None = None) -> Verified:
    """Return what a portfolio's files are, read through `check` where a key is pinned.

    Raises: Refused, saying which file and why; whatever `check` raises.
    """
    if paths.MANIFEST not in files:
        raise _refused(where, f"has no {paths.MANIFEST}, so it is no portfolio")
    raw, signature = files[paths.MANIFEST], files.get(paths.SIGNATURE)
    if check is not None:
        if signature is None:
            raise _refused(
                where,
                f"is not signed: it has no {paths.SIGNATURE}",
                "ask for a signed one, or leave --key out to restore it on trust",
            )
        check(raw, signature)
    try:
        found = parse(raw)
    except NotAManifest as error:
        raise _refused(where, f"has a {paths.MANIFEST} that cannot be used: {error}") from error
    compare(found, files, where)
    attempts = _attempts(files, where)
    return Verified(
        found,
        attempts,
        _submissions(files, attempts, where),
        signed=signature is not None,
        checked=check is not None,
    )


def compare(found: Manifest, files: Mapping[str, bytes], where: str) -> None:
    """Do nothing where the manifest lists each file once, and each is what it says.

    Raises: Refused, naming the file.
    """
    names = [one.path for one in found.files]
    if names != sorted(set(names)):
        raise _refused(where, f"has a {paths.MANIFEST} that lists a file twice or out of order")
    here = set(files) - {paths.MANIFEST, paths.SIGNATURE}
    if paths.INDEX not in names:
        raise _refused(where, f"has no {paths.INDEX} in its {paths.MANIFEST}")
    for name in sorted(here ^ set(names)):
        if name in here:
            raise _refused(where, f"holds {shown(name)}, which its {paths.MANIFEST} does not list")
        raise _refused(where, f"lacks {shown(name)}, which its {paths.MANIFEST} lists")
    for one in found.files:
        raw = files[one.path]
        if len(raw) != one.size_bytes or hashlib.sha256(raw).hexdigest() != one.sha256:
            raise _refused(
                where, f"holds {shown(one.path)} changed: it is not what {paths.MANIFEST} lists"
            )


def _attempts(files: Mapping[str, bytes], where: str) -> list[Attempt]:
    """Return the receipts; raises where one cannot be read, or lies under another exercise."""
    forms: dict[str, dict[str, bytes]] = {}
    for path, raw in sorted(files.items()):
        part = paths.receipt_path(path)
        if part is not None:
            forms.setdefault(part.place, {})[part.ending] = raw
    attempts = []
    for place, own in forms.items():
        if "json" not in own:
            raise _refused(where, f"holds forms of a receipt without the receipt: {place}.json")
        try:
            receipt = read_receipt(own["json"])
        except NotAReceipt as error:
            raise _refused(where, f"holds {place}.json, which is no receipt: {error}") from error
        if receipt.exercise != place.partition("/")[0]:
            raise _refused(where, f"holds {place}.json, a receipt of {receipt.exercise}")
        attempts.append(Attempt(receipt, place, own))
    return attempts


def _submissions(
    files: Mapping[str, bytes], attempts: list[Attempt], where: str
) -> dict[str, bytes]:
    """Return the graded files; raises for a file that none of the receipts is about."""
    known, found = allowed(attempts), {}
    for path, raw in files.items():
        if paths.submission_key(path) is None:
            continue
        if known.get(path) != hashlib.sha256(raw).hexdigest():
            raise _refused(where, f"holds {shown(path)}, which none of its receipts graded")
        found[path] = raw
    return found


def _refused(where: str, what: str, step: str = "") -> Refused:
    return Refused(
        f"{where} {what}",
        next_step=f"nothing was restored; {step or 'ask for the zip again, from whoever made it'}",
    )
