"""What can come next on a command line: Click's own completion, told about our words and files.

A shell asks with each press of a key, in any folder and with any course: an answer is quick or
empty, and never an error.
"""

from __future__ import annotations

import contextlib
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

import click
from click import shell_completion
from click.shell_completion import CompletionItem

from grader.catalog import course as courses
from grader.errors import GradeError

VARIABLE = "_GRADE_COMPLETE"
_MOST = 500
# What stands so in any shell, unquoted.
_SAFE = re.compile(r"[A-Za-z0-9_.:/@%+,=-]*")
_SUBMISSIONS = "py|ipynb|zip"
_RECEIPTS = "json|html"

_BASH = r"""# Completion of `grade` for bash. Load it in ~/.bashrc:
#     eval "$(grade completion bash)"
# or keep it where bash-completion looks:
#     grade completion bash > ~/.local/share/bash-completion/completions/grade
_grade_completion() {
    local IFS=$'\n' kind value ending current="${2//\\/}"
    COMPREPLY=()
    while IFS=$'\t' read -r kind value _; do
        case $kind in
        plain) COMPREPLY+=("$value") ;;
        dir)
            compopt -o filenames 2>/dev/null
            COMPREPLY+=($(compgen -d -- "$current"))
            ;;
        file)
            compopt -o filenames 2>/dev/null
            COMPREPLY+=($(compgen -d -- "$current"))
            while [[ -n $value ]]; do
                ending=${value%%|*}
                COMPREPLY+=($(compgen -f -X "!*.$ending" -- "$current"))
                [[ $value == *'|'* ]] && value=${value#*|} || value=
            done
            ;;
        any)
            compopt -o filenames 2>/dev/null
            COMPREPLY+=($(compgen -f -- "$current"))
            ;;
        esac
    done < <(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD _GRADE_COMPLETE=bash_complete \
        "${1/#\~/$HOME}" 2>/dev/null)
}
complete -o nosort -F _grade_completion grade 2>/dev/null ||
    complete -F _grade_completion grade
"""
_ZSH = r"""#compdef grade
# Completion of `grade` for zsh. Load it in ~/.zshrc, after compinit:
#     eval "$(grade completion zsh)"
# or keep it in a folder of your $fpath:
#     grade completion zsh > "${fpath[1]}/_grade"
_grade() {
    local -a found
    local kind value told
    while IFS=$'\t' read -r kind value told; do
        case $kind in
        plain) found+=("${value//:/\\:}${told:+:$told}") ;;
        dir) _files -/ ;;
        file) _files -g "*.($value)" ;;
        any) _files ;;
        esac
    done < <(COMP_WORDS="${(pj:\n:)words}" COMP_CWORD=$((CURRENT - 1)) \
        _GRADE_COMPLETE=zsh_complete ${~words[1]} 2>/dev/null)
    (( $#found )) && _describe -V 'grade' found
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _grade "$@"
else
    compdef _grade grade
fi
"""
_FISH = r"""# Completion of `grade` for fish. Keep it where fish looks:
#     grade completion fish > ~/.config/fish/completions/grade.fish
function __grade_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l words (string join \n -- (string escape -- $before) "$current" | string collect)
    for line in (env COMP_WORDS="$words" COMP_CWORD=(count $before) _GRADE_COMPLETE=fish_complete \
            $before[1] 2>/dev/null)
        set -l part (string split \t -- $line)
        switch $part[1]
            case plain
                printf '%s\t%s\n' $part[2] "$part[3]"
            case dir
                __fish_complete_directories "$current" ''
            case file
                set -l wanted '.*(?:/|\.(?:'$part[2]'))(?:\t.*)?$'
                __fish_complete_path "$current" | string match -r $wanted
            case any
                __fish_complete_path "$current"
        end
    end
end
complete -c grade -f -k -a '(__grade_complete)'
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


class _Ours(shell_completion.ShellComplete):
    """The side of a shell that our scripts talk to: kind, value and help between tabs."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the finished words, and the one being typed."""
        words = os.environ.get("COMP_WORDS", "").split("\n")
        count = int(os.environ.get("COMP_CWORD", "0"))
        # Bash takes `--out=results` apart at the sign.
        before = [_unquoted(word) for word in words[1:count] if word != "="]
        return before, _unquoted(words[count]) if count < len(words) else ""

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Return one line; nothing in it can pass for another field or act on a terminal."""
        if item.type == "plain" and not _SAFE.fullmatch(item.value):
            return ""  # a shell would run what it inserts
        fields = (item.type, item.value, item.help or "")
        return "\t".join("".join(c for c in field if c.isprintable()) for field in fields)


def _unquoted(word: str) -> str:
    return "".join(shell_completion.split_arg_string(word)) if word else ""


for _shell in SCRIPTS:
    shell_completion.add_completion_class(_Ours, _shell)


def answer(cli: click.Command, instruction: str) -> int:
    """Print what may come next, as `instruction` asks in the name of a shell; 1 where unknown.

    Effects: changes the parameters of the commands it looks at, so nothing may run them after.
    """
    try:
        return shell_completion.shell_complete(cli, {}, "grade", VARIABLE, instruction)
    except Exception:  # noqa: BLE001 - whatever it is, nobody can read it while typing
        return 1


def exercises(incomplete: str, given: str | None = None) -> list[CompletionItem[str]]:
    """Return the exercises whose id begins so, with their titles."""
    try:
        found = courses.find(given)
        ids = [name for name in found.ids() if name.startswith(incomplete)][:_MOST]
    except (GradeError, OSError):
        return []
    return [
        CompletionItem(name, "plain", _title(found.root / "exercises" / name / "exercise.toml"))
        for name in ids
    ]


def learned(command: click.Command) -> click.Command:
    """Return a command whose parameters know what completes them."""
    for param in command.params:
        kind = _kind(command.name or "", param)
        if kind is not None:
            param.type = _Kind(kind)
    return command


class _Kind(click.types.StringParamType):
    """A parameter's type that takes everything, and completes by one function."""

    def __init__(self, give: Callable[[click.Context, str], list[CompletionItem[str]]]) -> None:
        self.give = give

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem[Any]]:
        """Return what begins so."""
        return list(self.give(ctx, incomplete))


_Give = Callable[[click.Context, str], list[CompletionItem[str]]]


def _files(endings: str) -> _Give:
    return lambda _ctx, _incomplete: [CompletionItem(endings, "file")]


def _folders(_ctx: click.Context, _incomplete: str) -> list[CompletionItem[str]]:
    return [CompletionItem("", "dir")]


def _any(_ctx: click.Context, _incomplete: str) -> list[CompletionItem[str]]:
    return [CompletionItem("", "any")]


def _exercises(ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
    return exercises(incomplete, ctx.params.get("course"))


def _of_rubric(table: str) -> _Give:
    def give(ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        try:
            root = courses.find(ctx.params.get("course")).root
            # An id is a folder's name, so nothing else is opened for what was typed.
            folder = root / "rubrics" / os.path.basename(str(ctx.params.get("exercise")))
            with (folder / "rubric.toml").open("rb") as file:
                rows = tomllib.load(file).get(table)
        except (GradeError, OSError, ValueError):
            return []
        return [
            CompletionItem(name, "plain", title)
            for name, title in _named(rows)
            if name.startswith(incomplete)
        ][:_MOST]

    return give


def _named(rows: object) -> Iterator[tuple[str, str]]:
    for row in rows if isinstance(rows, list) else []:
        name = row.get("id") if isinstance(row, dict) else None
        if isinstance(name, str):
            yield name, str(row.get("title", ""))


def _title(path: os.PathLike[str]) -> str:
    with contextlib.suppress(OSError, ValueError), open(path, "rb") as file:
        return str(tomllib.load(file).get("title", ""))
    return ""


def _letters(ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
    """Return the letters of a checkpoint with their choices."""
    try:
        root = courses.find(ctx.params.get("course")).root
        # Before an option has its value, Click has not given the arguments their names.
        exercise = ctx.params.get("exercise") or next(iter(ctx.args), "")
        folder = root / "exercises" / os.path.basename(str(exercise))
        with (folder / "questions.toml").open("rb") as file:
            choices = tomllib.load(file)["checkpoint"]["choices"]
        found = sorted((str(letter), str(text)) for letter, text in choices.items())
    except (GradeError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
    return [CompletionItem(a, "plain", text) for a, text in found if a.startswith(incomplete)]


def _formats(_ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
    from grader.gradebook import exports

    names = [name for name in exports.names() if name.startswith(incomplete)]
    return [CompletionItem(name, "plain", exports.summary(name)) for name in names]


_RECEIPT, _SUBMISSION = _files(_RECEIPTS), _files(_SUBMISSIONS)
_BY_NAME: dict[str, _Give] = {
    "exercise": _exercises,
    "check": _of_rubric("checks"),
    "mistake": _of_rubric("mistakes"),
    "submission": _SUBMISSION,
    "files": _SUBMISSION,
    "file": _SUBMISSION,
    "paths": _SUBMISSION,
    "results_dir": _folders,
    "directory": _folders,
    "receipts": _RECEIPT,
    "receipt": _RECEIPT,
    "old": _RECEIPT,
    "new": _RECEIPT,
    "record": _files("json"),
    "roster": _files("csv"),
}
_BY_METAVAR: dict[str, _Give] = {
    "DIR": _folders,
    "[DIR]": _folders,
    "RECEIPT": _RECEIPT,
    "RECEIPT...": _RECEIPT,
    "CSV": _files("csv"),
    "KEY": _any,
    "FILE": _any,
    "PUB": _files("pub"),
    "PATH": _any,
    "FOLDER_OR_ZIP": _any,
    "ZIP": _files("zip"),
    "PDF": _files("pdf"),
}
# Where a name means something else than elsewhere.
_APART: dict[tuple[str, str], _Give] = {
    ("receipt", "file"): _RECEIPT,
    ("predict", "file"): _files("toml|json"),
    ("quiz", "answer"): _letters,
    ("export", "form"): _formats,
}


def _kind(command: str, param: click.Parameter) -> _Give | None:
    """Return what completes a parameter; None where its own type knows, or nothing does."""
    if isinstance(param.type, click.Choice) or getattr(param, "is_flag", False):
        return None
    name, metavar = param.name or "", param.metavar or ""
    apart = _APART.get((command, name))
    if apart is not None:
        return apart
    if metavar.startswith("RECEIPT"):
        return _RECEIPT
    return _BY_NAME.get(name) or _BY_METAVAR.get(metavar)
