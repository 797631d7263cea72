"""Landlock on its own: which files a child reaches, on this kernel and as older ones would ask."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.sandbox import landlock
from grader.sandbox.landlock import carve, handled
from tests.sandbox import probes, scratch_probes, wanted_probes
from tests.sandbox.confined import USERS, Confined


def _kernel_abi() -> int:
    try:
        return landlock.abi_version() if sys.platform == "linux" else 0
    except OSError:
        return 0


ABI = _kernel_abi()
needs_landlock = pytest.mark.skipif(ABI == 0, reason="no Landlock on this machine")
KNOWN_ABIS = range(1, min(ABI, landlock.NEWEST_ABI) + 1)
# Reached by name only, so a temporary file's own search for a directory hides the errno.
ANY_ERRNO = {"temporary_file"}


@pytest.fixture(scope="module", params=USERS, ids=lambda uid: f"uid{uid}")
def child(request: pytest.FixtureRequest) -> Iterator[Confined]:
    with Confined(request.param, layers="landlock") as confined:
        yield confined


@needs_landlock
@pytest.mark.parametrize("act", {**probes.FILES, **probes.BARE})
def test_files_that_were_not_named_are_refused(child: Confined, act: str) -> None:
    answer = child.ask(act)
    assert answer.outcome == "refused", answer
    assert act in ANY_ERRNO or answer.errno in (errno.EACCES, errno.EXDEV), answer


# What Landlock knows nothing of is for seccomp to refuse.
UNKNOWN = {"truncating_neither_outside", "whiteout", "chmod_victim", "touch_victim"}
MOUNTS = {"mount_over", "grow_the_scratch", "unmount_the_scratch"}
PLACES = [act for act in scratch_probes.TRESPASSES if act not in UNKNOWN | MOUNTS]


@pytest.fixture(scope="module", params=USERS, ids=lambda uid: f"uid{uid}")
def with_scratch(request: pytest.FixtureRequest) -> Iterator[Confined]:
    with Confined(request.param, layers="landlock", scratch=True) as confined:
        yield confined


@needs_landlock
@pytest.mark.parametrize("act", PLACES)
def test_a_scratch_ends_at_its_own_directory(with_scratch: Confined, act: str) -> None:
    answer = with_scratch.ask(act)
    assert answer.outcome == "refused", answer
    assert answer.errno in (errno.EACCES, errno.EXDEV, errno.EPERM), answer
    with_scratch.tidy()


@needs_landlock
@pytest.mark.parametrize("act", wanted_probes.WANTED)
def test_what_was_named_still_works(child: Confined, act: str) -> None:
    assert child.ask(act).outcome == "done"


@pytest.mark.skipif(ABI < 4, reason="Landlock knows TCP from ABI 4")
@pytest.mark.parametrize("act", ["connect", "bind"])
def test_tcp_is_refused(child: Confined, act: str) -> None:
    assert child.ask(act).errno == errno.EACCES


@pytest.mark.skipif(ABI < 6, reason="Landlock knows signals from ABI 6")
@pytest.mark.parametrize("act", ["kill_parent", "tgkill_parent", "tkill_parent"])
def test_signals_to_the_parent_are_refused(child: Confined, act: str) -> None:
    assert child.ask(act).errno == errno.EPERM


@needs_landlock
@pytest.mark.parametrize("abi", KNOWN_ABIS)
def test_rules_of_an_older_kernel_hold(abi: int) -> None:
    with Confined(os.getuid(), layers=f"landlock{abi}") as child:
        for act in ("read_outside", "read_through_link", "write_in_workdir", "rename", "link"):
            assert child.ask(act).outcome == "refused", act
        for act in ("read_in_workdir", "write_to_null", "thread"):
            assert child.ask(act).outcome == "done", act


@needs_landlock
@pytest.mark.parametrize("abi", KNOWN_ABIS)
def test_a_scratch_holds_as_an_older_kernel_would_ask(abi: int) -> None:
    with Confined(os.getuid(), layers=f"landlock{abi}", scratch=True) as child:
        for act in ("write_outside", "remove_outside", "rename_inwards", "fifo_in_workdir"):
            assert child.ask(act).outcome == "refused", act
        assert child.ask("modes").outcome == "done"
        between = child.ask("rename_between_directories")
        assert between.errno == (errno.EXDEV if abi < 2 else 0)
        child.tidy()


@pytest.mark.parametrize(
    ("abi", "rights", "size"),
    [(1, 13, 8), (2, 14, 8), (3, 15, 8), (4, 15, 16), (5, 16, 16), (6, 16, 24), (7, 16, 24)],
)
def test_each_abi_is_asked_for_all_it_knows(abi: int, rights: int, size: int) -> None:
    masks = handled(abi)
    assert masks.filesystem.bit_count() == rights
    assert len(masks.packed()) == size
    assert bool(masks.network) == (abi >= 4)
    assert bool(masks.scoped) == (abi >= 6)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("a/one", "a/two", "b/deep/three", "c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "a/out").symlink_to("/etc")
    (tmp_path / "alias").symlink_to(tmp_path / "a")
    return tmp_path.resolve()


def carved(tree: Path, path: str, *forbidden: str) -> list[str]:
    paths = carve(str(tree / path), [str(tree / name) for name in forbidden])
    return [str(Path(found).relative_to(tree)) for found in paths]


def test_nothing_forbidden_beneath_is_one_rule(tree: Path) -> None:
    assert carved(tree, "a", "b", "c") == ["a"]


def test_forbidden_paths_are_left_out_with_their_ancestors(tree: Path) -> None:
    assert carved(tree, ".", "b/deep/three", "a/one") == ["a/two", "c"]


def test_a_path_within_a_forbidden_one_gets_no_rule(tree: Path) -> None:
    assert carved(tree, "a/one", "a") == []
    assert carved(tree, "a", "a") == []


def test_a_like_named_neighbour_is_not_forbidden(tree: Path) -> None:
    (tree / "a-more").mkdir()
    assert carved(tree, "a-more", "a") == ["a-more"]


def test_links_are_resolved_on_both_sides(tree: Path) -> None:
    assert carved(tree, "alias", "a/one") == ["a/two"]
    assert carved(tree, "a", "alias/one") == ["a/two"]


def test_a_missing_path_gets_no_rule(tree: Path) -> None:
    assert carved(tree, "nothing") == []


def test_a_forbidden_path_that_is_missing_takes_nothing_but_itself(tree: Path) -> None:
    assert carved(tree, "b", "b/later") == ["b/deep"]
