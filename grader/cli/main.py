"""The `grade` command: find the right file for what was typed, and end with the right code.

Only this floor prints or exits. Nothing heavy may be imported before a command needs it:
`grade --help` answers at once.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from grader import __version__
from grader.cli import early, language
from grader.errors import GradeError, UsageProblem
from grader.sandbox import rooms

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

STARTED = time.monotonic()
_SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Learning": {
        "list": ("grader.cli.listing", "Show the exercises of the course."),
        "start": ("grader.cli.start", "Write an exercise's starter file; never overwrites."),
        "show": ("grader.cli.show", "Print an exercise's prompt."),
        "predict": ("grader.cli.predict", "Answer the lesson's questions before the first run."),
        "watch": ("grader.cli.watch", "Grade a file again each time it is saved."),
        "hint": ("grader.cli.hint", "Show the next hint for a check, one at a time."),
        "explain": ("grader.cli.explain", "Explain a mistake that a receipt names, by an example."),
        "quiz": ("grader.cli.quiz", "Answer the lesson's checkpoint; every choice is commented."),
        "status": ("grader.cli.status", "Show where you stand, and what comes next."),
        "compare": ("grader.cli.compare", "Say what a new try gained and lost."),
        "reset": ("grader.cli.reset", "Begin a file again from the starter; the old one is kept."),
    },
    "A class": {
        "inspect": ("grader.cli.inspect", "Show one learner's submission and its history."),
        "regrade": ("grader.cli.regrade", "Grade a class again, or set points by hand."),
        "marks": ("grader.cli.marks", "Write the sheet for what is graded by hand."),
        "export": ("grader.cli.export", "Give a class's grades back in a platform's form."),
        "lookalikes": ("grader.cli.lookalikes", "List submissions to look at side by side."),
        "gradescope-autograder": ("grader.cli.autograder", "Write an autograder for Gradescope."),
    },
    "Receipts": {
        "receipt": (
            "grader.cli.receipt",
            "Show a stored receipt again: html, md, txt, json or pdf.",
        ),
        "portfolio": (
            "grader.cli.portfolio",
            "Gather receipts into one page and one zip, or restore.",
        ),
        "reproduce": ("grader.cli.reproduce", "Grade again with a receipt's seed, and compare."),
        "keygen": ("grader.cli.keygen", "Make a key to sign receipts with; never overwrites."),
        "verify": ("grader.cli.verify", "Check that receipts are what a key of yours signed."),
    },
    "Writing an exercise": {
        "new": ("grader.cli.new", "Write a small exercise that works, to make another of it."),
        "audit": ("grader.cli.audit", "Prove an exercise with its right and wrong solutions."),
        "mutate": ("grader.cli.mutate", "Show what a rubric does not see, by wrong variants."),
        "kinds": ("grader.cli.kinds", "Describe the kinds of check that a rubric may use."),
        "schema": ("grader.cli.schema", "Print the JSON Schema of a record or a course's file."),
    },
    "This machine": {
        "doctor": (
            "grader.cli.doctor",
            "Show what this machine has: Python, JAX, confinement, cache.",
        ),
        "completion": ("grader.cli.completion", "Print what makes a shell complete `grade`."),
    },
}
_COMMANDS = {name: told for section in _SECTIONS.values() for name, told in section.items()}
_RUN = "grader.cli.run"
_MACHINE = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.EAGAIN,
    errno.ENOMEM,
    errno.EFBIG,
)


class Commands(click.Group):
    """Subcommands by name; anything that looks like an exercise grades a file."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the command line; `--help` and `--version` print here."""
        if language.chosen():
            _in_other_words(self)
        with _ends_quietly():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _ends_quietly():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order they are shown."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the file of one command and return it."""
        module = _COMMANDS[cmd_name][0] if cmd_name in _COMMANDS else _RUN
        if cmd_name not in _COMMANDS and not early.EXERCISE.match(cmd_name):
            return None
        command: click.Command = importlib.import_module(module).command
        if ctx.resilient_parsing:
            from grader.cli import completing

            return completing.learned(command)
        if language.chosen():
            _in_other_words(command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[Any]]:
        """Return the exercises and commands that begin so, without importing any of them."""
        from click.shell_completion import CompletionItem

        from grader.cli import completing

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        names = [(name, text) for name, (_module, text) in _COMMANDS.items()]
        return completing.exercises(incomplete) + [
            CompletionItem(name, help=text) for name, text in names if name.startswith(incomplete)
        ]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Take an exercise id as the command that grades, with the id as its first argument."""
        name = args[0]
        if name not in _COMMANDS and early.EXERCISE.match(name):
            return name, self.get_command(ctx, name), args
        if ctx.resilient_parsing and name not in _COMMANDS:
            return name, click.Command(name), args[1:]  # nothing is known of what follows
        if name not in _COMMANDS and not name.startswith("-"):
            raise _unknown(name)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their sentences, without importing any of them."""
        grading = ("EXERCISE FILE...", "Grade FILE; a folder, an archive or several are a class.")
        with formatter.section("Grading"):
            formatter.write_dl([grading])
        for heading, commands in _SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, text) for name, (_module, text) in commands.items()])


def _in_other_words(command: click.Command) -> None:
    from grader.cli import helping

    command.context_class = helping.Context


def _unknown(name: str) -> UsageProblem:
    import difflib

    from grader.catalog import carried, course

    try:
        ids = course.find(None).ids()
    except (GradeError, OSError):
        ids = []
    if ids and (name.endswith((".py", ".ipynb")) or os.path.exists(name)):
        exercise = carried.carried(os.path.basename(name), ids)
        file = shlex.quote(name)
        step = f"grade {exercise} {file}" if exercise else f"grade EXERCISE {file}"
        of_all = "" if exercise else "   (`grade list` shows the exercises)"
        return UsageProblem(
            f"{name!r} is no command or exercise",
            next_step=f"name the exercise before the file: {step}{of_all}",
        )
    close = difflib.get_close_matches(name, [*_COMMANDS, *ids], n=1, cutoff=0.5)
    return UsageProblem(
        f"there is no command or exercise {name!r}",
        next_step=f"did you mean {close[0]}?" if close else "`grade --help` shows what there is",
    )


@click.group(cls=Commands, invoke_without_command=True, subcommand_metavar="COMMAND [ARGS]...")
@click.version_option(__version__, prog_name="grade")
@click.pass_context
def cli(ctx: click.Context) -> int | None:
    """Grade programs for distributed-JAX lessons on four logical CPU devices.

    Without a command it shows where you stand in this folder, and what comes next.

    Example: grade distributed-03 my_solution.py
    """
    if ctx.invoked_subcommand is not None:
        return None
    from grader.cli import status

    code: int = ctx.invoke(status.command, as_json=False, course=None)
    return code


def run(args: Sequence[str] | None = None) -> int:
    """Return the exit code of one command line; every problem is said here, once."""
    asked = os.environ.get("_GRADE_COMPLETE")
    if asked:
        from grader.cli import completing

        return completing.answer(cli, asked)
    try:
        code = cli.main(args=args, prog_name="grade", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        _say_usage(error)
        return 2
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted; nothing was written")
        return 130
    except GradeError as error:
        _say(f"grade: {error.sentence()}")
        return error.exit_code
    except OSError as error:
        return _say_machine(error) or _report_bug(error)
    except UnicodeEncodeError as error:
        return _say_locale(error) or _report_bug(error)
    except Exception as error:  # noqa: BLE001 - the one catch-all: a bug of ours is never exit 1
        return _report_bug(error)


def _say(text: str) -> None:
    """Print a message that may quote a file name or a file: nothing in it may act."""
    from grader.receipt.escape import visible

    text = language.said(text, getattr(sys.stderr, "encoding", None))
    click.echo(visible(text), err=True)


def _say_machine(error: OSError) -> int:
    """Say what this machine lacks, if that is what the error means; returns 4, else 0."""
    try:
        os.getcwd()
    except OSError:
        _say("grade: the current folder is not there any more")
        _say("  Next: change to a folder that is, then run it again")
        return 4
    if error.errno not in _MACHINE:
        return 0
    _say(f"grade: this machine does not let us go on: {error.strerror}")
    _say("  Next: make room on the disk or wait until it is less busy, then run it again")
    return 4


def _say_locale(error: UnicodeEncodeError) -> int:
    """Say that this locale cannot name a file, if that is what the error means; 4, else 0."""
    if sys.getfilesystemencoding() == "utf-8":
        return 0
    _say(f"grade: this locale cannot name a file: {error}")
    _say("  Next: set LC_ALL=C.UTF-8 or PYTHONUTF8=1, then run it again")
    return 4


@contextlib.contextmanager
def _ends_quietly() -> Iterator[None]:
    """End with 0 when whoever read our output went away; Click would end as for a failed grade."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(0) from None


def _say_usage(error: click.ClickException) -> None:
    context = getattr(error, "ctx", None)
    message = error.format_message().rstrip(".")
    if isinstance(error, click.NoSuchOption):
        message = f"there is no option {error.option_name}"
        if error.possibilities:
            message += f"; did you mean {error.possibilities[0]}?"
    _say(f"grade: {message[:1].lower()}{message[1:]}")
    path = context.command_path.strip() if context is not None else "grade"
    _say(f"  Next: `{path} --help` shows what it takes")


def _report_bug(error: Exception) -> int:
    """Say that the fault is ours, with what a report needs; returns 70."""
    import platform
    import traceback

    click.echo(f"grade: a bug in the grader: {type(error).__name__}: {error}", err=True)
    click.echo("  Your file was not judged, and nothing of yours was changed.", err=True)
    click.echo("  Next: run it again; if it stays, report this:", err=True)
    click.echo(
        f"  grade {__version__}, Python {platform.python_version()}, {sys.platform}", err=True
    )
    frames: list[Any] = traceback.extract_tb(error.__traceback__)[-6:]
    for frame in frames:
        click.echo(f"    {os.path.basename(frame.filename)}:{frame.lineno} {frame.name}", err=True)
    return 70


def main() -> None:
    """Run the command line and end the process with its code."""
    try:
        code = run()
    finally:
        early.discard()
        rooms.remove_all()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    # Nothing is left to do, and taking the interpreter apart would take as long as a check.
    os._exit(code)
