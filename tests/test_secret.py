"""The course secret: made once, kept for its owner alone, and never taken when it is not safe."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grader import secret
from grader.errors import EnvironmentProblem
from tests.command import STARTER_FILLED, grade, run


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "course-secret"


def kept(place: Path, text: str, mode: int = 0o600) -> None:
    place.parent.mkdir(exist_ok=True)
    place.write_text(text)
    place.chmod(mode)


def test_no_file_is_no_secret(place: Path) -> None:
    assert secret.read(place.parent) is None
    assert not place.parent.exists()


def test_a_secret_is_made_once_and_for_its_owner_alone(place: Path) -> None:
    made = secret.ensure(place.parent)
    assert len(made) >= 32
    assert secret.ensure(place.parent) == secret.read(place.parent) == made
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert [path.name for path in place.parent.iterdir()] == ["course-secret"]


def test_two_that_begin_together_end_with_one_secret(place: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len({*pool.map(lambda _: secret.ensure(place.parent), range(16))}) == 1


def test_a_secret_that_others_can_read_is_not_taken(place: Path) -> None:
    kept(place, "x" * 40, 0o640)
    with pytest.raises(EnvironmentProblem, match="can be read by other users"):
        secret.read(place.parent)


def test_a_secret_that_is_too_short_is_not_taken(place: Path) -> None:
    kept(place, "short")
    with pytest.raises(EnvironmentProblem, match="has 5 bytes, fewer than 16"):
        secret.ensure(place.parent)
    assert place.read_text() == "short"


def test_a_folder_in_its_place_is_told(place: Path) -> None:
    place.mkdir(parents=True)
    with pytest.raises(EnvironmentProblem, match="course secret cannot be read"):
        secret.read(place.parent)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match="no course secret can be kept"):
        secret.ensure(tmp_path / "file")


def test_a_seed_is_an_hmac_that_no_shifted_part_gives() -> None:
    message = (1).to_bytes(8, "big") + b"a" + (2).to_bytes(8, "big") + b"bc"
    assert secret.seed(b"key", b"a", b"bc") == hmac.new(b"key", message, hashlib.sha256).digest()
    assert secret.seed(b"key", b"a", b"bc") != secret.seed(b"key", b"ab", b"c")


# ------------------------------------------------------------------------------- the real command


def test_with_a_secret_a_grade_comes_out_the_same_and_without_one_it_does_not(
    tmp_path: Path,
) -> None:
    kept(tmp_path / "grade" / "course-secret", os.urandom(32).hex())
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    bound = [grade(STARTER_FILLED, "--instructor", cwd=tmp_path, env=env).graded for _ in "ab"]
    assert bound[0]["evidence_digest"] == bound[1]["evidence_digest"]
    record = (tmp_path / "receipts/distributed-03/starter_filled.instructor.json").read_text()
    assert '"seed_source": "course secret"' in record

    env = {"XDG_CONFIG_HOME": str(tmp_path / "none")}
    free = [grade(STARTER_FILLED, "--instructor", cwd=tmp_path, env=env).graded for _ in "ab"]
    assert free[0]["evidence_digest"] != free[1]["evidence_digest"]


def test_the_instructors_record_makes_a_grade_again(tmp_path: Path) -> None:
    first = grade(STARTER_FILLED, "--instructor", cwd=tmp_path)
    place = tmp_path / "receipts/distributed-03/starter_filled.instructor.json"
    record = json.loads(place.read_text())
    assert record["seed_source"] == "drawn for this grade"
    assert record["seed"] not in json.dumps(first.graded) + first.stdout + first.stderr
    assert (
        hashlib.sha256(bytes.fromhex(record["seed"])).hexdigest()
        == (first.graded["environment"]["seed_sha256"])
    )
    again = grade(STARTER_FILLED, "--seed", record["seed"], cwd=tmp_path)
    assert again.graded["evidence_digest"] == first.graded["evidence_digest"]


def test_an_instructors_record_needs_a_receipt(tmp_path: Path) -> None:
    ran = run("distributed-03", STARTER_FILLED, "--instructor", "--no-receipt", cwd=tmp_path)
    assert ran.code == 2
    assert "--instructor writes a record, and --no-receipt writes nothing" in ran.said
