from __future__ import annotations

import ast
import asyncio
import re
import site
import subprocess
import sys
import textwrap
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.sandbox import denials, raised, statements
from grader.sandbox.statements import Stop
from tests.replay import jax_process

FILE = "s.py"


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    kept = sys.modules.get(statements.MODULE_NAME)
    yield
    sys.modules.pop(statements.MODULE_NAME, None)
    if kept is not None:
        sys.modules[statements.MODULE_NAME] = kept


class Ran:
    """A module that was run: its namespace, why it stopped, and which statements finished."""

    def __init__(self, source: str, stop_before: int | None = None) -> None:
        tree = statements.parse(textwrap.dedent(source).encode(), FILE)
        assert isinstance(tree, ast.Module), tree
        self.module: types.ModuleType = statements.new_module("/away/s.py")
        self.finished: list[int] = []
        self.stop = statements.run(tree, self.module, FILE, stop_before, self.finished.append)
        self.names = vars(self.module)


def stopped(source: str) -> Stop:
    ran = Ran(source)
    assert ran.stop is not None
    return ran.stop


# ------------------------------------------------------------------------------------------ running


def test_the_last_binding_counts_wherever_it_stands() -> None:
    source = "def f(): pass\nif f:\n    f = 2\ndef f(): pass\nfor i in []: g = (h := i)\n"
    assert statements.bindings(ast.parse(source)) == {"f": 4, "i": 5, "g": 5, "h": 5}


def test_every_statement_is_run_and_told_in_order() -> None:
    ran = Ran("a = 1\nb = a + 1\nif b:\n    c = b\n")
    assert (ran.stop, ran.finished) == (None, [0, 1, 2])
    assert (ran.names["a"], ran.names["b"], ran.names["c"]) == (1, 2, 2)


def test_what_came_before_a_stop_stays() -> None:
    ran = Ran("a = 1\nraise ValueError('no')\nb = 2\n")
    assert ran.stop is not None
    assert (ran.names["a"], "b" in ran.names, ran.finished) == (1, False, [0])


def test_a_second_run_ends_before_the_statement_that_stopped_the_first() -> None:
    ran = Ran("a = 1\nb = 2\nc = 3\n", stop_before=2)
    assert (ran.stop, ran.finished, "c" in ran.names) == (None, [0, 1], False)
    assert Ran("a = 1\n", stop_before=0).finished == []


def test_an_empty_module_runs_to_its_end() -> None:
    ran = Ran("# nothing\n")
    assert (ran.stop, ran.finished) == (None, [])


def test_the_module_is_imported_and_not_the_main_program() -> None:
    ran = Ran("inside = __name__ == '__main__'\nwhere = __file__\n")
    assert (ran.names["inside"], ran.names["where"]) == (False, "/away/s.py")


def test_functions_see_the_names_that_come_later() -> None:
    assert Ran("def f():\n    return later\nlater = 3\nanswer = f()\n").names["answer"] == 3


def test_a_future_import_holds_for_every_later_statement() -> None:
    ran = Ran("from __future__ import annotations\ndef f(x: NoSuchName) -> Nor: ...\n")
    assert ran.stop is None
    assert ran.names["f"].__annotations__ == {"x": "NoSuchName", "return": "Nor"}


def test_without_a_future_import_annotations_are_evaluated_as_python_does() -> None:
    ran = Ran("def f(x: int) -> float: ...\n")
    assert ran.names["f"].__annotations__ == {"x": int, "return": float}


@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
def test_dataclasses_find_their_module(future: str) -> None:
    ran = Ran(
        f"{future}from dataclasses import dataclass, field\nfrom typing import ClassVar\n"
        "@dataclass\nclass P:\n    x: int\n    n: ClassVar[int] = 3\n    y: list = field("
        "default_factory=list)\np = P(1)\n"
    )
    assert ran.stop is None
    assert (ran.names["p"].x, ran.names["P"].__module__) == (1, statements.MODULE_NAME)


def test_variables_with_annotations_are_bound() -> None:
    ran = Ran("x: int = 3\ny: float\n")
    assert (ran.stop, ran.names["x"]) == (None, 3)


def test_the_docstring_is_the_first_string_and_no_later_one() -> None:
    assert Ran('"""Mine."""\nx = 1\n"""Just a note."""\n').module.__doc__ == "Mine."
    assert Ran('x = 1\n"""Just a note."""\n').module.__doc__ is None


# --------------------------------------------------------------------------------- how it may stop


def test_an_exception_is_told_with_the_innermost_line_of_the_learner() -> None:
    stop = stopped("import json\ndef f():\n    return json.loads('{')\n\nx = f()\n")
    assert (stop.kind, stop.line) == ("raised", 3)
    assert stop.message.startswith("JSONDecodeError: ")
    assert stop.frames == ["line 5, in <module>", "line 3, in f"]
    assert stop.detail == {"type": "JSONDecodeError", "call": "json.loads('{')", "own": False}


def test_lines_of_a_statement_over_several_lines_are_right() -> None:
    assert stopped("x = [\n    1,\n    1 / 0,\n]\n").line == 3


def test_endless_recursion_is_an_exception_with_few_frames() -> None:
    stop = stopped("def f():\n    return f()\nf()\n")
    assert (stop.kind, stop.line, len(stop.frames)) == ("raised", 2, 2)
    assert re.fullmatch(r"line 2, in f \(\d+ times\)", stop.frames[-1])
    assert stop.message.startswith("RecursionError")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("raise SystemExit", ""),
        ("raise SystemExit(0)", "exit code 0"),
        ("raise SystemExit(3)", "exit code 3"),
        ("import sys; sys.exit('bye')", "exit with a message"),
        ("raise SystemExit({})", ""),
    ],
)
def test_an_exit_is_an_exit(call: str, message: str) -> None:
    ran = Ran(f"a = 1\nif a:\n    {call}\nb = 2\n")
    assert ran.stop is not None
    assert (ran.stop.kind, ran.stop.line) == ("exited", 3)
    assert ran.stop.message == message
    assert ran.names["a"] == 1


def test_asking_for_too_much_memory_is_told_as_that() -> None:
    stop = stopped("x = 1\ny = bytearray(1 << 62)\n")
    assert (stop.kind, stop.line) == ("out_of_memory", 2)
    assert stop.message.startswith("MemoryError")


@pytest.mark.parametrize(
    ("error", "kind"),
    [(statements.CpuLimit, "cpu_limit"), (statements.WallLimit, "wall_limit")],
)
def test_a_limit_is_told_as_a_limit(error: type[BaseException], kind: str) -> None:
    tree = statements.parse(b"x = 1\nstop()\n", FILE)
    assert isinstance(tree, ast.Module)
    module = statements.new_module(FILE)

    def stop() -> None:
        raise error

    vars(module)["stop"] = stop
    told = statements.run(tree, module, FILE, None, lambda _index: None)
    assert told is not None
    assert (told.kind, told.line, told.message) == (kind, 2, "")


@pytest.mark.parametrize("name", ["KeyboardInterrupt", "GeneratorExit", "BaseException"])
def test_any_other_base_exception_is_an_exception(name: str) -> None:
    assert stopped(f"raise {name}('x')\n").kind == "raised"


# A library whose call the system refuses, seen from a file of another name.
LIBRARY = """
def library(name, body):
    made = {"__name__": name}
    exec(compile(body, f"{name}.py", "exec"), made)
    return made["call"]

"""
DENIED = "PermissionError(13, 'Permission denied', 'x.txt')"
NO_PATH = "PermissionError(1, 'Operation not permitted')"
COPIES = "__import__('shutil').Error([('a', 'b', '[Errno 1] Operation not permitted')])"


def failing(name: str, error: str) -> str:
    return LIBRARY + f'call = library("{name}", "def call(*a, **k): raise {error}")\n'


def refusal(source: str, **given: object) -> dict[str, str]:
    """Return what was refused while a module ran that has some names already."""
    tree = statements.parse(source.encode(), FILE)
    assert isinstance(tree, ast.Module)
    module = statements.new_module(FILE)
    vars(module).update(given)
    stop = statements.run(tree, module, FILE, None, lambda _index: None)
    assert stop is not None
    found = stop.detail["refused"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("name", "error", "what"),
    [
        ("socket", NO_PATH, "network"),
        ("urllib.request", NO_PATH, "network"),
        ("subprocess", NO_PATH, "process"),
        ("subprocess", DENIED, "process"),
        ("multiprocessing.synchronize", NO_PATH, "process"),
        ("asyncio.unix_events", NO_PATH, "loop"),
        ("tempfile", DENIED, "file"),
        ("mine", DENIED, "file"),
        ("mine", NO_PATH, "call"),
        ("mine", "OSError(28, 'No space left on device', 'x')", "full"),
        ("mine", "OSError(27, 'File too large')", "too_large"),
        ("mine", "OSError(30, 'Read-only file system', 'x')", "file"),
        ("mine", "OSError(101, 'Network is unreachable')", "network"),
        ("mine", "__import__('socket').gaierror(-3, 'Temporary failure')", "network"),
        ("mine", "FileNotFoundError(2, 'No usable temporary directory found in []')", "file"),
        ("mine", "ValueError('not allowed to raise maximum limit')", "limit"),
        ("shutil", COPIES, "file"),
    ],
)
def test_what_the_sandbox_refused_is_told_by_its_kind(name: str, error: str, what: str) -> None:
    found = refusal(failing(name, error) + "call('a')\n")
    assert (found["what"], found["call"]) == (what, "call('a')")


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("os.setxattr", "file"),
        ("os.utime", "file"),
        ("os.mkdir", "file"),
        ("os.fork", "process"),
        ("os.execv", "process"),
        ("os.kill", "signal"),
        ("signal.raise_signal", "signal"),
        ("resource.prlimit", "limit"),
        ("os.nice", "call"),
    ],
)
def test_a_call_that_leaves_no_frame_is_told_by_its_name(call: str, what: str) -> None:
    path = ("x",) if what == "file" and call != "os.utime" else ()
    # Its result is raised by a function in C, as the calls of `os` do it.
    future: asyncio.Future[None] = asyncio.Future(loop=Loop())
    future.set_exception(PermissionError(1, "Operation not permitted", *path))
    module, _, name = call.partition(".")
    found = refusal(f"{call}()\n", **{module: types.SimpleNamespace(**{name: future.result})})
    assert (found["what"], found["call"]) == (what, f"{call}()")


class Loop(asyncio.AbstractEventLoop):
    """As much of an event loop as a future needs to hold a result."""

    def get_debug(self) -> bool:
        return False

    def call_soon(self, *_what: Any, **_more: Any) -> Any:
        return None


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("try:\n    call('x')\nexcept OSError as e:\n    raise ValueError from e\n", 9),
        ("try:\n    call('x')\nexcept OSError:\n    raise ValueError\n", 9),
        ("try:\n    call('x')\nexcept OSError as e:\n    kept = e\nraise kept\n", 9),
        ("\ncall('x')\n", 9),
        ("def f():\n    call('x')\nf()\n", 9),
        ("\nf = lambda: [call(n) for n in 'x']\nf()\n", 9),
        ("\nexec('call(1)')\n", 9),
    ],
)
def test_a_refusal_is_seen_behind_what_it_led_to_at_its_own_line(source: str, line: int) -> None:
    stop = stopped(failing("mine", DENIED) + source)
    assert stop.line == line
    expected = {"what": "file", "path": "x.txt", "verb": "opening"}
    assert stop.detail["refused"].items() >= expected.items()


def test_a_refusal_behind_an_error_of_a_library_is_seen() -> None:
    body = f"def call():\n  try: raise {DENIED}\n  except OSError as e: raise RuntimeError('no')"
    found = refusal(LIBRARY + f"call = library('mine', {body!r})\ncall()\n")
    assert (found["what"], found["path"], found["call"]) == ("file", "x.txt", "call()")


@pytest.mark.parametrize(
    "source",
    [
        "raise PermissionError",
        "raise PermissionError('no')",
        "raise PermissionError(13, 'no')",
        "raise ValueError('not allowed to raise maximum limit')",
        "try:\n    call('x')\nexcept PermissionError:\n    undefined_name",
        "try:\n    call('x')\nexcept PermissionError:\n    1 / 0",
        "try:\n    call('x')\nexcept OSError:\n    raise ValueError('no') from None",
        "try:\n    raise PermissionError\nexcept OSError:\n    raise ValueError",
        "open('/no/such/file')",
    ],
)
def test_what_the_sandbox_did_not_refuse_is_an_error_of_its_own(source: str) -> None:
    stop = stopped(failing("mine", DENIED) + source + "\n")
    assert stop.kind == "raised"
    assert "refused" not in stop.detail


@pytest.mark.parametrize(
    ("source", "mode"),
    [
        ("open('x', 'w')", "w"),
        ("open('x', mode='r+b')", "r+b"),
        ("open('x')", "r"),
        ("io.open('x', 'rb')", "rb"),
        ("open('x', how)", ""),
        ("os.open('x', 'w')", ""),
        ("archive.open('x')", ""),
    ],
)
def test_the_mode_of_a_file_is_told_where_the_call_shows_it(source: str, mode: str) -> None:
    expression = ast.parse(source, mode="eval").body
    assert isinstance(expression, ast.Call)
    assert denials.written_mode(expression) == mode


@pytest.mark.parametrize(("mode", "way"), [("wb", "writing"), ("r", "reading"), ("", "")])
def test_the_mode_inside_a_library_is_told(mode: str, way: str) -> None:
    body = f"def call(path, mode): raise {DENIED}"
    found = refusal(LIBRARY + f"call = library('mine', {body!r})\ncall('x', {mode!r})\n")
    assert found["way"] == way


def test_a_circle_of_causes_ends() -> None:
    source = "a, b = ValueError(), KeyError()\na.__cause__, b.__cause__ = b, a\nraise a\n"
    assert "refused" not in stopped(source).detail


# ------------------------------------------------------------------------- where it was, in words


@pytest.mark.parametrize(
    ("source", "line", "call"),
    [
        ("import sys\nsys.exit(0)\n", 2, "sys.exit(0)"),
        ("exit()\n", 1, "exit()"),
        ("quit(3)\n", 1, "quit(3)"),
        ("raise SystemExit\n", 1, "raise SystemExit"),
        ("def f():\n    raise SystemExit(2)\n\nf()\n", 2, "raise SystemExit(2)"),
        ("import sys\nx = [\n  1,\n  sys.exit(\n    4),\n]\n", 4, "sys.exit(4)"),
        (
            "import argparse\nargparse.ArgumentParser().parse_args(['--no'])\n",
            2,
            "argparse.ArgumentParser().parse_args(['--no'])",
        ),
        (f"import sys\nsys.exit({'1 + ' * 60}1)\n", 2, ("sys.exit(" + "1 + " * 60)[:100] + " …"),
    ],
)
def test_an_exit_is_told_with_the_call_that_made_it(source: str, line: int, call: str) -> None:
    site.setquit()
    stop = stopped(source)
    assert (stop.kind, stop.line, stop.detail["call"]) == ("exited", line, call)


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("def d(f):\n    return 1 / 0\n\n@d\ndef g(): ...\n", 2, "ZeroDivisionError: "),
        ("x = [i for i in range(3)\n     if 1 / (i - 1)]\n", 2, "ZeroDivisionError: "),
        ("class C:\n    a = 1\n    b = c\n", 3, "NameError: name 'c' is not defined"),
        ("f = lambda: (\n    None.x)\nf()\n", 2, "AttributeError: "),
        ("x = 1\nexec('y = 1\\n1 / 0')\n", 2, "ZeroDivisionError: "),
        ("x = 1\nassert x == 2\n", 2, "AssertionError"),
        ("x = 1\nassert x == 2, 'two'\n", 2, "AssertionError: two"),
        ("import no_such_module_here\n", 1, "ModuleNotFoundError: No module named 'no_such_"),
        ("raise KeyboardInterrupt\n", 1, "KeyboardInterrupt"),
        ("import warnings\nwarnings.warn(UserWarning('w'))\n", 2, "UserWarning: w"),
        (
            "raise ExceptionGroup('two', [ValueError('a'), TypeError('b')])\n",
            1,
            "ExceptionGroup: two (2 sub-exceptions); the first of them: ValueError: a",
        ),
        ("with open(__name__):\n    pass\n", 1, "FileNotFoundError: "),
        ("async def f():\n    1 / 0\nf().send(None)\n", 2, "ZeroDivisionError: "),
        ("def f():\n    yield 1\n    1 / 0\nlist(f())\n", 3, "ZeroDivisionError: "),
        ("match 1:\n    case 1 if 1 / 0:\n        pass\n", 2, "ZeroDivisionError: "),
    ],
)
def test_the_line_is_the_learners_wherever_it_stands(source: str, line: int, message: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stop = stopped(source)
    assert (stop.kind, stop.line) == ("raised", line)
    assert stop.message.startswith(message)


def test_a_recursion_through_two_functions_has_few_frames() -> None:
    stop = stopped("def f(n):\n    g(n)\ndef g(n):\n    f(n)\nf(0)\n")
    assert stop.line in (2, 4)
    assert len(stop.frames) == 12


def test_an_assertion_without_words_is_told_with_its_text() -> None:
    assert stopped("x = 1\nassert x == 2\n").detail["call"] in ("assert x == 2", "x == 2")


TRACED = {
    "a truth value": ("    if x.sum() > 0:\n        return x\n    return -x\n", 4),
    "NumPy": ("    import numpy as np\n    return np.asarray(x)\n", 5),
    "a shape": ("    y = x + 1\n    return y @ jnp.ones((3, 3)) @ jnp.ones(5)\n", 5),
    "its own error": (
        "    def inner(v):\n        raise ValueError('mine')\n    return inner(x)\n",
        5,
    ),
    "a scan": (
        "    step = lambda c, v: (c + missing, v)\n    return jax.lax.scan(step, x, x)\n",
        4,
    ),
}


HOW = ("jax.jit", "jax.checkpoint", "lambda f: jax.jit(jax.grad(lambda x: f(x).sum()))")
LEAK = """\
import jax
kept = []
@jax.jit
def f(x):
    kept.append(x * 2)
    return x
f(1.0)
print(kept[0] + 1)
"""
WITH_JAX = {
    f"{name} under {how}": (
        f"import jax, jax.numpy as jnp\n@{how}\ndef f(x):\n{body}f(jnp.ones(2))\n"
    )
    for name, (body, _line) in TRACED.items()
    for how in HOW
} | {"leak": LEAK, "large": "import jax.numpy as jnp\nx = jnp.ones((2**20, 2**20))\n"}


@pytest.fixture(scope="module")
def with_jax() -> dict[str, dict[str, Any]]:
    """Stops of modules that use JAX, which may not be loaded into a process that forks."""
    script = (
        "import json\nfrom tests.sandbox.test_statements import WITH_JAX, stopped\n"
        "found = {name: stopped(source) for name, source in WITH_JAX.items()}\n"
        "told = {name: [one.kind, one.line, one.message] for name, one in found.items()}\n"
        "print(json.dumps(told))"
    )
    told = jax_process.run(script)
    return {
        name: dict(zip(("kind", "line", "message"), one, strict=True)) for name, one in told.items()
    }


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, (_, line) in TRACED.items()])
@pytest.mark.parametrize("how", HOW)
def test_the_line_inside_a_traced_function_is_the_learners(
    with_jax: dict[str, dict[str, Any]], how: str, name: str, line: int
) -> None:
    stop = with_jax[f"{name} under {how}"]
    assert (stop["kind"], stop["line"]) == ("raised", line)
    assert "site-packages" not in stop["message"]


def test_a_leaked_value_is_told_with_its_place_and_no_frame_of_ours(
    with_jax: dict[str, dict[str, Any]],
) -> None:
    stop = with_jax["leak"]
    assert stop["line"] == 8
    assert "created on line s.py:5" in stop["message"]
    assert "statements" not in stop["message"]


def test_an_array_that_is_too_large_is_told_as_memory(
    with_jax: dict[str, dict[str, Any]],
) -> None:
    stop = with_jax["large"]
    assert (stop["kind"], stop["line"]) == ("out_of_memory", 2)
    assert "RESOURCE_EXHAUSTED" in stop["message"]


def test_memory_that_the_system_refuses_is_told_as_memory() -> None:
    assert stopped("raise OSError(12, 'Cannot allocate memory')\n").kind == "out_of_memory"


def test_addresses_and_folders_of_this_machine_are_not_in_a_message() -> None:
    stop = stopped("def f(): ...\nraise ValueError(f, object())\n")
    assert stop.message == "ValueError: (<function f>, <object>)"
    said = stopped("from json import no_such_name\n").message
    assert "no_such_name" in said and "(json/__init__.py)" in said
    ours = Path(statements.__file__)
    assert stopped(f"raise ValueError({str(ours)!r})\n").message == (
        "ValueError: grader/sandbox/statements.py"
    )


# ------------------------------------------------------------ calls that leave nobody to tell them


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import os\nos._exit(0)\n", [[], [(2, "os._exit(0)")]]),
        ("from os import _exit\nif 1:\n    _exit(\n      3)\n", [[], [(3, "_exit(3)")]]),
        ("def f():\n    os.abort()\nf()\n", [[], [(2, "os.abort()")]]),
        ("def f():\n    g()\ndef g():\n    os.abort()\nx = f\n", [[], [], [(4, "os.abort()")]]),
        ("class C:\n    def f(self): os.kill(1, 9)\nC().f()\n", [[], [(2, "os.kill(1, 9)")]]),
        ("f = lambda: os.abort()\n", [[(1, "os.abort()")]]),
        ("@d(os.abort())\ndef f(): os._exit(1)\n", [[(1, "os.abort()")]]),
        ("def f():\n    f()\nf()\n", [[], []]),
        ("x = os._exit\n", [[]]),
    ],
)
def test_calls_that_end_a_process_are_found_before_they_run(
    source: str, found: list[list[tuple[int, str]]]
) -> None:
    assert statements.endings(ast.parse(source), source.encode()) == found


@pytest.mark.parametrize("code", ["def f(:", "exec('def f(:')", "compile('return', 'x', 'exec')"])
def test_code_that_the_module_makes_itself_is_no_syntax_error_of_the_file(code: str) -> None:
    stop = stopped(f"x = 1\nexec({code!r})\n")
    assert (stop.kind, stop.line) == ("raised", 2)
    assert stop.message.startswith("SyntaxError")


HOSTILE = {
    "__str__ raises": "def __str__(self): raise SystemExit(3)",
    "__str__ gives no text": "def __str__(self): return 3",
    "__str__ gives a hostile text": """
        def __str__(self):
            class Text(str):
                def __format__(self, spec): raise SystemExit(4)
                def __getitem__(self, key): raise SystemExit(5)
            return Text('x')
    """,
    "no traceback": "__traceback__ = property(lambda self: 1 / 0)",
    "no cause": "__cause__ = property(lambda self: 1 / 0)",
    "no truth": "def __bool__(self): raise SystemExit(6)",
    "another class": "__class__ = property(lambda self: 1 / 0)",
    "every attribute raises": "def __getattribute__(self, name): raise SystemExit(7)",
    "never equal": "def __eq__(self, other): raise SystemExit(8)",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("base", ["Exception", "SystemExit", "SyntaxError", "MemoryError"])
def test_looking_at_a_hostile_exception_ends_in_a_stop(base: str, body: str) -> None:
    body = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    ran = Ran(f"a = 1\nclass E({base}):\n{body}\nraise E()\n")
    assert ran.stop is not None
    assert ran.stop.line == 2 + len(body.splitlines()) + 1
    assert len(ran.stop.message) <= raised.MESSAGE_CHARS
    assert ran.names["a"] == 1


def test_a_hostile_metaclass_cannot_hide_a_name() -> None:
    stop = stopped(
        "class M(type):\n    __name__ = property(lambda c: 1 / 0)\n"
        "class E(Exception, metaclass=M): pass\nraise E('x')\n"
    )
    assert (stop.message, stop.detail["type"]) == ("E: x", "E")


def test_a_very_long_message_is_cut() -> None:
    assert len(stopped("raise ValueError('x' * 10**6)\n").message) == raised.BRIEF_CHARS


# ----------------------------------------------------------------------------------- syntax errors


def syntax_error(source: bytes) -> Stop:
    found = statements.parse(source, FILE)
    assert isinstance(found, Stop)
    assert found.kind == "syntax_error"
    return found


def test_a_syntax_error_is_found_before_anything_runs() -> None:
    stop = syntax_error(b"x = 1\ny = (\nz = 3\n")
    assert (stop.line, stop.message) == (2, "'(' was never closed")
    assert stop.detail["text"].strip() == "y = ("


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (b"x = 1\nreturn x\n", 2),
        (b"x = 1\nfrom __future__ import annotations\n", 2),
        (b"from __future__ import no_such\n", 1),
        (b"x = 1\n\nnonlocal x\n", 3),
        (b"def f():\n    x = 1\n    global x\n", 3),
        (b"x = 1\nbreak\n", 2),
        (b"def f(a, a): pass\n", 1),
        (b"def f():\n    yield\nawait f()\n", 3),
    ],
)
def test_an_error_that_only_compiling_finds_is_found_before_anything_runs(
    source: bytes, line: int
) -> None:
    assert syntax_error(source).line == line


def test_source_that_breaks_the_parser_is_a_syntax_error() -> None:
    for source in (b"x = " + b"(" * 50_000, b"x = " + b"-" * 100_000 + b"1", b"x = \0"):
        assert syntax_error(source).message


def test_a_smart_quote_is_told_with_its_line() -> None:
    stop = syntax_error("x = 1\ny = \u201ca\u201d\n".encode())
    assert (stop.line, "U+201C" in stop.message) == (2, True)


def test_a_warning_of_the_compiler_is_given_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ran = Ran("x = 1\ny = x is 1\n")
    assert ran.stop is None
    assert len([w for w in caught if w.category is SyntaxWarning]) == 1


# ---------------------------------------------------------------------------------------- bindings


def bound(source: str) -> dict[str, int]:
    return statements.bindings(ast.parse(textwrap.dedent(source)))


def test_a_name_is_found_where_it_is_bound_last() -> None:
    found = bound(
        """\
        x = 1
        def f():
            hidden = 2
        class C:
            inner = 3
        x, (y, *z) = 4, (5,)
        if x:
            w = 6
        else:
            w = 7
        for i in ():
            x += 1
        """
    )
    assert found == {"x": 12, "f": 2, "C": 4, "y": 6, "z": 6, "w": 10, "i": 11}


def test_a_decorated_function_is_found_at_its_own_line() -> None:
    assert bound("@a\n@b(\n  1)\ndef f(): ...\nasync def g(): ...\n") == {"f": 4, "g": 5}


def test_imports_and_context_managers_bind_names() -> None:
    assert bound("import a.b\nfrom c import d as e\nwith x as y: ...\n(z := 1)\n") == {
        "a": 1,
        "e": 2,
        "y": 3,
        "z": 4,
    }


def test_the_variable_of_a_comprehension_is_no_name_of_the_module() -> None:
    found = bound(
        "w = 1\nrows = [w for w in x for (v, u) in w]\ns = {k: v for k, v in x if (q := k)}"
    )
    assert found == {"w": 1, "rows": 2, "s": 3, "q": 3}


# -------------------------------------------------------------------- in a process of its own: end


def alone(source: str) -> subprocess.CompletedProcess[str]:
    """Run a script that may change signals and end its process."""
    code = "from grader.sandbox import statements\n" + textwrap.dedent(source)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )


NO_SIGNALS = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGXCPU and SIGALRM")
LIMITED = """
    import os, signal, threading, time
    def ran(source, finished=lambda i: None):
        tree = statements.parse(source.encode(), "s.py")
        module = statements.new_module("s.py")
        with statements.limits():
            stop = statements.run(tree, module, "s.py", None, finished)
        return stop.kind, stop.line
    def later(name, times=1):
        def knock():
            for _ in range(times):
                time.sleep(0.2)
                os.kill(os.getpid(), getattr(signal, name))
        threading.Thread(target=knock, daemon=True).start()
"""


def limited(source: str) -> subprocess.CompletedProcess[str]:
    return alone(textwrap.dedent(LIMITED) + textwrap.dedent(source))


@NO_SIGNALS
def test_limits_become_stops_and_what_follows_is_undisturbed() -> None:
    done = limited(
        r"""
        for name in ("SIGALRM", "SIGXCPU"):
            print(*ran(f"import os, signal\nos.kill(os.getpid(), signal.{name})\n"))
            os.kill(os.getpid(), getattr(signal, name))
        print(signal.getitimer(signal.ITIMER_REAL))
        """
    )
    told = ["wall_limit 2", "cpu_limit 2", "(0.0, 0.0)"]
    assert done.stdout.splitlines() == told, done.stderr
    # Said by the signal itself, for the case that no Python code runs any more.
    assert done.stderr.count('File "s.py", line 2 in <module>') == 2


@NO_SIGNALS
def test_a_limit_that_is_caught_comes_again() -> None:
    done = limited(
        r"""
        later("SIGALRM", 4)
        catching = "    try: time.sleep(60)\n    except BaseException: caught += 1\n"
        print(*ran("import time\ncaught = 0\nwhile caught < 3:\n" + catching + "time.sleep(60)\n"))
        """
    )
    assert done.stdout.splitlines() == ["wall_limit 6"], done.stderr


@NO_SIGNALS
def test_a_limit_between_two_statements_is_raised_in_the_next_one() -> None:
    done = limited(
        r"""
        told = []
        def finished(index):
            told.append(index)
            if index == 1:
                os.kill(os.getpid(), signal.SIGXCPU)
        print(*ran("a = 1\nb = 2\nc = 3\n", finished), told)
        """
    )
    assert done.stdout.splitlines() == ["cpu_limit 3 [0, 1]"], done.stderr


@NO_SIGNALS
def test_an_exception_that_never_ends_to_describe_itself_meets_the_limit() -> None:
    done = limited(
        r"""
        later("SIGXCPU")
        endless = "class E(Exception):\n    def __str__(self):\n        while True: pass\n"
        print(*ran(endless + "raise E\n"))
        """
    )
    assert done.stdout.splitlines() == ["raised 4"], done.stderr


def test_a_learner_may_not_linger_past_the_end() -> None:
    done = alone(
        """
        import atexit, threading, time
        atexit.register(print, "still here")
        threading.Thread(target=time.sleep, args=(600,)).start()
        print("said before")
        statements.end(7)
        """
    )
    assert (done.returncode, done.stdout) == (7, "said before\n")


# ---------------------------------------------------------------------------------------- notebooks


def cells(*texts: str) -> tuple[list[int], Stop | None]:
    tree, stop = statements.parse_cells(texts, FILE)
    return [statement.lineno for statement in tree.body], stop


def test_cells_are_parsed_one_by_one_and_numbered_as_one_text() -> None:
    future = "from __future__ import annotations\ndef f(x: Nowhere): pass"
    assert cells("x = 1\ny = 2", "", future) == ([1, 2, 4, 5], None)


def test_what_a_cell_takes_from_the_future_holds_in_later_cells() -> None:
    texts = ("x = 1", "from __future__ import annotations", "def f(x: Nowhere): pass")
    tree, stop = statements.parse_cells(texts, FILE)
    module = statements.new_module("/away/s.ipynb")
    assert stop is None
    assert statements.run(tree, module, FILE, None, lambda _: None) is None
    assert module.f.__annotations__ == {"x": "Nowhere"}


def test_a_cell_that_is_no_python_ends_with_what_stands_above_it() -> None:
    lines, stop = cells("x = 1", "y = 2\nz = (", "a = 3")
    assert lines == [1]
    assert stop is not None
    assert (stop.kind, stop.line, stop.detail["text"]) == ("syntax_error", 3, "z = (")
    lines, stop = cells("x = 1\n", "await x")
    assert lines == [1]
    assert stop is not None
    assert (stop.line, stop.detail["text"]) == (3, "await x")
    assert "'await' outside function" in stop.message


def test_no_line_of_a_cell_names_an_encoding() -> None:
    tree, _ = statements.parse_cells(["# coding: latin-1\nx = 'é'"], FILE)
    assert isinstance(tree.body[0], ast.Assign)
    assert ast.literal_eval(tree.body[0].value) == "é"
