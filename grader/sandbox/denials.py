"""Say what the sandbox refused, from the exception that a refusal became.

Runs inside the confined child. Only an error of the system counts: a PermissionError that the
learner raises by hand is an exception like any other.
"""

from __future__ import annotations

import ast
import errno
import linecache
import os
import re
import types
from dataclasses import dataclass
from typing import Any

from grader.sandbox import raised

_ERRNO: Any = OSError.__dict__["errno"]
_FILENAME: Any = OSError.__dict__["filename"]
_NO = frozenset({errno.EPERM, errno.EACCES, errno.EROFS})
_NO_NETWORK = frozenset({errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTUNREACH})
_FULL = {
    errno.ENOSPC: "full",
    getattr(errno, "EDQUOT", errno.ENOSPC): "full",
    errno.EFBIG: "too_large",
}
_PROCESS_MODULES = frozenset({"subprocess", "multiprocessing", "concurrent", "pty"})
_NETWORK_MODULES = frozenset(
    {"socket", "ssl", "urllib", "http", "ftplib", "smtplib", "requests", "httpx", "urllib3"}
)
_PROCESS_CALLS = re.compile(r"(fork|forkpty|system|popen|exec[lv]p?e?|posix_spawnp?|spawn[lv]p?e?)")
_SIGNAL_CALLS = frozenset(
    {"kill", "killpg", "raise_signal", "pidfd_open", "pidfd_send_signal", "pthread_kill"}
)
_NETWORK_CALLS = frozenset({"socketpair", "create_connection", "getaddrinfo", "gethostbyname"})
_VERBS = {
    **dict.fromkeys(("open", "fopen", "FileIO", "fdopen"), "opening"),
    **dict.fromkeys(("mkdir", "makedirs", "copytree"), "making the folder"),
    **dict.fromkeys(("remove", "unlink", "rmdir", "removedirs", "rmtree"), "deleting"),
    **dict.fromkeys(("rename", "renames", "replace", "move"), "renaming"),
    **dict.fromkeys(("listdir", "scandir", "walk", "iterdir", "glob"), "listing"),
    **dict.fromkeys(("symlink", "symlink_to", "link", "hardlink_to", "mkfifo", "mknod"), "making"),
    **dict.fromkeys(("chmod", "chown", "utime", "truncate", "setxattr", "touch"), "changing"),
    **dict.fromkeys(("fchmod", "fchown", "copymode", "copystat"), "changing"),
}
PATH_CHARS = 200
# As `resource.setrlimit` words a refusal, whatever was to be set.
_NO_LIMIT = "not allowed to raise maximum limit"
_OPEN_MODE = re.compile(r"open\w*\(.*[\"']([rwaxbt+]{1,4})[\"']")


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was refused, and the learner's own lines on the way to it."""

    facts: dict[str, str]
    lines: list[tuple[int, str]]


def number(error: BaseException) -> int | None:
    """Return the errno of an OSError, None where it has none."""
    found = _ERRNO.__get__(error)
    return found if type(found) is int else None


def refused(error: BaseException, filename: str, tree: ast.Module) -> Refusal | None:
    """Return what the sandbox refused on the way to an exception, None where it refused nothing."""
    outer = raised.call(error, filename, tree)
    for one in raised.chain(error, filename):
        own = raised.call(one, filename, tree)
        what = _what(one, own, filename)
        if what is not None:
            what["call"] = raised.text_of(own or outer)
            return Refusal(what, raised.learner_lines(one, filename))
    return None


def _what(error: BaseException, own: ast.AST | None, filename: str) -> dict[str, str] | None:
    name = raised.type_name(error)
    if name == "OperationalError" and "unable to open database" in raised.describe(error):
        return {"what": "file", "verb": "opening a database"}
    if raised.by_hand(error, filename):
        return None
    if type(error) is ValueError and str(error) == _NO_LIMIT:
        return {"what": "limit"}
    if not issubclass(type(error), OSError):
        return None
    if _is_of_a_copy(error, filename):
        return {"what": "file", "verb": "changing"}
    code = number(error)
    if name in ("gaierror", "herror") or code in _NO_NETWORK:
        return {"what": "network"}
    if code in _FULL:
        return {"what": _FULL[code], "path": _path(error)}
    if name == "FileNotFoundError" and "No usable temporary directory" in raised.describe(error):
        return {"what": "file", "verb": "making a temporary file"}
    return _denied(error, own, filename) if code in _NO else None


def _is_of_a_copy(error: BaseException, filename: str) -> bool:
    """Return whether `shutil.copytree` failed, which gathers what it was refused in a list."""
    if raised.type_name(error) != "Error" or "[Errno 1]" not in raised.describe(error):
        return False
    return any(_module(step.tb_frame) == "shutil" for step in _below(error, filename))


def _denied(error: BaseException, own: ast.AST | None, filename: str) -> dict[str, str]:
    below = _below(error, filename)
    modules = {_module(step.tb_frame) for step in below}
    path, called = _path(error), _called(own)
    if modules & _PROCESS_MODULES or (_PROCESS_CALLS.fullmatch(called) and not below):
        return {"what": "process"}
    if "asyncio" in modules:
        return {"what": "loop"}
    if called in _SIGNAL_CALLS and not path:
        return {"what": "signal"}
    if called == "prlimit" and not path:
        return {"what": "limit"}
    if not path and (modules & _NETWORK_MODULES or called in _NETWORK_CALLS):
        return {"what": "network"}
    if "tempfile" in modules:
        # Its name is a new one each time.
        return {"what": "file", "verb": "making a temporary file"}
    names = [called, *(str.__str__(step.tb_frame.f_code.co_name) for step in reversed(below))]
    verb = next((_VERBS[name] for name in names if name in _VERBS), "")
    # The times of a file are refused without its name.
    if not path and verb != "changing":
        return {"what": "call"}
    if not verb:
        verb = "opening" if number(error) == errno.EACCES else "changing"
    mode = _mode(own, called, below) if verb == "opening" else ""
    way = "" if not mode else "writing" if set(mode) & set("wax+") else "reading"
    return {"what": "file", "path": path, "verb": verb, "way": way}


def _below(error: BaseException, filename: str) -> list[types.TracebackType]:
    """Return the entries of libraries that the learner's innermost line led into."""
    below: list[types.TracebackType] = []
    for step in raised.steps(error):
        below = [] if raised.is_learners(step, filename) else [*below[-30:], step]
    return below


def _module(frame: types.FrameType) -> str:
    name = frame.f_globals.get("__name__")
    return name.partition(".")[0] if type(name) is str else ""


def _called(node: ast.AST | None) -> str:
    """Return the last name of what a call calls."""
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _path(error: BaseException) -> str:
    found = _FILENAME.__get__(error)
    if found is None or isinstance(found, int):
        return ""
    return raised.stable(str.__str__(os.fsdecode(found)))[:PATH_CHARS]


def _mode(own: ast.AST | None, called: str, below: list[types.TracebackType]) -> str:
    """Return the mode in which a file was to be opened, nothing where it does not show."""
    if not below:
        return written_mode(own) if called == "open" and isinstance(own, ast.Call) else ""
    frame = below[-1].tb_frame
    mode = frame.f_locals.get("mode")
    if type(mode) is str:
        return mode
    found = _OPEN_MODE.search(linecache.getline(frame.f_code.co_filename, below[-1].tb_lineno))
    return found[1] if found else ""


def written_mode(own: ast.Call) -> str:
    """Return the mode in which a call of `open` opens a file, nothing where it does not show."""
    # `os.open` takes flags, and a method `open` may take anything.
    owner = own.func.value if isinstance(own.func, ast.Attribute) else None
    if owner is not None and not (isinstance(owner, ast.Name) and owner.id in ("io", "codecs")):
        return ""
    given = own.args[1:2] + [key.value for key in own.keywords if key.arg == "mode"]
    if not given:
        return "r"
    mode = given[0].value if isinstance(given[0], ast.Constant) else None
    return mode if isinstance(mode, str) else ""
