"""Shells complete commands, exercises, checks, mistakes and files; nothing they ask is an error."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.command import EXERCISE, ROOT, environment, run

pytestmark = pytest.mark.once
WAIT_S = 60
FILES = ("a b.py", "x.py", "y.ipynb", "z.zip", "q.txt", "r.json", "s.html", "t.csv")
CHECKS = ["values", "shard_shapes", "collectives", "momentum", "permutation"]


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with files of every kind, beside a bin/ that holds `grade`."""
    top = tmp_path_factory.mktemp("shells")
    (top / "bin").mkdir()
    program = top / "bin" / "grade"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m grader "$@"\n')
    program.chmod(0o755)
    here = top / "here"
    (here / "sub").mkdir(parents=True)
    for name in FILES:
        (here / name).touch()
    return here


def around(folder: Path, **changes: str) -> dict[str, str]:
    path = f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return environment(PATH=path, GRADE_COURSE=str(ROOT), TERM="dumb", **changes)


def shell(line: list[str], folder: Path) -> str:
    done = subprocess.run(
        line, cwd=folder, env=around(folder), capture_output=True, text=True, timeout=300
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


# ------------------------------------------------------------------------------- what is completed

# What is typed so far, and what may come next: some of it, and none of what follows `-`.
ASKED: dict[str, tuple[set[str], set[str]]] = {
    "grade ": ({EXERCISE, "hint", "completion", "verify"}, {"x.py"}),
    "grade hin": ({"hint"}, {"list", EXERCISE}),
    "grade -": ({"--help", "--version"}, {"hint"}),
    "grade hint ": ({EXERCISE}, {"x.py", "hint"}),
    f"grade hint {EXERCISE} ": (set(CHECKS), {"x.py"}),
    f"grade hint {EXERCISE} val": ({"values"}, {"momentum"}),
    f"grade explain {EXERCISE} local": ({"local-mean"}, {"factor-two-missing"}),
    "grade hint nonsense-99 ": (set(), {*CHECKS, *FILES}),
    f"grade {EXERCISE} ": ({"x.py", "y.ipynb", "z.zip", "sub"}, {"q.txt", "r.json"}),
    f"grade {EXERCISE} x.py --sign ": (set(FILES), set()),
    f"grade {EXERCISE} --out s": ({"sub"}, {"s.html"}),
    f"grade {EXERCISE} --roster ": ({"t.csv", "sub"}, {"x.py"}),
    f"grade {EXERCISE} x.py --executor ": ({"local", "dask"}, {"x.py"}),
    f"grade start {EXERCISE} ": ({"sub"}, {"x.py"}),
    "grade verify ": ({"r.json", "s.html", "sub"}, {"x.py"}),
    "grade compare ": ({"r.json", "s.html"}, {"x.py"}),
    "grade receipt ": ({"r.json", "s.html"}, {"q.txt"}),
    "grade reproduce r.json --submission ": ({"x.py"}, {"r.json"}),
    "grade completion ": ({"bash", "zsh", "fish"}, set()),
    f"grade quiz {EXERCISE} --answer ": ({"a", "b", "c", "d"}, {"x.py"}),
    "grade quiz nonsense-99 --answer ": (set(), {"a", "x.py"}),
    "grade export results --to ca": ({"canvas", "canvas-feedback"}, {"moodle", "x.py"}),
    "grade nothing-like-it ": (set(), {EXERCISE, "x.py"}),
}
# One of each kind: what is asked for is the same for every shell, and its script is not.
SOME = ("grade hin", f"grade hint {EXERCISE} ", f"grade {EXERCISE} ", f"grade start {EXERCISE} ")
_BASH = """
eval "$(grade completion bash)"
while IFS= read -r line; do
    read -ra COMP_WORDS <<<"$line"
    [[ $line == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _grade_completion grade "${COMP_WORDS[COMP_CWORD]}" ""
    printf '%s\\t' "$line" "${COMPREPLY[@]}"
    echo
done
"""


def judge(told: dict[str, set[str]]) -> None:
    wrong = {
        line: told[line]
        for line, (there, absent) in ASKED.items()
        if not there <= told[line] or absent & told[line]
    }
    assert not wrong


@needs("bash")
def test_bash_completes_words_and_the_files_that_fit(folder: Path) -> None:
    done = subprocess.run(
        ["bash", "--norc", "-c", _BASH],
        input="".join(f"{line}\n" for line in ASKED),
        cwd=folder,
        env=around(folder),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stderr == ""
    told = {}
    for row in done.stdout.splitlines():
        line, *found = row.rstrip("\t").split("\t")
        told[line] = set(found)
    judge({line: told[line] if line in told else told[line.rstrip()] for line in ASKED})


@needs("bash")
def test_bash_takes_an_option_apart_at_its_sign(folder: Path) -> None:
    line = f"COMP_WORDS=(grade {EXERCISE} --out = s); COMP_CWORD=4; _grade_completion grade s ="
    script = f'eval "$(grade completion bash)"; {line}; echo "${{COMPREPLY[@]}}"'
    assert shell(["bash", "--norc", "-c", script], folder).split() == ["sub"]


@needs("fish")
def test_fish_completes_words_and_the_files_that_fit(folder: Path) -> None:
    asked = "\n".join(f"echo '>{line}'; complete -C '{line}'" for line in SOME)
    out = shell(["fish", "-N", "-c", f"grade completion fish | source\n{asked}"], folder)
    told: dict[str, set[str]] = {}
    for row in out.splitlines():
        if row.startswith(">"):
            told[row[1:]] = found = set[str]()
        else:
            found.add(row.partition("\t")[0].rstrip("/"))
    judge({**{line: there for line, (there, _absent) in ASKED.items()}, **told})
    assert "hint\tShow the next hint for a check, one at a time." in out


@needs("zsh")
def test_zsh_completes_words_and_shows_what_they_mean(folder: Path) -> None:
    line = "import pty; pty.spawn(['zsh', '-f', '-i'])"
    with subprocess.Popen(
        [sys.executable, "-c", line],
        cwd=folder,
        env=around(folder, COLUMNS="100"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    ) as zsh:
        load = (
            'autoload -Uz compinit; compinit -D -u; eval "$(grade completion zsh)"; echo lo""aded'
        )
        _until(zsh, f"{load}\n", "loaded")
        _until(zsh, f"grade hint {EXERCISE} val\t", "values ")
        # Only what is new is drawn.
        _until(zsh, f"\x15grade {EXERCISE} z\t", ".zip ")
        assert "-- " in _until(zsh, f"\x15grade explain {EXERCISE} l\t", "labels-only-reversed")
        # Its terminal goes with it; an `exit` may end up in what is being completed.
        zsh.kill()


def _type(shell: subprocess.Popen[bytes], typed: str) -> None:
    assert shell.stdin is not None
    shell.stdin.write(typed.encode())


def _until(shell: subprocess.Popen[bytes], typed: str, wanted: str) -> str:
    """Type something and return what is shown then, once `wanted` is in it."""
    assert shell.stdout is not None
    _type(shell, typed)
    shown, end = "", time.monotonic() + WAIT_S
    while wanted not in shown and time.monotonic() < end:
        if select.select([shell.stdout], [], [], 0.2)[0]:
            shown += os.read(shell.stdout.fileno(), 65536).decode(errors="replace")
    if wanted not in shown:
        shell.kill()
    assert wanted in shown
    return shown


# ------------------------------------------------------------------------- what may never be shown


def ask(words: list[str], cwd: Path, **changes: str) -> tuple[int, str, str]:
    changes |= {
        "_GRADE_COMPLETE": "bash_complete",
        "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    ran = run(cwd=cwd, env=changes)
    return ran.code, ran.stdout, ran.stderr


def test_a_broken_course_completes_to_less_and_says_nothing(tmp_path: Path) -> None:
    course = tmp_path / "course"
    (course / "exercises" / "broken-01").mkdir(parents=True)
    (course / "rubrics" / "broken-01").mkdir(parents=True)
    for path in ("exercises/broken-01/exercise.toml", "rubrics/broken-01/rubric.toml"):
        (course / path).write_bytes(b"\xff not = [toml")
    words = ["grade", "hint", "broken-01", ""]
    assert ask(words, tmp_path, GRADE_COURSE=str(course)) == (0, "\n", "")
    told = ask(["grade", "b"], tmp_path, GRADE_COURSE=str(course))
    assert told == (0, "plain\tbroken-01\t\n", "")


@pytest.mark.parametrize(
    "words",
    [["grade", "hint", ""], ["grade", "hint", "../..", ""], ["grade", "explain", "/etc", ""]],
)
def test_no_course_completes_to_nothing_and_says_nothing(words: list[str], tmp_path: Path) -> None:
    assert ask(words, tmp_path, GRADE_COURSE=str(tmp_path / "none")) == (0, "\n", "")


def test_titles_that_would_act_on_a_terminal_do_not(tmp_path: Path) -> None:
    (tmp_path / "rubrics" / "evil-01").mkdir(parents=True)
    (tmp_path / "exercises" / "evil-01").mkdir(parents=True)
    toml = tmp_path / "exercises" / "evil-01" / "exercise.toml"
    toml.write_text('title = "a\\u001b[31m\\tplain\\nplain\\tother"\n', encoding="utf-8")
    code, out, err = ask(["grade", "e"], tmp_path, GRADE_COURSE=str(tmp_path))
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "plain\tevil-01\ta[31mplainplainother"


@pytest.mark.parametrize("asked", ["bash", "csh_complete", "bash_nonsense", "_"])
def test_a_shell_that_is_not_known_gets_nothing(asked: str, tmp_path: Path) -> None:
    ran = run(cwd=tmp_path, env={"_GRADE_COMPLETE": asked})
    assert (ran.code, ran.stdout, ran.stderr) == (1, "", "")


def test_completing_loads_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "from grader.cli.main import run\nassert run() == 0\n"
        "import sys\nprint('|'.join(sys.modules))"
    )
    words = {"COMP_WORDS": f"grade\n{EXERCISE}\n", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment(_GRADE_COMPLETE="bash_complete", **words),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    first, _, loaded = done.stdout.partition("\n")
    assert first == "file\tpy|ipynb|zip\t"
    assert not {"jax", "numpy", "pydantic", "rich", "jinja2"} & set(loaded.split("|"))


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_a_script_says_where_to_put_it(name: str, tmp_path: Path) -> None:
    ran = run("completion", name, cwd=tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    assert f"#     grade completion {name} > " in ran.stdout
    assert shutil.which(name) is None or not _complaint(name, ran.stdout)


def _complaint(name: str, script: str) -> str:
    line = [name, "--no-execute" if name == "fish" else "-n"]
    return subprocess.run(line, input=script, capture_output=True, text=True, timeout=60).stderr


def test_a_shell_that_is_none_of_the_three_is_named(tmp_path: Path) -> None:
    ran = run("completion", "csh", cwd=tmp_path)
    assert ran.code == 2
    assert ran.stderr.startswith("grade: invalid value for 'SHELL': 'csh' is not one of 'bash'")
