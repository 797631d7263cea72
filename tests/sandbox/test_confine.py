"""All layers together, on the process that the fork server makes: nothing leaves, JAX works."""

from __future__ import annotations

import errno
import functools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from grader.records.evidence import REQUIRED_LAYERS
from grader.sandbox.confine import LAYERS, LayerState, level, probe
from tests.sandbox import jax_probes, probes, scratch_probes, wanted_probes
from tests.sandbox.confined import ENVIRONMENT, USERS, Confined


@functools.cache
def machine_level() -> str:
    return level(probe())


needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="confinement needs Linux")
REFUSALS = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EXDEV}


@functools.cache
def can_read_interpreter(uid: int) -> bool:
    with Confined(uid, layers="none") as child:
        return child.ask("read_the_interpreter").outcome == "done"


# A machine that gives all, a child that asks for no scratch, a machine without namespaces.
SITUATIONS = {
    "scratch": {"scratch": True},
    "bare": {},
    "no_namespaces": {"scratch": True, "hindrance": "namespaces"},
}


def confined(uid: int, situation: str, *, with_jax: bool = False) -> Iterator[Confined]:
    states = {state.name: state.state for state in probe()}
    if machine_level() != "full":
        pytest.skip(f"this machine gives {probe()}")
    if situation == "scratch" and states["scratch"] == "off":
        pytest.skip("this machine gives no scratch")
    with Confined(uid, with_jax=with_jax, **SITUATIONS[situation]) as child:
        yield child


@pytest.fixture(scope="module", params=USERS, ids=lambda uid: f"uid{uid}")
def user(request: pytest.FixtureRequest) -> int:
    uid: int = request.param
    return uid


@pytest.fixture(scope="module", params=SITUATIONS)
def child(request: pytest.FixtureRequest, user: int) -> Iterator[Confined]:
    yield from confined(user, request.param)


@pytest.fixture(scope="module", params=["scratch", "no_namespaces"])
def with_jax(request: pytest.FixtureRequest, user: int) -> Iterator[Confined]:
    if not can_read_interpreter(user):
        pytest.skip(f"the interpreter is not readable by user {user}")
    yield from confined(user, request.param, with_jax=True)


@pytest.fixture(scope="module", params=["bare", "no_namespaces"])
def unscratched(request: pytest.FixtureRequest, user: int) -> Iterator[Confined]:
    yield from confined(user, request.param)


@needs_linux
@pytest.mark.parametrize("act", {**probes.FORBIDDEN, **scratch_probes.TRESPASSES, **probes.PAIR})
def test_a_forbidden_act_is_refused(child: Confined, act: str) -> None:
    answer = child.ask(act)
    assert (answer.outcome, answer.errno in REFUSALS) == ("refused", True), answer
    assert level(answer.layers) == "full"


@needs_linux
@pytest.mark.parametrize("act", {**probes.BARE, **probes.PAIR})
def test_without_a_scratch_nothing_is_writable(unscratched: Confined, act: str) -> None:
    answer = unscratched.ask(act)
    assert (answer.outcome, answer.errno in (errno.EPERM, errno.EACCES)) == ("refused", True)
    assert answer.kind == "PermissionError"
    assert level(answer.layers) == "full"
    assert {state.name: state.state for state in answer.layers}["scratch"] == "off"


@needs_linux
@pytest.mark.parametrize("act", ["raise_hard_limit", "read_the_grader"])
def test_limits_and_the_grader_itself_are_out_of_reach(child: Confined, act: str) -> None:
    assert child.ask(act).outcome in ("refused", "raised")


@needs_linux
@pytest.mark.parametrize("act", wanted_probes.WANTED)
def test_an_ordinary_act_works(child: Confined, act: str) -> None:
    assert child.ask(act).outcome == "done"


@needs_linux
@pytest.mark.parametrize("act", jax_probes.ACTS)
def test_what_a_lesson_does_with_jax_works(with_jax: Confined, act: str) -> None:
    answer = with_jax.ask(act)
    assert answer.outcome == "done", answer


@needs_linux
def test_jax_starts_well_within_the_memory_limit(with_jax: Confined) -> None:
    used = with_jax.ask("address_space").value
    assert used["limit_mib"] == 3072
    assert used["peak_mib"] < used["limit_mib"]


@needs_linux
def test_memory_beyond_the_limit_is_a_memory_error(child: Confined) -> None:
    assert child.ask("too_much_memory").value == "MemoryError"


@needs_linux
def test_the_child_stands_alone_and_as_itself(child: Confined) -> None:
    answer = child.ask("where_it_stands")
    stands = answer.value
    assert stands["leads_session"]
    assert stands["signal_at_death"] == signal.SIGKILL
    assert stands["hard_cpu_s"] == 32
    assert stands["user"] == child.uid
    assert os.path.basename(stands["directory"]) == "work"
    assert stands["descriptors"][:3] == [0, 1, 2]
    assert len(stands["descriptors"]) == 4


@needs_linux
def test_every_layer_is_reported_in_order(child: Confined) -> None:
    states = child.ask("isatty").layers
    assert tuple(state.name for state in states) == LAYERS
    assert level(states) == "full"


@needs_linux
def test_cpu_seconds_are_limited() -> None:
    with Confined(os.getuid(), cpu_s=1) as child:
        answer = child.ask("spin")
    assert (answer.outcome, answer.value) == ("died", -signal.SIGXCPU)


_SCRIPT = """
import os, sys, threading
from grader.sandbox.confine import Profile, confine, level
def states(**how):
    return confine(Profile((), "/"), (0, 1, 2), **how)
"""


def started(script: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _SCRIPT + script]
    return subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)


@needs_linux
@pytest.mark.parametrize("uid", USERS)
def test_the_child_ends_with_its_parent(uid: int) -> None:
    with started(f"""
if {uid} != os.getuid():
    os.setuid({uid})
if os.fork() == 0:
    states(parent_pid=os.getppid())
    print("confined", flush=True)
threading.Event().wait()
""") as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "confined\n"
        parent.kill()
        # The child holds the other end too: the end of the stream is the end of both.
        assert parent.stdout.read() == ""


@needs_linux
def test_a_parent_that_died_before_is_noticed() -> None:
    with started("""
child = os.fork()
if child == 0:
    states(parent_pid=os.getpid())
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""") as parent:
        assert parent.stdout is not None
        assert int(parent.stdout.read()) == -signal.SIGKILL


@needs_linux
def test_layers_that_miss_a_running_thread_are_off() -> None:
    with started("""
threading.Thread(target=threading.Event().wait, daemon=True).start()
made = states()
print(level(made), *(state.name for state in made if state.state == "off"), flush=True)
os._exit(0)
""") as process:
        assert process.stdout is not None
        grade, *off = process.stdout.read().split()
    assert grade == "partial"
    assert {"capabilities", "no_new_privs", "landlock", "seccomp"} <= set(off)


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_elsewhere_every_layer_is_off_with_the_reason(platform: str) -> None:
    script = f"""
import contextlib, ctypes, dataclasses, functools, json, pathlib, signal, struct, sys, tempfile
import platform, typing
sys.platform, ctypes.CDLL = {platform!r}, None
if sys.platform == "win32":
    sys.modules["resource"] = sys.modules["fcntl"] = None
from grader.sandbox import confine as module
made = module.confine(module.Profile((), "/")) + module.probe()
told = {{f"{{state.state}}: {{state.reason}}" for state in made}}
print(module.level(made), *sorted(told), sep="; ")
"""
    answer = subprocess.run(
        [sys.executable, "-c", script], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    lacks = f"needs Linux, this is {platform}"
    # CPU seconds can be limited on macOS too, which does not make a layer.
    cpu = f"off: CPU seconds alone; memory {lacks}; " if platform == "darwin" else ""
    assert answer.stdout == f"none; {cpu}off: {lacks}\n"


def test_the_level_names_what_is_missing() -> None:
    def states(on: set[str]) -> list[LayerState]:
        return [LayerState(name, "on" if name in on else "off") for name in LAYERS]

    assert level(states(set(REQUIRED_LAYERS))) == "full"
    assert level(states(set(REQUIRED_LAYERS) - {"seccomp"})) == "partial"
    assert level(states({"namespaces", "session"})) == "none"


@needs_linux
def test_the_probe_leaves_this_process_as_it_was() -> None:
    before = os.listdir("/")
    assert tuple(state.name for state in probe()) == LAYERS
    assert os.listdir("/") == before
