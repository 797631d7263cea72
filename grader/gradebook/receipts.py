"""Each learner's receipts as files: rendered once, and again only where something changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from grader.gradebook import results, stamps
from grader.gradebook.ledger import Ledger, Written
from grader.receipt.files import read_ordinary
from grader.receipt.naming import stem_of
from grader.records.gradebook import Row
from grader.records.receipt import Receipt
from grader.trust import seal

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner

Render = Callable[[Receipt, str], str]
FORMS = ("html", "md", "json")
# So many files are noted in one transaction: one for each would cost as much as keeping a grade.
_TOGETHER = 150


def stem(row: Row) -> str:
    """Return the name of a row's receipts without an ending, relative to the results."""
    assert row.receipt is not None
    return f"{row.receipt_folder}/{stem_of(row.receipt.submission.name)}"


class Shelf:
    """The files of the results, and what the ledger knows of those that were written before.

    A file is made again where it is made from something else now, and where it is gone or was
    changed; `mended` names the latter.
    """

    def __init__(
        self,
        root: Path,
        ledger: Ledger,
        render: Render,
        tools: str,
        signer: CryptoSigner | None = None,
    ) -> None:
        """Take the ledger's word for what was made; `tools` is what all is made with.

        With a signer every receipt that is written is signed.
        """
        self.root, self.ledger, self.tools = root, ledger, tools
        self.signer = signer
        self.signed_by = signer.public_key.keyid if signer else ""
        self.mended: list[str] = []
        self._render = render
        self._known = ledger.written()
        self._fresh: dict[str, Written] = {}
        self._seen: set[str] = set()

    def untouched(self, name: str, made_from: str) -> bool:
        """Return whether all is as it was left, with one file that was made from this."""
        known = self._known.get(name)
        return (
            known is not None
            and known.made_from == made_from
            and all(stamps.held(self.root / at) == one.holds for at, one in self._known.items())
        )

    def holds(self, name: str, made_from: str) -> bool:
        """Return whether a file is there that was made from this and has not been changed."""
        self._seen.add(name)
        known = self._known.get(name)
        return (
            known is not None
            and known.made_from == made_from
            and known.holds == stamps.held(self.root / name)
        )

    def put(self, name: str, made_from: str, content: bytes) -> bool:
        """Write a file where it holds anything else; returns whether it did.

        Raises: EnvironmentProblem where it cannot be written.
        """
        self._seen.add(name)
        changed = results.put(self.root / name, content)
        known = self._known.get(name)
        if changed and known is not None and known.made_from == made_from:
            self.mended.append(name)
        self._known[name] = Written(made_from, hashlib.sha256(content).hexdigest())
        self._fresh[name] = self._known[name]
        if len(self._fresh) >= _TOGETHER:
            self._note()
        return changed

    def write(self, row: Row, number: int, *, within: str = "", also: str = "") -> bool:
        """Write the receipts of one learner; returns whether any file changed.

        Args:
            row: the learner.
            number: the number of the attempt that counts.
            within: the folder of the results that they belong in, with a slash after it.
            also: what else they are made from.
        """
        if row.receipt is None:
            return False
        # What stands under a pseudonym says nothing of anybody, so nobody vouches for it.
        signer = None if within else self.signer
        made_from = self._made_from(row.receipt, number, also)
        place = f"{within}{stem(row)}"
        endings = (*FORMS, seal.ENDING) if signer else FORMS
        # Each one, since asking also notes that it belongs here.
        held = [self.holds(f"{place}.{ending}", made_from) for ending in endings]
        if all(held):
            return False
        made = self._forms(row.receipt, signer)
        new = [self.put(f"{place}.{one}", made_from, made[one].encode()) for one in endings]
        return any(new)

    def _forms(self, receipt: Receipt, signer: CryptoSigner | None) -> dict[str, str]:
        return seal.seal({form: self._render(receipt, form) for form in FORMS}, signer)

    def content(self, row: Row, form: str) -> bytes:
        """Return a receipt in a form: as it was written if it still is so, else rendered now."""
        assert row.receipt is not None
        name = f"{stem(row)}.{form}"
        known = self._known.get(name)
        number = self._numbers.get(row.person.key, 0)
        if known is not None and known.made_from == self._made_from(row.receipt, number):
            with suppress(OSError):
                raw = read_ordinary(self.root / name)
                if hashlib.sha256(raw).hexdigest() == known.holds:
                    return raw
        return self._forms(row.receipt, None)[form].encode()

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {one.member.person.key: one.number for one in self.ledger.stands()}

    def _made_from(self, receipt: Receipt, number: int, also: str = "") -> str:
        whose = receipt.learner.model_dump_json() if receipt.learner else ""
        named = receipt.submission.name
        return stamps.digest(self.tools, also, str(number), named, whose, self.signed_by)

    def close(self) -> None:
        """Keep what was written, and forget files that nothing in this run was about."""
        self._note([name for name in self._known if name not in self._seen])

    def _note(self, forgotten: list[str] | None = None) -> None:
        if self._fresh or forgotten:
            self.ledger.note_written(self._fresh, forgotten or ())
        self._fresh = {}
        for name in forgotten or ():
            del self._known[name]
