"""The page for learners shows what a learner sees: the same session is played and compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import learner_session

pytestmark = [pytest.mark.once, pytest.mark.slow]


def test_from_start_through_three_wrong_tries_to_a_pass(tmp_path: Path) -> None:
    folder = tmp_path / "lesson"
    folder.mkdir()
    session = learner_session.play(folder)
    page = learner_session.PAGE.read_text(encoding="utf-8")
    assert page == learner_session.written(page, session), (
        "run `python -m tests.learner_session` to write the page anew"
    )
    # Each wrong try was told by its own mistake, and the last one passed.
    named = [line.split()[-1] for line in session.splitlines() if "more     grade explain" in line]
    assert list(dict.fromkeys(named)) == ["local-mean", "tiled-missing", "momentum-sign"]
    assert session.count("100 of 100 points") == 2
