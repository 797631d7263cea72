"""The system call filter on its own: what no child may ask of the kernel, whoever it runs as."""

from __future__ import annotations

import errno
import platform
import sys
from collections.abc import Iterator

import pytest

from tests.sandbox import probes, scratch_probes, wanted_probes
from tests.sandbox.confined import USERS, Confined

needs_table = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="probes speak x86-64 Linux"
)
NEVER_MADE = ("symlink", "link", "fifo", "whiteout", "device_in_workdir", "socket_in_workdir")
CHANGES_FILES = ("make_directory", "remove_file", "rename", *NEVER_MADE)


@pytest.fixture(scope="module", params=USERS, ids=lambda uid: f"uid{uid}")
def child(request: pytest.FixtureRequest) -> Iterator[Confined]:
    with Confined(request.param, layers="seccomp") as confined:
        yield confined


@pytest.fixture(scope="module", params=USERS, ids=lambda uid: f"uid{uid}")
def with_scratch(request: pytest.FixtureRequest) -> Iterator[Confined]:
    with Confined(request.param, layers="seccomp", scratch=True) as confined:
        yield confined


def refused(child: Confined, act: str) -> None:
    answer = child.ask(act)
    assert (answer.outcome, answer.errno) == ("refused", errno.EPERM), answer


@needs_table
@pytest.mark.parametrize("act", [act for act in probes.PROCESSES if act != "clone3"])
def test_other_processes_are_out_of_reach(child: Confined, act: str) -> None:
    refused(child, act)


@needs_table
def test_clone3_is_absent_so_that_threads_fall_back(child: Confined) -> None:
    assert child.ask("clone3").errno == errno.ENOSYS


@needs_table
@pytest.mark.parametrize("act", probes.ENDS)
def test_no_child_kills_itself_or_changes_its_limits(child: Confined, act: str) -> None:
    refused(child, act)


@needs_table
@pytest.mark.parametrize("act", probes.KERNEL)
def test_privileged_and_rare_calls_are_refused(child: Confined, act: str) -> None:
    refused(child, act)


@needs_table
@pytest.mark.parametrize("act", probes.NETWORK)
def test_no_socket_is_made(child: Confined, act: str) -> None:
    refused(child, act)


@needs_table
@pytest.mark.parametrize("act", CHANGES_FILES)
def test_names_in_the_file_system_stay(child: Confined, act: str) -> None:
    refused(child, act)


@needs_table
@pytest.mark.parametrize(
    "act", [*probes.KERNEL, *probes.ENDS, *NEVER_MADE, "kill_parent", "fork", "connect"]
)
def test_a_scratch_opens_nothing_else(with_scratch: Confined, act: str) -> None:
    refused(with_scratch, act)


@needs_table
@pytest.mark.parametrize("act", [*probes.PAIR, *scratch_probes.CHECKPOINTS])
def test_a_scratch_alone_makes_no_pair_and_takes_no_lock(with_scratch: Confined, act: str) -> None:
    answer = with_scratch.ask(act)
    assert (answer.outcome, answer.errno) == ("refused", errno.EPERM), answer


@pytest.fixture(scope="module", params=USERS, ids=lambda uid: f"uid{uid}")
def with_checkpoints(request: pytest.FixtureRequest) -> Iterator[Confined]:
    with Confined(request.param, layers="seccomp", scratch=True, checkpoints=True) as confined:
        yield confined


@needs_table
@pytest.mark.parametrize("act", [*scratch_probes.CHECKPOINTS, *probes.PAIR])
def test_what_checkpoints_need_is_answered(with_checkpoints: Confined, act: str) -> None:
    assert with_checkpoints.ask(act).outcome == "done"
    with_checkpoints.tidy()


@needs_table
@pytest.mark.parametrize(
    "act",
    [*scratch_probes.NEVER_SENT, *probes.NETWORK, *probes.KERNEL, *probes.ENDS, "fork", "lock"],
)
def test_checkpoints_open_nothing_else(with_checkpoints: Confined, act: str) -> None:
    refused(with_checkpoints, act)


@needs_table
@pytest.mark.parametrize("act", sorted(scratch_probes.PROMISED.keys() - {"mount_options"}))
def test_what_a_scratch_needs_is_answered(with_scratch: Confined, act: str) -> None:
    assert with_scratch.ask(act).outcome == "done"
    with_scratch.tidy()


@needs_table
@pytest.mark.parametrize("act", [act for act in wanted_probes.WANTED if act != "refused_in_thread"])
def test_ordinary_calls_are_answered(child: Confined, act: str) -> None:
    assert child.ask(act).outcome == "done"
