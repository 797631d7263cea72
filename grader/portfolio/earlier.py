"""What the portfolio that is to be replaced holds: nothing of it is lost without a word.

A learner tidies a folder; what the portfolio alone still has is carried over to the next one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from grader.errors import UsageProblem
from grader.portfolio import paths
from grader.portfolio.files import shown
from grader.portfolio.gather import Attempt, Told
from grader.receipt.read import is_instructors

# As `grader.trust.page` marks it.
_ENVELOPE = b'id="grade-envelope"'
_ELSEWHERE = "or name another file: --out FILE.zip"


def carried(
    zip_place: Path, earlier: Mapping[str, bytes], attempts: Sequence[Attempt]
) -> tuple[list[Attempt], list[Told]]:
    """Return the attempts with the forms that only the earlier portfolio has, and what differs.

    Raises: UsageProblem where a receipt, or a signed form of one, would be lost.
    """
    forms = _forms(earlier)
    _refuse_loss(zip_place, earlier, attempts)
    found, told = [], []
    for one in attempts:
        more = {}
        for ending, raw in forms.get(one.sha256, {}).items():
            own = one.forms.get(ending)
            if own is None and not is_instructors(raw):
                more[ending] = raw
            elif own is not None and own != raw:
                if _is_signed(ending, raw):
                    raise _other_signature(zip_place, one, ending)
                why = "the earlier portfolio had another text of it, which this one replaces"
                told.append(Told(shown(f"{one.place}.{ending}"), why))
        found.append(replace(one, forms={**one.forms, **more}))
    return found, told


def _forms(earlier: Mapping[str, bytes]) -> dict[str, dict[str, bytes]]:
    """Return the forms of each receipt by their endings, under the SHA-256 of its JSON."""
    by_place: dict[str, dict[str, bytes]] = {}
    for path, raw in earlier.items():
        part = paths.receipt_path(path)
        if part is not None:
            by_place.setdefault(part.place, {})[part.ending] = raw
    return {
        hashlib.sha256(forms["json"]).hexdigest(): forms
        for forms in by_place.values()
        if "json" in forms
    }


def _is_signed(ending: str, raw: bytes) -> bool:
    return ending == "dsse.json" or (ending == "html" and _ENVELOPE in raw)


def _refuse_loss(
    zip_place: Path, earlier: Mapping[str, bytes], attempts: Sequence[Attempt]
) -> None:
    """Raise where a receipt is in the earlier portfolio and would not be in this one."""
    here = {one.sha256 for one in attempts}
    lost = sorted(
        path
        for path, raw in earlier.items()
        if path.startswith(f"{paths.RECEIPTS}/")
        and paths.split(path)[1] == "json"
        and hashlib.sha256(raw).hexdigest() not in here
    )
    if lost:
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        raise UsageProblem(
            f"{shown(zip_place)} holds {shown(lost[0])}{more}, which is not among these receipts",
            next_step="bring it back first: `grade portfolio --import` with that zip; "
            + _ELSEWHERE,
        )


def _other_signature(zip_place: Path, one: Attempt, ending: str) -> UsageProblem:
    name = shown(f"{one.place}.{ending}")
    return UsageProblem(
        f"{shown(zip_place)} holds {name} with a signature, and the one in the folder is another",
        next_step="move the folder's away to keep the earlier one; " + _ELSEWHERE,
    )
