"""Every command says what it is for, with an example that it would take."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from grader.cli import main
from tests.command import EXERCISE, run
from tests.messages import commands

pytestmark = pytest.mark.once
COMMANDS = commands()


def _examples(command: click.Command) -> list[str]:
    return re.findall(r"^ *Example: (grade .*)$", command.help or "", re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_that_it_takes_itself(name: str) -> None:
    found = _examples(COMMANDS[name])
    assert found, f"{name} has no example"
    for line in found:
        _program, *words = shlex.split(line)
        words = words[: words.index(">")] if ">" in words else words
        with main.cli.make_context("grade", list(words)) as context:
            called, command, rest = main.cli.resolve_command(context, words)
            assert command is not None
            assert command is COMMANDS[name or "EXERCISE"]
            with command.make_context(called, list(rest), parent=context) as own:
                # What is left over would be an error, and a required value that is not there too.
                assert not own.args


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_does(name: str) -> None:
    for param in COMMANDS[name].params:
        if isinstance(param, click.Option):
            assert param.help, f"{param.opts[0]} of {name}"


def test_help_of_the_program_and_of_grading_end_in_their_examples(tmp_path: Path) -> None:
    assert f"Example: grade {EXERCISE} my_solution.py" in run("--help", cwd=tmp_path).stdout
    ran = run(EXERCISE, "--help", cwd=tmp_path)
    assert ran.code == 0
    assert ran.stdout.count("Example: grade ") == 2
