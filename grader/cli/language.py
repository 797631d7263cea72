"""The words of the terminal in the language of who reads them.

Only what is printed for a person passes here. Records, receipts, files and `--json` are English
wherever they are made, so no language can change what is stored, signed or compared.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_LOCALE = Path(__file__).resolve().parents[1] / "locale"
_VARIABLES = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
_ENGLISH = ("en", "C", "POSIX")
_NAME = re.compile(r"[a-z]{2,3}(?:_[A-Z]{2})?")
_PLACE = re.compile(r"\{(\d+)\}")
# What an exception says itself stands behind ours.
_EXCEPTION = re.compile(
    r" \((?:[A-Za-z_.]*(?:Error|Exception|Warning|Interrupt|Exit))\b.*\)$", re.DOTALL
)
_NEXT = re.compile(r"Next: (grade(?: [\w./-]+)+)")
_COLUMNS = re.compile(r"(\s{2,})")
_CUT = re.compile(r"(?<=\S)(?=[:;,]? )")
_NAMES = re.compile(r"(`[^`]+`(?:(?:, `[^`]+`)* and `[^`]+`)?) ([a-z].*)", re.DOTALL)
_ARTICLE = re.compile(r"(?:each )?an? ([A-Za-z_][\w.]*)")
_ONE = re.compile(r"(?=\S*\w)\S*[\d./-]\S*|[a-z]|`[^`]*`|'[^']*'")
# A value in a command to copy, and the values behind it.
_COMMAND = re.compile(r"\bgrade (?:[a-z]+ )?\{\d+\}(?: \{\d+\})*")
# A template with fewer letters than this says too little to be known by them among long texts.
_FEW_LETTERS, _FEW_OF_A_TAIL, _SHORT_CHARS = 12, 8, 60
# Of one line: texts of strangers are looked at as well, and may be of any length.
_MOST_LOOKS, _LONGEST, _MOST_LINES, _DEEPEST = 200, 700, 200, 12
_SPELLED = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"}
    | {"„": '"', "“": '"', "”": '"', "‚": "'", "‘": "'", "’": "'", "–": "-", "—": "-"}
    | {"…": "...", "·": "-", "×": "x", "µ": "u", "−": "-"}
)


@functools.cache
def chosen() -> str:
    """Return the language that this process's environment asks for, "" for English."""
    return asked(os.environ)


def asked(environment: Mapping[str, str]) -> str:
    """Return the language that an environment asks for and that we have, "" for English.

    It is looked for as gettext does: the first of LANGUAGE, LC_ALL, LC_MESSAGES and LANG that is
    set counts, and LANGUAGE may name several.
    """
    value = next(filter(None, map(environment.get, _VARIABLES)), "")
    for name in value.split(":"):
        name = name.partition(".")[0].partition("@")[0]
        short = name.partition("_")[0]
        if short in _ENGLISH:
            return ""
        for one in (name, short):
            if _NAME.fullmatch(one) and _file(one).is_file():
                return one
    return ""


def said(text: str, encoding: str | None = None) -> str:
    """Return an English text in the chosen language, in characters that `encoding` has.

    What has no translation stays English, and what is quoted in it stays as it is.
    """
    known = _catalog()
    return text if known is None else _fitting(known.said(text), text, encoding)


def _fitting(translated: str, english: str, encoding: str | None) -> str:
    for text in (translated, translated.translate(_SPELLED)):
        try:
            text.encode(encoding or "utf-8")
        except (UnicodeEncodeError, LookupError):
            continue
        return text
    return english


def _file(language: str) -> Path:
    return _LOCALE / language / "LC_MESSAGES" / "grade.mo"


@functools.cache
def _catalog() -> Catalog | None:
    return load(_file(chosen())) if chosen() else None


def load(path: Path) -> Catalog | None:
    """Return the messages of a .mo file, None where it cannot be read: English is always there."""
    import gettext

    try:
        with path.open("rb") as file:
            # gettext gives one message at a time, and the templates are looked for among all.
            found = getattr(gettext.GNUTranslations(file), "_catalog", {})
    except Exception:  # noqa: BLE001 - a damaged file fails in many ways, and all mean this
        return None
    return Catalog(
        {key: value for key, value in found.items() if isinstance(key, str) and key and value}
    )


@dataclass(frozen=True)
class _Template:
    """An English message with places for values, and the same in another language."""

    english: str
    other: str

    @functools.cached_property
    def literals(self) -> list[str]:
        """Return what stands before the first value, between them, and behind the last."""
        return _PLACE.split(self.english)[::2]

    @functools.cached_property
    def places(self) -> list[str]:
        """Return the places in their order; one may stand there twice."""
        return _PLACE.findall(self.english)

    @functools.cached_property
    def letters(self) -> int:
        return sum(map(str.isalpha, "".join(self.literals)))

    @functools.cached_property
    def quoted(self) -> set[str]:
        """Return the places whose values stand between quotes: those are somebody's own words."""
        return set(re.findall(r"(?<=[`'\"“])\{(\d+)\}", self.english)) | self.typed

    @functools.cached_property
    def typed(self) -> set[str]:
        """Return the places whose values are parts of a command."""
        return {
            place for found in _COMMAND.findall(self.english) for place in _PLACE.findall(found)
        }

    @functools.cached_property
    def brief(self) -> bool:
        """Return whether it says too little to be known by it among long texts."""
        return self.letters < _FEW_LETTERS and not self.english.endswith(": {0}")

    def values(self, text: str) -> dict[str, str] | None:
        """Return the values by place, None where this is not the template of the text."""
        first, *between, last = self.literals
        end = len(text) - len(last)
        if not text.startswith(first) or not text.endswith(last) or end < len(first):
            return None
        values: dict[str, str] = {}
        # Each value is as short as can be: nothing is tried twice, however long the text is.
        at = len(first)
        for place, literal in zip(self.places, [*between, ""], strict=True):
            to = text.find(literal, at, end) if literal else end
            value = text[at:to]
            if to < 0 or values.setdefault(place, value) != value:
                return None
            if place in self.quoted - self.typed and "`" in value:
                return None
            at = to + len(literal)
        long = any(len(value) > _SHORT_CHARS for value in values.values())
        return None if self.brief and long else values


class Catalog:
    """The messages of one language by their English."""

    def __init__(self, messages: Mapping[str, str]) -> None:
        self.messages = messages
        made = [_Template(key, value) for key, value in messages.items() if "{0}" in key]
        # What says more itself is the better match.
        self._templates = sorted(made, key=lambda one: (-one.letters, one.english))
        self._left = self._depth = 0

    def said(self, text: str) -> str:
        """Return a text of one or more lines in this language, its margins as they are."""
        core = text.strip()
        if "\n" in core:
            lines = text.split("\n")
            return "\n".join([*map(self.said, lines[:_MOST_LINES]), *lines[_MOST_LINES:]])
        if len(core) > _LONGEST:
            return text
        quoted = _EXCEPTION.search(core)
        if quoted is not None and quoted.start():
            return self.said(text[: text.index(quoted[0])]) + quoted[0]
        self._left = _MOST_LOOKS
        lead = len(text) - len(text.lstrip())
        return text[:lead] + self._line(core) + text[lead + len(core) :]

    def _line(self, text: str) -> str:
        command = _NEXT.fullmatch(text)
        if command is not None:
            return self.messages.get("Next: {0}", "Next: {0}").replace("{0}", command[1])
        found = self._whole(text)
        if found is None and _COLUMNS.search(text):
            # Blanks of a message are one in the catalogue; more of them make columns.
            found = self._whole(" ".join(text.split()))
        if found is None and _COLUMNS.search(text):
            return "".join(self._columns(_COLUMNS.split(text)))
        for part in (self._behind_names, self._open, self._before_brackets):
            found = part(text) if found is None else found
        return text if found is None else found

    def _whole(self, text: str, least: int = 0) -> str | None:
        """Return a message in this language, None where it is none; `least` letters of it ours."""
        self._left -= 1
        if text in self.messages or self._left < 0:
            return self.messages.get(text) if self._left >= 0 else None
        if self._depth >= _DEEPEST:
            return None
        self._depth += 1
        try:
            for one in self._templates:
                values = one.values(text) if one.letters >= least else None
                told = None if values is None else self._filled(one, values)
                if told is not None:
                    return told
            return None
        finally:
            self._depth -= 1

    def _filled(self, one: _Template, values: Mapping[str, str]) -> str | None:
        told = {k: v if k in one.quoted else self._value(v) for k, v in values.items()}
        first = values["0"]
        # Where little of it is ours, what it is said of has to be.
        foreign = not _ONE.fullmatch(first) and told["0"] == first
        if one.brief and one.english.startswith("{0}") and foreign:
            return None
        return _PLACE.sub(lambda place: told[place[1]], one.other)

    def _value(self, text: str) -> str:
        """Return a value in this language where it is made of our words, else as it is."""
        core = text.strip()
        if " " not in core or core.startswith("grade "):
            return text
        lead = len(text) - len(text.lstrip())
        told, named = self._parts(core), _ARTICLE.fullmatch(core)
        if told == core and named is not None:
            told = named[1]  # an article of English before a name of Python
        return text[:lead] + told + text[lead + len(core) :]

    def _parts(self, text: str) -> str:
        """Return a text that is one message of ours after another, or ends in one."""
        found = self._whole(text)
        if found is not None:
            return found
        cuts = [m.start() for m in _CUT.finditer(text)]
        for cut in cuts:
            told = self._tail(text[cut:])
            if told is not None:
                return self._parts(text[:cut]) + told
        for cut in reversed(cuts):
            head = self._whole(text[:cut])
            if head is not None:
                return head + self._rest(text[cut:])
        return text

    def _rest(self, text: str) -> str:
        """Return what stands behind a message: one more, with or without a sign before it."""
        told = self._tail(text, 0)
        core = text.lstrip(" ,:;")
        return text[: len(text) - len(core)] + self._parts(core) if told is None else told

    def _tail(self, text: str, least: int = _FEW_OF_A_TAIL) -> str | None:
        for signs in (" ", " ,:;"):
            core = text.lstrip(signs)
            told = self._whole(core, least) if " " in core else None
            if told is not None:
                return text[: len(text) - len(core)] + told
        return None

    def _behind_names(self, text: str) -> str | None:
        """Return what is said of one or more names, None where the rest is not ours."""
        found = _NAMES.fullmatch(text)
        rest = self._parts(found[2]) if found else ""
        if found is None or rest == found[2]:
            return None
        first, joint, last = found[1].rpartition(" and ")
        both = self.messages.get("`{0}` and `{1}`", "`{0}` and `{1}`")
        names = both.replace("`{0}`", first).replace("`{1}`", last) if joint else last
        return f"{names} {rest}"

    def _open(self, text: str) -> str | None:
        """Return the text where it begins with a long message of ours and goes on behind it."""
        for cut in reversed([m.start() for m in _CUT.finditer(text)]):
            head = self._whole(text[:cut], _FEW_LETTERS) if cut > _FEW_LETTERS * 2 else None
            if head is not None:
                return head + self._rest(text[cut:])
        return None

    def _before_brackets(self, text: str) -> str | None:
        """Return the text with what stands before brackets translated: the rest is a quotation."""
        for place in (m.start() for m in re.finditer(r" \(", text)):
            head = self._whole(text[:place])
            if head is not None:
                return head + text[place:]
        return None

    def _columns(self, parts: list[str]) -> Iterator[str]:
        """Yield cells and what is between them; a cell that grew takes of the gap behind it."""
        # What stands behind a label of ours is ours as well.
        ours = parts[0] in self.messages
        for number in range(0, len(parts), 2):
            cell, gap = parts[number], "".join(parts[number + 1 : number + 2])
            told = self._parts(cell) if ours else self._whole(cell) or cell
            room = len(cell) + len(gap)
            yield told + " " * (max(room - len(told), 2) if gap else 0)
