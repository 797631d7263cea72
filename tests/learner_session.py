"""A learner's whole way through an exercise on a terminal, as `docs/learner.md` records it.

`python -m tests.learner_session` plays it and writes the page anew; a test plays it and compares.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pexpect

from tests.command import EXERCISE, ROOT, command, environment
from tests.parts import spliced

PAGE = ROOT / "docs" / "learner.md"
WIDTH, HEIGHT = 88, 60
PATIENCE_S = 120
_MOMENT = "2026-11-30T23-58-00-000Z"
_BEGIN, _END = "<!-- session: begin -->\n", "<!-- session: end -->\n"
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")
FILE = f"{EXERCISE}.py"
WITH_LOCAL_MEAN = spliced({1}).replace("return (2 / N) *", "return (2 / len(x_block)) *")
WITHOUT_TILED = spliced({1, 2}).replace(
    'all_gather(piece, "data", tiled=True)', 'all_gather(piece, "data")'
)
WITH_SIGN = spliced({1, 2, 3, 4}).replace("new_v = gs + 0.9 * vs", "new_v = gs - 0.9 * vs")
RIGHT = spliced({1, 2, 3, 4})
# What is typed in the editor between two tries, told as a learner would.
EDITS: tuple[tuple[str, str], ...] = (
    ("Part 1 is written. The mean is taken over the rows of the block:", WITH_LOCAL_MEAN),
    ("Divided by `N` now, and part 2 is there. The gather was written from memory:", WITHOUT_TILED),
    ("`tiled=True` is back, and parts 3 and 4 are filled in. A sign slipped:", WITH_SIGN),
    ("The gradient is added to what is left of the old momentum:", RIGHT),
)
SHOWN = (
    "return (2 / len(x_block)) * (x_block.T @ (x_block @ weights - y_block))",
    'return jax.lax.all_gather(piece, "data")',
    "new_v = gs - 0.9 * vs",
    "new_v = gs + 0.9 * vs",
)


@dataclass
class Session:
    """A terminal in a learner's folder, and everything that was seen on it so far."""

    folder: Path
    seen: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Add a paragraph between two looks at the terminal."""
        self.seen.append(f"\n{text}\n")

    def edit(self, number: int) -> None:
        """Save the next state of the file, as an editor would."""
        words, source = EDITS[number]
        (self.folder / FILE).write_text(source, encoding="utf-8")
        assert SHOWN[number] in source
        self.say(f"{words}\n\n```python\n{SHOWN[number]}\n```")

    def run(self, *args: str, answers: Sequence[tuple[str, str]] = (), code: int = 0) -> str:
        """Type a command, give the answers it asks for, and note what the terminal showed."""
        first, *rest = command(*args)
        more: Mapping[str, str] = {
            # On a plain terminal rich asks for both, or takes 80 columns.
            "COLUMNS": str(WIDTH),
            "LINES": str(HEIGHT),
            "LANGUAGE": "en",
            "NO_COLOR": "1",
            "TERM": "dumb",
            "XDG_STATE_HOME": str(self.folder.parent / "state"),
        }
        child = pexpect.spawn(
            first,
            rest,
            cwd=str(self.folder),
            env={**environment(), **more},
            encoding="utf-8",
            dimensions=(HEIGHT, WIDTH),
            timeout=PATIENCE_S,
        )
        shown = ""
        for prompt, answer in answers:
            child.expect(prompt)
            shown += child.before + child.after
            child.sendline(answer)
        child.expect(pexpect.EOF)
        shown += child.before
        child.close()
        assert child.exitstatus == code, shown
        text = _plain(shown)
        typed = " ".join(("grade", *args))
        self.seen.append(f"\n```console\n$ {typed}\n{text}```\n")
        return text


def _plain(shown: str) -> str:
    """Return what was shown as lines, without what changes from one run to the next."""
    text = _CONTROL.sub("", shown).replace("\r\n", "\n").replace("\r", "\n")
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d([-.]\d+)?Z?", _MOMENT, text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "2026-11-30 23:58 UTC", text)
    text = re.sub(r"up to [\d.e+-]+ times", "up to 3 times", text)
    # What NumPy says ends where its digits happen to end.
    text = re.sub(
        r"\(AssertionError:.*?(…|\.\.\.) ?\)\n", "(AssertionError: …)\n", text, flags=re.DOTALL
    )
    text = re.sub(r"^preparing faster grading.*\n", "", text, flags=re.MULTILINE)
    lines = [line.rstrip() for line in text.strip("\n").split("\n")]
    return "\n".join(lines) + "\n"


def play(folder: Path) -> str:
    """Go from `grade start` through three wrong tries to a pass; what was seen, as Markdown.

    Each command's exit code is held against what it should be.
    """
    session = Session(folder)
    session.run("start", EXERCISE)
    session.run(
        "predict", EXERCISE,
        answers=[(r": ?$", answer) for answer in ("8", "2", "8", "no", "no")],
    )  # fmt: skip
    session.edit(0)
    session.run(EXERCISE, FILE, code=1)
    session.run("hint", EXERCISE, "values")
    session.run("explain", EXERCISE, "local-mean")
    session.edit(1)
    session.run(EXERCISE, FILE, code=1)
    session.run()
    session.edit(2)
    session.run(EXERCISE, FILE, code=1)
    session.edit(3)
    session.run(EXERCISE, FILE)
    session.run("quiz", EXERCISE, "--answer", "c")
    session.run()
    return "".join(session.seen)


def written(page: str, session: str) -> str:
    """Return the page with this session in its place."""
    before, rest = page.split(_BEGIN)
    after = rest.split(_END)[1]
    return f"{before}{_BEGIN}{session}\n{_END}{after}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "lesson")
        folder.mkdir()
        session = play(folder)
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), session), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
