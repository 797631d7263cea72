"""Partial work earns its own points: part by part, and up to where a module stops."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.command import EXERCISE, ROOT, Ran, grade
from tests.parts import FILLED_SECTIONS, STARTER_SECTIONS, earned_by, points, spliced

EVERYTHING = {1, 2, 3, 4}
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="limits and crashes as Linux has them")


def passed_items(ran: Ran) -> set[tuple[str, str]]:
    return {
        (check["id"], item["id"])
        for check in ran.graded["checks"]
        for item in check["items"]
        if item["status"] == "passed"
    }


def adds_up(ran: Ran) -> bool:
    """See that items make up their checks, and checks the total; always true."""
    worth = points()
    for check in ran.graded["checks"]:
        assert check["points"] == sum(item["points"] for item in check["items"])
        assert check["max_points"] == sum(item["max_points"] for item in check["items"])
        for item in check["items"]:
            full = worth[(check["id"], item["id"])]
            assert item["max_points"] == full
            assert item["points"] == (full if item["status"] == "passed" else 0)
        whole = all(item["status"] == "passed" for item in check["items"])
        assert (check["status"] == "passed") == whole
    assert ran.graded["points"] == sum(check["points"] for check in ran.graded["checks"])
    assert ran.graded["max_points"] == 100
    return True


def test_starter_and_filled_form_have_the_same_sections() -> None:
    assert [heading for heading, _ in STARTER_SECTIONS] == [h for h, _ in FILLED_SECTIONS]
    assert spliced({1, 2, 3, 4}).count("# %% Part ") == 4
    assert sum(points().values()) == 100


@pytest.mark.parametrize(
    "parts", [(), (1,), (3,), (4,), (1, 2), (1, 3), (1, 4), (1, 2, 3, 4)], ids=str
)
def test_each_part_that_is_filled_in_earns_exactly_its_points(
    parts: tuple[int, ...], tmp_path: Path
) -> None:
    (tmp_path / "solution.py").write_text(spliced(parts), encoding="utf-8")
    ran = grade("solution.py", "--json", "--no-receipt", cwd=tmp_path)
    assert passed_items(ran) == earned_by(parts)
    assert adds_up(ran)
    expected = sum(points()[item] for item in earned_by(parts))
    assert ran.graded["points"] == expected
    assert ran.graded["verdict"] == ("passed" if expected == 100 else "failed")
    assert ran.graded["outcome"]["kind"] == "finished"
    # What is open is said to be open, and no mistake is made up for it.
    named = {check["id"]: check["mistake"] for check in ran.graded["checks"] if check["mistake"]}
    assert named == {}


def test_no_name_that_has_its_own_meaning_is_taken_for_a_misspelled_one(tmp_path: Path) -> None:
    # `wh` is given, and `ring_all_bytes` is right: neither is `w2h` or `ring_scatter_bytes`.
    source = spliced({1}) + "\nring_all_bytes = 48\n"
    (tmp_path / "solution.py").write_text(source, encoding="utf-8")
    assert "did you mean" not in grade("solution.py", "--no-receipt", cwd=tmp_path).said


@dataclass(frozen=True)
class Stop:
    """Code that ends a module; the line that does it is marked with `# here`."""

    code: str
    kind: str
    says: str
    knows_line: bool = True


DEADLOCK = """
def lonely(value):
    first = jax.lax.axis_index("data") == 0
    return jax.lax.cond(first, lambda v: jax.lax.psum(v, "data"), lambda v: v * 1.0, value)

split_in_two = dict(in_specs=P("data"), out_specs=P("data"), check_vma=False)
stuck = jax.jit(jax.shard_map(lonely, mesh=mesh, **split_in_two))
stuck(ws).block_until_ready()  # here
"""

STOPS = {
    "exception": Stop("raise ValueError('enough')  # here", "raised", "ValueError: enough"),
    "name": Stop("print(undefined_name)  # here", "raised", "NameError: name 'undefined_name'"),
    "base-exception": Stop("raise KeyboardInterrupt  # here", "raised", "KeyboardInterrupt"),
    "recursion": Stop(
        "def again(n):\n    return again(n + 1)  # here\n\nagain(0)", "raised", "RecursionError"
    ),
    "import": Stop("import my_helpers  # here", "raised", "No module named 'my_helpers'"),
    "input": Stop("input('your name? ')  # here", "raised", "EOFError"),
    "exit": Stop("import sys\nsys.exit(0)  # here", "exited", "ended itself at line"),
    "exit-in-a-function": Stop(
        "import sys\ndef leave():\n    sys.exit('bye')  # here\nleave()", "exited", "ended itself"
    ),
    "os-exit": Stop("import os\nos._exit(0)  # here", "no_result", "(exit code 0)", False),
    "abort": Stop("import os\nos.abort()  # here", "killed", "SIGABRT (signal 6)"),
    "crash": Stop("import ctypes\nctypes.string_at(0)  # here", "killed", "SIGSEGV (signal 11)"),
    "kill": Stop("import os\nos.kill(os.getpid(), 9)  # here", "blocked", "a signal"),
    "memory": Stop("hog = np.ones(2**40)  # here", "out_of_memory", "more memory than it may"),
    "flood": Stop(
        "while True:\n    print('x' * 10_000)  # here", "output_flood", "more than 4 MiB", False
    ),
    "file": Stop("open('/etc/passwd')  # here", "blocked", "the sandbox refused"),
    "deadlock": Stop(DEADLOCK, "deadlock", "1 of 4 devices arrived"),
    "cpu": Stop("while True: pass  # here", "cpu_limit", "used up its CPU seconds at line"),
    "cpu-in-c": Stop("sum(range(10**13))  # here", "cpu_limit", "used up its CPU seconds"),
    "wall": Stop("import time\ntime.sleep(10**6)  # here", "wall_limit", "did not end in time"),
}
SLOW = {"deadlock", "cpu", "cpu-in-c", "wall"}
EVERY_STOP = [
    pytest.param(name, marks=[LINUX, *([pytest.mark.slow] if name in SLOW else [])], id=name)
    for name in STOPS
]


@pytest.fixture(scope="module")
def strict_course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our course with limits that are reached sooner."""
    folder = tmp_path_factory.mktemp("course")
    for name in ("exercises", "rubrics", "templates"):
        shutil.copytree(ROOT / name, folder / name)
    path = folder / "exercises" / EXERCISE / "exercise.toml"
    text = path.read_text(encoding="utf-8")
    tight = text.replace("cpu_s = 20", "cpu_s = 5").replace("wall_s = 30", "wall_s = 8")
    assert tight.count("cpu_s = 5") == tight.count("wall_s = 8") == 1
    path.write_text(tight, encoding="utf-8")
    return folder


def stopped(name: str, course: Path, folder: Path) -> tuple[Ran, int]:
    """Grade the filled form with a stop after part 1; return that, and the line of the stop."""
    source = spliced(EVERYTHING, after={1: STOPS[name].code})
    (folder / "solution.py").write_text(source, encoding="utf-8")
    ran = grade("solution.py", "--json", "--course", str(course), cwd=folder)
    return ran, source[: source.index("# here")].count("\n") + 1


@pytest.mark.parametrize("name", EVERY_STOP)
def test_what_was_defined_before_a_stop_keeps_its_points(
    name: str, strict_course: Path, tmp_path: Path
) -> None:
    stop = STOPS[name]
    ran, line = stopped(name, strict_course, tmp_path)
    assert (ran.code, ran.graded["verdict"], ran.graded["blame"]) == (1, "error", "learner")
    assert passed_items(ran) == earned_by({1})
    assert adds_up(ran)
    outcome = ran.graded["outcome"]
    assert outcome["kind"] == stop.kind
    assert stop.says in outcome["message"]
    assert outcome["next_step"]
    # Where nothing but the unfinished statement is known, that is the line where it begins.
    assert outcome["line"] in ((line,) if stop.knows_line else (line, line - 1))
    # The learner is shown the words, the line, and that points were kept.
    assert "54 of 100 points" in ran.stderr
    if stop.knows_line:
        shown = {part["line"]: part["text"] for part in ran.graded["source_lines"]}
        assert "# here" in shown[line]
        assert f"at line {line}" in ran.said
    assert "Traceback" not in ran.stderr


def test_what_follows_a_stop_inside_a_function_is_not_lost(tmp_path: Path) -> None:
    # Only a stop of the module itself ends it: one that is caught, or never called, does not.
    guard = (
        "def unused():\n    raise SystemExit\n\ntry:\n    raise SystemExit\nexcept SystemExit: pass"
    )
    source = spliced(EVERYTHING, after={1: guard})
    (tmp_path / "solution.py").write_text(source, encoding="utf-8")
    ran = grade("solution.py", "--no-receipt", "--json", cwd=tmp_path)
    assert (ran.graded["verdict"], ran.graded["points"]) == ("passed", 100)


def test_a_module_that_stops_before_everything_earns_nothing(tmp_path: Path) -> None:
    (tmp_path / "solution.py").write_text("1 / 0\n" + spliced(EVERYTHING), encoding="utf-8")
    ran = grade("solution.py", "--no-receipt", "--json", cwd=tmp_path)
    assert (ran.graded["verdict"], ran.graded["points"]) == ("error", 0)
    assert ran.graded["outcome"]["line"] == 1
    assert passed_items(ran) == set()
