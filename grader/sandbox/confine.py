"""Confine a freshly forked child before any learner code runs, and say which layers hold.

It must never claim a layer that is not in force, on every thread, nor leave one out in silence.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import signal
import struct
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from grader.records.evidence import Level, confinement_level
from grader.sandbox import landlock, namespaces, scratch, seccomp
from grader.sandbox.landlock import libc
from grader.sandbox.paths import readable_paths

if sys.platform != "win32":
    import resource

LAYERS = (
    "descriptors",
    "session",
    "namespaces",
    "scratch",
    "rlimits",
    "capabilities",
    "no_new_privs",
    "landlock",
    "seccomp",
)
_PER_THREAD = frozenset(LAYERS) - {"descriptors", "session", "rlimits"}

_PDEATHSIG, _SET_DUMPABLE, _CAPBSET_DROP, _NO_NEW_PRIVS, _AMBIENT = 1, 4, 24, 38, 47
_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_V3 = 0x20080522
_SYS_CLOSE_RANGE = 436  # on every architecture
_MAX_FD = 0xFFFFFFFF
_MAX_THREADS = 1024  # a ceiling for the runaway: XLA starts a few for each core
_HARD_CPU_GRACE_S = 2
_PROBE_SCRATCH_BYTES = 1 << 20


@dataclass(frozen=True)
class Limits:
    """What one child may use. JAX on four devices aborts with less than 2 GiB of addresses."""

    cpu_s: int = 30
    memory_bytes: int = 3 << 30
    file_size_bytes: int = 1 << 20
    open_files: int = 256


@dataclass(frozen=True)
class Profile:
    """What one child may reach. `workdir` is its working directory, and readable.

    With `scratch_bytes` it is writable up to that size, where the machine lets us: the child then
    sees a private copy of its files under the same path. With `checkpoints` it may do there what
    writing checkpoints takes (see seccomp). `lifted` pairs each layer that is left off
    on purpose with the reason.
    """

    readable: tuple[str, ...]
    workdir: str
    limits: Limits = Limits()
    writable_devices: tuple[str, ...] = ("/dev/null",)
    scratch_bytes: int = 0
    checkpoints: bool = False
    lifted: tuple[tuple[str, str], ...] = ()

    def why_lifted(self, layer: str) -> str:
        """Why a layer is left off on purpose; empty where it is not."""
        return dict(self.lifted).get(layer, "")


@dataclass(frozen=True)
class LayerState:
    """One layer: `reason` says why it is off, or what it covers."""

    name: str
    state: Literal["on", "off"]
    reason: str = ""


def level(layers: Iterable[LayerState]) -> Level:
    """`full` when every required layer is on; namespaces and scratch are recorded beside it."""
    return confinement_level(layer.name for layer in layers if layer.state == "on")


def confine(
    profile: Profile, keep_fds: Sequence[int] = (0, 1, 2), parent_pid: int | None = None
) -> tuple[LayerState, ...]:
    """The layers now in force around this process, in the order they were put on.

    Effects: irrevocable. Call it in a forked child with one thread, before any backend starts.
    What `keep_fds` names should be pipes or sockets: a file or directory that is open already is
    out of the reach of Landlock and of the mount namespace.
    Where `parent_pid` is no longer the parent, the process ends as its death signal would end it.

    Raises: OSError when the working directory cannot be entered, HalfMountedError.
    """
    if sys.platform != "linux":
        return _elsewhere(profile)
    threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
    workdir, size = profile.workdir, profile.scratch_bytes
    states = [
        _attempt("descriptors", lambda: _close_descriptors(keep_fds)),
        _attempt("session", _own_session),
    ]
    why_not = "other threads run" if threads > 1 else profile.why_lifted("namespaces")
    own = namespaces.Namespaces((), why_not) if why_not else namespaces.unshare()
    room = _unless_lifted(profile, "scratch", lambda: scratch.mount(workdir, size, own))
    os.chdir(workdir)
    limits = [
        _limited(profile, own_user_namespace="user" in own.names),
        _attempt("capabilities", _drop_capabilities),
        _attempt("no_new_privs", lambda: _prctl(_NO_NEW_PRIVS, 1)),
    ]
    _bind_to_parent(parent_pid)
    room, *filters = _filter(profile, room)
    states += [_attempt("namespaces", own.described), room, *limits, *filters]
    return tuple(_on_every_thread(state, threads) for state in states)


def _unless_lifted(profile: Profile, name: str, layer: Callable[[], str]) -> LayerState:
    reason = profile.why_lifted(name)
    return LayerState(name, "off", reason) if reason else _attempt(name, layer)


def _limited(profile: Profile, *, own_user_namespace: bool) -> LayerState:
    """Put on the limits; where they are lifted, that on CPU seconds alone, which is no layer."""
    limits, reason = profile.limits, profile.why_lifted("rlimits")
    if not reason:
        return _attempt("rlimits", lambda: _limit(limits, own_user_namespace=own_user_namespace))
    with contextlib.suppress(OSError, ValueError):
        # Drivers pin memory. Before capabilities go, which alone may raise a ceiling.
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY,) * 2)
    with contextlib.suppress(OSError, ValueError):
        _limit_cpu(limits)
    return LayerState("rlimits", "off", reason)


def _limit_cpu(limits: Limits) -> None:
    cpu = (limits.cpu_s, limits.cpu_s + _HARD_CPU_GRACE_S)
    resource.setrlimit(resource.RLIMIT_CPU, cpu)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _filter(profile: Profile, room: LayerState) -> tuple[LayerState, LayerState, LayerState]:
    """Put on Landlock and seccomp: the states of scratch, which may be lost here, and of both."""
    readable, devices = (*profile.readable, profile.workdir), profile.writable_devices
    beneath = profile.workdir if room.state == "on" else None
    files = _unless_lifted(
        profile, "landlock", lambda: landlock.restrict(readable, devices, beneath)
    )
    if room.state == "on" and files.state == "off":
        # Calls that remove and rename are let through for a scratch only where Landlock says
        # that they stay within it.
        room = LayerState(room.name, "off", f"mounted, but Landlock is off: {files.reason}")
    there, more = room.state == "on", profile.checkpoints
    calls = _unless_lifted(
        profile, "seccomp", lambda: seccomp.install(scratch=there, checkpoints=more)
    )
    return room, files, calls


def probe() -> tuple[LayerState, ...]:
    """The layers this machine gives, found by confining a throw-away fork."""
    if sys.platform != "linux":
        return _all_off(f"needs Linux, this is {sys.platform}")
    with tempfile.TemporaryDirectory() as workdir:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _report(writing, os.getppid(), workdir)
        os.close(writing)
        with open(reading, "rb") as answers:
            answer = answers.read(1 << 16)
        _, status = os.waitpid(child, 0)
    if not answer:
        return _all_off(f"the probe ended with {os.waitstatus_to_exitcode(status)}")
    return tuple(LayerState(**layer) for layer in json.loads(answer))


def _report(writing: int, parent: int, workdir: str) -> None:
    try:
        profile = Profile(readable_paths(()), workdir, scratch_bytes=_PROBE_SCRATCH_BYTES)
        states = confine(profile, (0, 1, 2, writing), parent)
        os.write(writing, json.dumps([asdict(state) for state in states]).encode())
    finally:
        os._exit(1)  # the answer is what counts, and there may be none


def _elsewhere(profile: Profile) -> tuple[LayerState, ...]:
    """What other systems than Linux give: at best a limit on CPU seconds, which is no layer yet."""
    os.chdir(profile.workdir)
    reason = f"needs Linux, this is {sys.platform}"
    states = {state.name: state for state in _all_off(reason)}
    if sys.platform != "win32":
        with contextlib.suppress(OSError, ValueError):
            _limit_cpu(profile.limits)
            states["rlimits"] = LayerState("rlimits", "off", f"CPU seconds alone; memory {reason}")
    return tuple(states.values())


def _all_off(reason: str) -> tuple[LayerState, ...]:
    return tuple(LayerState(name, "off", reason) for name in LAYERS)


def _attempt(name: str, layer: Callable[[], str]) -> LayerState:
    try:
        return LayerState(name, "on", layer())
    except (OSError, ValueError) as error:  # ValueError: setrlimit above a ceiling
        return LayerState(name, "off", getattr(error, "strerror", None) or str(error))


def _on_every_thread(state: LayerState, threads: int) -> LayerState:
    if threads > 1 and state.name in _PER_THREAD:
        return LayerState(state.name, "off", f"{threads - 1} other threads were running")
    return state


def _bind_to_parent(parent_pid: int | None) -> None:
    # A core handler outside would be handed the memory of every crash, whatever RLIMIT_CORE says.
    _prctl(_SET_DUMPABLE, 0)
    # Again: credential changes clear it, and a parent that died before the first time sent none.
    _prctl(_PDEATHSIG, signal.SIGKILL)
    if parent_pid is not None and os.getppid() != parent_pid:
        os.kill(os.getpid(), signal.SIGKILL)


def _prctl(option: int, value: int) -> str:
    libc("prctl", option, value, 0, 0, 0)
    return ""


def _close_descriptors(keep: Sequence[int]) -> str:
    kept = sorted({*keep})
    for below, above in zip([-1, *kept], [*kept, _MAX_FD + 1], strict=True):
        if below + 1 < above:
            _close_between(below + 1, above - 1)
    return f"kept {', '.join(map(str, kept))}"


def _close_between(first: int, last: int) -> None:
    try:
        libc("syscall", _SYS_CLOSE_RANGE, first, last, 0)
    except OSError:  # before Linux 5.9
        for name in os.listdir("/proc/self/fd"):
            if first <= int(name) <= last:
                with contextlib.suppress(OSError):  # the listing's own descriptor
                    os.close(int(name))


def _own_session() -> str:
    if os.getsid(0) != os.getpid():  # a process that was started for it leads one already
        os.setsid()
    return _prctl(_PDEATHSIG, signal.SIGKILL)


def _limit(limits: Limits, *, own_user_namespace: bool) -> str:
    wanted = {
        resource.RLIMIT_CPU: (limits.cpu_s, limits.cpu_s + _HARD_CPU_GRACE_S),
        resource.RLIMIT_AS: (limits.memory_bytes,) * 2,
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_FSIZE: (limits.file_size_bytes,) * 2,
        resource.RLIMIT_NOFILE: (limits.open_files,) * 2,
        resource.RLIMIT_MEMLOCK: (0, 0),
    }
    if own_user_namespace:  # elsewhere it counts every thread of the user, and XLA aborts
        wanted[resource.RLIMIT_NPROC] = (_MAX_THREADS,) * 2
    for kind, (soft, hard) in wanted.items():
        _, ceiling = resource.getrlimit(kind)
        if ceiling == resource.RLIM_INFINITY:
            ceiling = hard
        resource.setrlimit(kind, (min(soft, ceiling), min(hard, ceiling)))
    return f"{limits.cpu_s} s CPU, {limits.memory_bytes >> 20} MiB"


def _drop_capabilities() -> str:
    with contextlib.suppress(OSError):  # EINVAL ends the list; EPERM: an ordinary user has none
        for capability in range(64):
            _prctl(_CAPBSET_DROP, capability)
    with contextlib.suppress(OSError):  # before Linux 4.3
        _prctl(_AMBIENT, _AMBIENT_CLEAR_ALL)
    header = struct.pack("=Ii", _CAPABILITY_V3, 0)
    libc("capset", header, bytes(24))
    held = ctypes.create_string_buffer(24)
    libc("capget", header, held)
    if any(held.raw):
        raise OSError(errno.EPERM, "some capabilities remain")
    return ""
