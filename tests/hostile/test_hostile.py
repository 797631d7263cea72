"""Whatever a submission tries, it earns what its programs earn, and nobody else notices it.

Every attack goes through the real command, as the user who runs the tests and, where that is root,
as an ordinary one as well. None is run where the machine cannot confine it.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.records.receipt import Receipt
from tests.command import EXERCISE, ROOT
from tests.hostile.attack import ANY, Attack, every, of_the_course
from tests.hostile.neighbours import Neighbours, neighbours
from tests.hostile.stage import Ended, Stage, as_user, users

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux can confine an attack"),
]
ATTACKS, COURSES = every(), of_the_course()
EVERY = {**ATTACKS, **COURSES}
SEED = "5eed"
Limits = tuple[tuple[str, int], ...]
CourseWith = Callable[[Limits], Path]
_CODES = {"passed": 0, "failed": 1, "error": 1, "undecided": 5}
# Controls but for line ends and tabs, and what turns the direction of text round or hides.
_ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_TAGS = re.compile(r"<(script|img|svg|iframe|a)\b[^>]*(alert|evil)|<script>alert", re.I)
_LINKS = re.compile(r"(?<!\\)\]\((javascript|http://evil)", re.I)
_CODE = re.compile(r"^(`{3,})[^\n]*\n.*?^\1$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
# A module's home is its working directory, which it may list.
_OWN_HOME = re.compile(r"LEAK: could list \S+/grade-\w+/run-\w+ with \d+ entries")
_PROBE = (
    "from grader.sandbox import confine; layers = confine.probe(); print(confine.level(layers));"
    "print([f'{x.name}: {x.reason}' for x in layers if x.state == 'off'])"
)


@functools.cache
def why_not(uid: int | None) -> str:
    """Return why no attack may run as this user here; nothing where it may."""
    done = subprocess.run(
        [*as_user(uid), sys.executable, "-c", _PROBE],
        cwd="/",
        capture_output=True,
        text=True,
        timeout=120,
    )
    lines = (done.stdout + done.stderr).strip().splitlines() or ["no word"]
    if done.returncode != 0:
        return lines[-1]
    return "" if lines[0] == "full" else f"confinement here is {lines[0]}: {lines[1]}"


@pytest.fixture(scope="session")
def course_with(tmp_path_factory: pytest.TempPathFactory) -> CourseWith:
    """Return copies of our course with other limits, made when they are first asked for."""

    @functools.cache
    def copied(limits: Limits) -> Path:
        if not limits:
            return ROOT
        folder = tmp_path_factory.mktemp("course")
        folder.chmod(0o755)
        for name in ("exercises", "rubrics", "templates"):
            shutil.copytree(ROOT / name, folder / name)
        path = folder / "exercises" / EXERCISE / "exercise.toml"
        text = path.read_text(encoding="utf-8")
        for name, value in limits:
            text, count = re.subn(rf"(?m)^{name} = \d+$", f"{name} = {value}", text)
            assert count == 1, name
        path.write_text(text, encoding="utf-8")
        return folder

    return copied


def world(stage: Stage, around: Neighbours, course: Path) -> dict[str, object]:
    """Return all that an attacker could wish to know beforehand."""
    return {
        "canaries": [str(path) for path in stage.before if path.is_file()],
        "folders": [str(p) for p in (stage.home, stage.work, stage.scratch, stage.out)],
        "course": str(course),
        "checkout": str(ROOT),
        "exercise": EXERCISE,
        "neighbour": around.sleeper.pid,
        "tcp": around.tcp.getsockname()[1],
        "udp": around.udp.getsockname()[1],
        "unix": str(stage.scratch / "door"),
    }


def params() -> list[object]:
    """Return each attack with each user; the course's own go to one user each, by turns."""
    everyone = users() if sys.platform == "linux" else []
    found = []
    for at, uid in enumerate(everyone):
        who = "as-root" if uid is None and len(everyone) > 1 else f"as-{uid or 'itself'}"
        for name in [*ATTACKS, *list(COURSES)[at :: len(everyone)]]:
            # The course's own are graded by its audit too, with every interpreter.
            again = uid is None and name not in COURSES
            marks = [] if again else [pytest.mark.once]
            if open_hole := EVERY[name].still_open:
                marks.append(pytest.mark.xfail(reason=open_hole, strict=True))
            found.append(pytest.param(name, uid, id=f"{name}-{who}", marks=marks))
    return found


@pytest.mark.parametrize(("name", "uid"), params())
def test_an_attack_earns_nothing_and_reaches_nobody(
    name: str, uid: int | None, course_with: CourseWith, tmp_path: Path
) -> None:
    if reason := why_not(uid):
        pytest.skip(reason)
    attack = EVERY[name]
    course = course_with(attack.limits)
    stage = Stage(tmp_path / "stage", uid)
    stage.set()
    with neighbours(uid, stage.scratch / "door") as around:
        stage.put(f"{name}.py", attack.source(world(stage, around, course)))
        stage.before[stage.scratch / "door"] = b""
        chosen = ["--course", str(course)] if attack.limits else []
        options = ["--no-cache", "--seed", SEED, "--out", str(stage.out), *chosen]
        trees = (course,) if attack.limits else ()
        ended = stage.run(EXERCISE, *options, "--", f"{name}.py", trees=trees)
        assert around.heard() == []
        assert around.like() == around.settings
    assert ended.left == []
    judged_as_it_deserves(attack, ended, stage)
    nothing_was_touched(stage, name)
    nothing_acts_and_nothing_leaks(ended, stage, name)


def judged_as_it_deserves(attack: Attack, ended: Ended, stage: Stage) -> None:
    forms = stage.receipts(attack.name)
    assert sorted(forms) == ["html", "json", "md"], ended.stderr
    receipt = Receipt.model_validate_json(forms["json"])
    told = (receipt.outcome.kind, receipt.outcome.message, receipt.verdict, receipt.points)
    assert attack.outcomes == ANY or receipt.outcome.kind in attack.outcomes, told
    assert attack.says in receipt.outcome.message, told
    assert receipt.verdict in attack.verdicts, told
    if receipt.verdict == "passed":
        assert receipt.points == attack.points
    assert receipt.points <= attack.points, told
    assert receipt.points == sum(item.points for c in receipt.checks for item in c.items)
    assert receipt.blame == (None if receipt.verdict == "passed" else "learner")
    assert ended.code == _CODES[receipt.verdict], ended.stderr
    assert f"{receipt.points} of {receipt.max_points} points" in ended.stdout
    assert receipt.environment.confinement.level == "full"
    assert "Traceback" not in ended.stderr
    said = [line for line in receipt.output.text.splitlines() if line.startswith("LEAK")]
    assert [line for line in said if not _OWN_HOME.fullmatch(line)] == []


def nothing_was_touched(stage: Stage, stem: str) -> None:
    after = stage.files()
    assert {path for path in stage.before if after.get(path) != stage.before[path]} == set()
    own = {stage.out / EXERCISE / f"{stem}.{ending}" for ending in ("json", "md", "html")}
    assert after.keys() - stage.before.keys() == own | {stage.out / EXERCISE / ".index.json"}


def nothing_acts_and_nothing_leaks(ended: Ended, stage: Stage, stem: str) -> None:
    shown = {
        "stdout": ended.stdout,
        "stderr": ended.stderr,
        **{ending: raw.decode("utf-8") for ending, raw in stage.receipts(stem).items()},
    }
    for form, text in shown.items():
        assert stage.secret not in text, form
        active = _ACTIVE.search(text)
        assert active is None, (form, text[max(active.start() - 60, 0) : active.end() + 20])
    assert _TAGS.search(shown["html"]) is None
    # What stands in a fence or between backticks is shown as it is.
    prose = _CODE.sub("", shown["md"])
    assert _TAGS.search(prose) is None
    assert _LINKS.search(prose) is None
    assert json.loads(shown["json"])["exercise"] == EXERCISE
