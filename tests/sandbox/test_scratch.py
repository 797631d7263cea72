"""The working directory of a confined child: private, sized, and gone with the child."""

from __future__ import annotations

import errno
import functools
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import pytest

from grader.sandbox.confine import LayerState, level, probe
from grader.sandbox.scratch import INODES
from tests.sandbox import scratch_probes
from tests.sandbox.confined import ENVIRONMENT, FILE_BYTES, SCRATCH_BYTES, USERS, Answer, Confined
from tests.sandbox.hindered import HINDRANCES


@functools.cache
def machine() -> dict[str, LayerState]:
    return {state.name: state for state in probe()}


REFUSALS = {errno.EPERM, errno.EACCES, errno.EXDEV}
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="confinement needs Linux")
by_user = pytest.mark.parametrize("uid", USERS, ids=lambda uid: f"uid{uid}")


def needs_scratch() -> None:
    if machine()["scratch"].state == "off" or level(machine().values()) != "full":
        pytest.skip(f"this machine gives {machine()}")


@pytest.fixture(scope="module", params=USERS, ids=lambda uid: f"uid{uid}")
def child(request: pytest.FixtureRequest) -> Iterator[Confined]:
    needs_scratch()
    with Confined(request.param, scratch=True) as confined:
        yield confined


def layer(answer: Answer, name: str) -> tuple[str, str]:
    found = next(state for state in answer.layers if state.name == name)
    return found.state, found.reason


@needs_linux
@pytest.mark.parametrize("act", scratch_probes.PROMISED)
def test_what_a_scratch_promises_works(child: Confined, act: str) -> None:
    answer = child.ask(act)
    assert answer.outcome == "done", answer
    assert layer(answer, "scratch") == ("on", "4 MiB")
    assert level(answer.layers) == "full"


@needs_linux
def test_it_is_mounted_as_said_and_holds_the_copies(child: Confined) -> None:
    assert child.ask("mount_options").value is True
    assert child.ask("tempfile").value == ["present", "private"]
    assert child.ask("overwrite_the_copy").value == "mine"
    assert child.ask("read_in_workdir").value == "canary"


@needs_linux
@pytest.mark.parametrize("act", scratch_probes.EXECUTIONS)
def test_what_was_written_is_not_executed_and_keeps_its_mode(child: Confined, act: str) -> None:
    answer = child.ask(act)
    assert (answer.outcome, answer.errno in REFUSALS) == ("refused", True), answer


@needs_linux
def test_a_full_scratch_is_an_error_and_can_be_emptied(child: Confined) -> None:
    filled = child.ask("fill").value
    assert filled["errno"] == errno.ENOSPC
    # The copies may be given up for room: there are two, of one page each.
    assert SCRATCH_BYTES <= filled["written"] <= SCRATCH_BYTES + (2 << 16)


@needs_linux
def test_blocks_cannot_be_reserved_beyond_the_size(child: Confined) -> None:
    assert child.ask("reserve").value == {"files": SCRATCH_BYTES >> 20, "errno": errno.ENOSPC}


@needs_linux
def test_pages_of_holes_count(child: Confined) -> None:
    answer = child.ask("touch_holes")
    assert (answer.outcome, answer.value) == ("died", -signal.SIGBUS)


@needs_linux
def test_the_number_of_files_is_limited(child: Confined) -> None:
    made = child.ask("many_files").value
    assert made["errno"] == errno.ENOSPC
    assert made["files"] <= INODES


@needs_linux
def test_a_file_beyond_its_limit_is_an_error_and_no_signal(child: Confined) -> None:
    assert FILE_BYTES == 1 << 20
    assert child.ask("long_file").value == ["EFBIG"] * 3 + ["OSError"]


def hindered(uid: int, hindrance: str, *acts: str) -> list[Answer]:
    assert hindrance in HINDRANCES
    with Confined(uid, scratch=True, hindrance=hindrance) as child:
        return [child.ask(act) for act in acts]


_REFUSED = "refused by the container or the distribution around us"
_LIMITED = "is limited to what is in use"


@needs_linux
@by_user
@pytest.mark.parametrize(
    ("hindrance", "reason"),
    [
        ("namespaces", _REFUSED),
        ("number_of_namespaces", f"the number of user namespaces {_LIMITED} (max_user_namespaces)"),
    ],
)
def test_without_namespaces_nothing_is_writable_and_the_level_is_full(
    uid: int, hindrance: str, reason: str
) -> None:
    needs_scratch()
    read, write, remove = hindered(
        uid, hindrance, "read_in_workdir", "write_in_workdir", "remove_file"
    )
    assert layer(read, "namespaces") == layer(read, "scratch") == ("off", reason)
    assert level(read.layers) == "full"
    assert read.value == "canary"
    assert (write.errno, remove.errno) == (errno.EACCES, errno.EPERM)


@needs_linux
@by_user
def test_a_mount_namespace_that_is_refused_costs_the_scratch_only(uid: int) -> None:
    needs_scratch()
    read, write = hindered(uid, "mount_namespace", "read_in_workdir", "write_in_workdir")
    why = f"no mount: the number of mount namespaces {_LIMITED} (max_mnt_namespaces)"
    assert layer(read, "namespaces") == ("on", f"user, net, ipc; {why}")
    assert layer(read, "scratch") == ("off", why)
    assert write.errno == errno.EACCES


@needs_linux
@pytest.mark.skipif(os.getuid() != 0, reason="only a privileged process does without")
def test_a_privileged_process_does_without_a_user_namespace() -> None:
    needs_scratch()
    acts = (*scratch_probes.PROMISED, *scratch_probes.TRESPASSES, "touch_holes", "fill")
    answers = dict(zip(acts, hindered(0, "user_namespace", *acts), strict=True))
    known = answers["numpy"]
    assert layer(known, "namespaces") == ("on", f"net, ipc, mount; no user: {_REFUSED}")
    assert layer(known, "scratch") == ("on", "4 MiB")
    assert {answers[act].outcome for act in scratch_probes.PROMISED} == {"done"}
    assert {answers[act].outcome for act in scratch_probes.TRESPASSES} == {"refused"}
    assert answers["touch_holes"].value == -signal.SIGBUS
    assert answers["fill"].value["errno"] == errno.ENOSPC


@needs_linux
@by_user
@pytest.mark.parametrize(
    ("hindrance", "reason"),
    [
        ("mapping", f"no mount: mapping the user is {_REFUSED}"),
        ("mounting", f"mounting is {_REFUSED}"),
        ("copying", "its files could not be written: File too large"),
    ],
)
def test_a_failure_half_way_leaves_the_directory_as_it_was(
    uid: int, hindrance: str, reason: str
) -> None:
    needs_scratch()
    read, listing, write = hindered(
        uid, hindrance, "read_in_workdir", "list_workdir", "write_in_workdir"
    )
    assert layer(read, "scratch") == ("off", reason)
    assert layer(read, "namespaces")[0] == "on"
    assert level(read.layers) == "full"
    assert read.value == "canary"
    assert listing.value == ["folder", "present", "private", "way-out"]
    assert write.errno == errno.EACCES


@needs_linux
def test_a_mount_that_cannot_be_filled_nor_removed_is_raised() -> None:
    needs_scratch()
    (answer,) = hindered(os.getuid(), "copying_and_unmounting", "read_in_workdir")
    assert answer.outcome == "unconfined"
    assert "HalfMountedError" in answer.value


@needs_linux
@by_user
def test_without_landlock_no_call_that_removes_is_let_through(uid: int) -> None:
    needs_scratch()
    remove, rename = hindered(uid, "landlock", "remove_outside", "rename_outside")
    assert layer(remove, "scratch")[0] == "off"
    assert "Landlock" in layer(remove, "scratch")[1]
    assert level(remove.layers) == "partial"
    assert (remove.errno, rename.errno) == (errno.EPERM, errno.EPERM)


_SCRIPT = """
import json, os, signal, subprocess, sys, tempfile
from pathlib import Path
from grader.sandbox.confine import Profile, confine
from grader.sandbox.landlock import libc
from tests.sandbox.hindered import HINDRANCES

def start(act, hindrance=""):
    workdir = tempfile.mkdtemp(dir=sys.argv[1])
    os.chmod(workdir, 0o700)
    Path(workdir, "present").write_text("canary")
    os.chown(workdir, os.getuid(), -1)
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            HINDRANCES[hindrance]()
            profile = Profile((), workdir, scratch_bytes=1 << 20)
            layers = {s.name: s.state for s in confine(profile, (0, 1, 2, tell), os.getppid())}
            os.write(tell, json.dumps([layers["scratch"], act(workdir)]).encode())
            signal.pause()
        finally:
            os._exit(1)
    os.close(tell)
    return child, workdir, json.loads(os.read(ready, 65536) or "null")

def stop(child):
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)

def secret(workdir):
    Path(workdir, "secret").write_text("x")
    return Path(workdir, "secret").read_text()

def mounts():
    return Path("/proc/self/mountinfo").read_text()
"""


def answer_of(script: str, place: object) -> str:
    needs_scratch()
    command = [sys.executable, "-c", _SCRIPT + script, str(place)]
    done = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


@needs_linux
def test_nothing_of_it_is_seen_outside_nor_left_behind(tmp_path: object) -> None:
    assert (
        answer_of(
            """
before = mounts()
child, workdir, told = start(secret)
inside = Path(f"/proc/{child}/mountinfo")
print(told, mounts() == before, os.listdir(workdir), end=" ")
stop(child)
Path(workdir, "present").unlink(), os.rmdir(workdir)
print(mounts() == before)
""",
            tmp_path,
        )
        == "['on', 'x'] True ['present'] True"
    )


@needs_linux
@pytest.mark.skipif(os.getuid() != 0, reason="needs a mount namespace that shares its mounts")
@pytest.mark.parametrize("hindrance", ["", "user_namespace"])
def test_a_host_that_shares_its_mounts_does_not_see_it(tmp_path: object, hindrance: str) -> None:
    assert (
        answer_of(
            f"""
libc("unshare", 0x20000)
libc("mount", b"none", b"/", 0, 1 << 14 | 1 << 20, 0)  # MS_REC | MS_SHARED
libc("mount", b"seen", sys.argv[1].encode(), b"tmpfs", 0, 0)
before = mounts()
assert "shared:" in before.splitlines()[-1]
child, workdir, told = start(secret, {hindrance!r})
print(told, mounts() == before, os.listdir(workdir))
stop(child)
""",
            tmp_path,
        )
        == "['on', 'x'] True ['present']"
    )


@needs_linux
@by_user
def test_a_sibling_cannot_read_it(uid: int) -> None:
    # Not beneath pytest's own folder, which nobody else may enter.
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o777)
        assert answer_of(
            f"""
if os.getuid() != {uid}:
    os.setuid({uid})
first, theirs, told = start(secret)
def pry(workdir):
    ways = theirs, f"/proc/{{first}}/cwd", f"/proc/{{first}}/root{{theirs}}"
    refused = []
    for way in ways:
        for name in ("secret", "present"):
            try:
                Path(way, name).read_text()
            except PermissionError:
                refused.append(name)
            except FileNotFoundError:  # looked for in the directory of the host
                refused.append("nothing")
    try:
        os.kill(first, 0)
    except PermissionError:
        refused.append("signal")
    return refused
second, _, (state, refused) = start(pry)
print(told, state, *refused)
stop(first)
stop(second)
""",
            place,
        ) in (
            "['on', 'x'] on nothing present secret present secret present signal",
            "['on', 'x'] on secret present secret present secret present signal",
        )


@needs_linux
def test_the_probe_tries_a_scratch_and_leaves_nothing() -> None:
    needs_scratch()
    assert machine()["scratch"].reason == "1 MiB"
