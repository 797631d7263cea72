"""The eyes of these tests see what they are for: survivors, knocks on doors, and closed folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile import unprivileged
from tests.hostile.attack import every, parse
from tests.hostile.neighbours import neighbours
from tests.hostile.stage import WARDEN

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and namespaces")
_DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 64)
        time.sleep(600)
    os._exit(0)
os.wait()
sys.exit(7)
"""


def test_a_process_that_hides_from_its_parents_is_seen_and_ended() -> None:
    reading, writing = os.pipe()
    line = [sys.executable, "-I", "-S", str(WARDEN), str(writing), "--", sys.executable]
    # A daemon gets some seconds to leave by itself, which this one does not use.
    done = subprocess.run([*line, "-c", _DAEMON], pass_fds=[writing], timeout=120)
    os.close(writing)
    with open(reading, encoding="utf-8") as file:
        started, ended = map(json.loads, file.read().splitlines())
    assert done.returncode == 0
    assert started["pid"] > 0
    assert ended["code"] == 7
    assert len(ended["left"]) == 1


def test_whoever_knocks_is_heard(tmp_path: Path) -> None:
    import socket

    with neighbours(None, tmp_path / "door") as around:
        assert around.heard() == []
        with socket.create_connection(around.tcp.getsockname()):
            assert around.heard() == ["tcp"]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.sendto(b"knock", around.udp.getsockname())
        assert around.heard() == ["udp"]
        before = around.like()
        os.setpriority(os.PRIO_PROCESS, around.sleeper.pid, 10)
        assert around.like() != before


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may become another user"
)
def test_another_user_sees_the_trees_that_are_opened_and_nothing_beside(tmp_path: Path) -> None:
    tree, beside = tmp_path / "closed" / "tree", tmp_path / "closed" / "beside"
    for folder in (tree, beside):
        folder.mkdir(parents=True)
        (folder / "file").write_text(folder.name)
    (tmp_path / "closed").chmod(0o700)
    script = (
        "import os, sys\n"
        "print(os.getuid(), os.getgid(), os.getgroups())\n"
        "print(open(sys.argv[1] + '/file').read(), os.path.exists(sys.argv[2]))\n"
        "print([os.access(path, os.W_OK) for path in sys.argv[1:]])"
    )
    trees = [Path(sys.prefix), Path(sys.base_prefix), tree]
    line = unprivileged.prefix(unprivileged.NOBODY, trees)
    done = subprocess.run(
        [*line, sys.executable, "-I", "-S", "-c", script, str(tree), str(beside)],
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode == unprivileged.REFUSED:
        pytest.skip(done.stdout.strip())
    nobody = unprivileged.NOBODY
    assert done.stdout.splitlines() == [
        f"{nobody} {nobody} []",
        "tree False",
        "[False, False]",
    ], done.stderr
    # Nothing has changed for anybody else.
    assert (beside / "file").read_text() == "beside"


def test_every_attack_says_what_must_come_of_it() -> None:
    attacks = every()
    assert len(attacks) >= 70
    for attack in attacks.values():
        assert set(attack.verdicts) <= {"passed", "failed", "error"}
        assert 0 <= attack.points <= 100
        assert '"""' in attack.body.split("\n\n")[0]
    with pytest.raises(KeyError):
        parse("nameless", "print('no header')\n")
