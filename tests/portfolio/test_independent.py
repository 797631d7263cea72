"""A third party checks a portfolio with the commands of docs/receipts.md and nothing of ours."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from grader.portfolio import seal
from grader.portfolio.pack import zipped
from grader.trust import keys
from tests.portfolio.factory import files, receipts

DOCS = Path(__file__).parents[2] / "docs" / "receipts.md"
TOOLS = ("openssl", "unzip", "python3", "bash")

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not all(map(shutil.which, TOOLS)), reason=f"needs {', '.join(TOOLS)}"),
]


def script() -> str:
    """Return the commands of the documentation's portfolio section."""
    section = DOCS.read_text(encoding="utf-8").partition("\n## Portfolio\n")[2]
    found = re.search(r"### Check it with other programs\n\n```sh\n(.*?)```", section, re.S)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("whole", [True, False])
def test_openssl_and_a_hash_tell_a_whole_one_from_a_changed_one(
    whole: bool, tmp_path: Path
) -> None:
    keys.generate(tmp_path / "ada.pem")
    made = files(receipts(tmp_path), seal.signing(tmp_path / "ada.pem"))
    if not whole:
        made["manifest.json"] = made["manifest.json"].replace(b"2026-04-01", b"2026-04-02")
    (tmp_path / "portfolio.zip").write_bytes(zipped(made))
    ran = subprocess.run(
        ["bash", "-c", f"set -e\n{script()}"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (ran.returncode == 0) is whole, ran.stderr
    assert ("Signature Verified Successfully" in ran.stdout) is whole
