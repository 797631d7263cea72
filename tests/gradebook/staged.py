"""A class on a stage of its own, graded again and again with one command into one folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.command import EXERCISE
from tests.gradebook import classes
from tests.gradebook.bulk import table
from tests.hostile.stage import Ended, Stage


@dataclass
class Class:
    """A class on a stage; `named` is what the command is given, relative to the work folder."""

    stage: Stage
    out: str = "results"
    options: tuple[str, ...] = ()
    named: tuple[str, ...] = ("in",)

    @property
    def line(self) -> tuple[str, ...]:
        place = str(self.stage.folder / self.out)
        return (EXERCISE, *self.named, "--no-cache", "--out", place, *self.options)

    @property
    def root(self) -> Path:
        return self.stage.folder / self.out / EXERCISE

    def run(self) -> Ended:
        return self.stage.run(*self.line)

    def attempts(self) -> list[str]:
        """Return the keys of all attempts that are kept by now."""
        return [str(key) for (key,) in self._ledger("key")]

    def kept(self) -> list[tuple[str, ...]]:
        """Return all that says when and how each attempt ended, in the order of their ends."""
        return self._ledger("key, verdict, points, at, receipt")

    def _ledger(self, columns: str) -> list[tuple[str, ...]]:
        place = self.root / "ledger.sqlite"
        if not place.exists():
            return []
        file = sqlite3.connect(place, timeout=30)
        try:
            return list(file.execute(f"SELECT {columns} FROM attempts ORDER BY id"))
        except sqlite3.OperationalError:
            return []  # its tables are not made yet
        finally:
            file.close()

    def grades(self) -> dict[str, str]:
        lines = table((self.root / "gradebook.csv").read_bytes())
        return {key: line["points"] for key, line in lines.items()}

    def export(self, form: str, *options: str) -> dict[str, bytes]:
        """Export, and return the files that were written."""
        place = self.stage.folder / f"{self.out}-{form}"
        ended = self.stage.run("export", self.root, "--to", form, "--out", place, *options)
        assert ended.code == 0, ended.stderr
        return {one.name: one.read_bytes() for one in place.iterdir()}


def set_up(folder: Path, texts: Mapping[str, str]) -> Stage:
    stage = Stage(folder / "stage")
    stage.set()
    classes.write(stage.work / "in", {f"{name}.py": text for name, text in texts.items()})
    return stage
