from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
import types
import warnings
from collections.abc import Iterator

import pytest

from grader.sandbox import statements
from grader.sandbox.statements import Stop

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
    assert stop.detail == {"type": "JSONDecodeError", "denied": False}


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


@pytest.mark.parametrize(
    "line",
    [
        "raise PermissionError(13, 'no')",
        "try:\n    raise PermissionError\nexcept OSError as e:\n    raise ValueError from e",
        "try:\n    raise PermissionError\nexcept OSError:\n    raise ValueError",
    ],
)
def test_a_refusal_of_the_sandbox_is_seen_behind_other_exceptions(line: str) -> None:
    assert stopped(line).detail["denied"] is True


def test_a_circle_of_causes_ends() -> None:
    source = "a, b = ValueError(), KeyError()\na.__cause__, b.__cause__ = b, a\nraise a\n"
    assert stopped(source).detail["denied"] is False


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
    assert len(ran.stop.message) <= statements.MESSAGE_CHARS
    assert ran.names["a"] == 1


def test_a_hostile_metaclass_cannot_hide_a_name() -> None:
    stop = stopped(
        "class M(type):\n    __name__ = property(lambda c: 1 / 0)\n"
        "class E(Exception, metaclass=M): pass\nraise E('x')\n"
    )
    assert (stop.message, stop.detail["type"]) == ("E: x", "E")


def test_a_very_long_message_is_cut() -> None:
    assert len(stopped("raise ValueError('x' * 10**6)\n").message) == statements.BRIEF_CHARS


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


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGXCPU and interval timers")
def test_limits_become_stops_and_what_follows_is_undisturbed() -> None:
    done = alone(
        """
        import os, signal
        def ran(source):
            tree = statements.parse(source, "s.py")
            module = statements.new_module("s.py")
            with statements.limits(0.05 if b"while" in source else 60):
                stop = statements.run(tree, module, "s.py", None, lambda i: None)
            return stop.kind, stop.line in (2, 3)
        print(ran(b"x = 1\\nwhile True:\\n    pass\\n"))
        print(ran(b"import os, signal\\nos.kill(os.getpid(), signal.SIGXCPU)\\nx = 1\\n"))
        os.kill(os.getpid(), signal.SIGXCPU)
        os.kill(os.getpid(), signal.SIGALRM)
        print(signal.getitimer(signal.ITIMER_REAL))
        """
    )
    told = ["('wall_limit', True)", "('cpu_limit', True)", "(0.0, 0.0)"]
    assert done.stdout.splitlines() == told, done.stderr


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
