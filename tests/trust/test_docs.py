"""What the documentation says a third party can run does check a receipt."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.trust import keys
from tests.command import ROOT
from tests.receipt import factory
from tests.trust.signed import forms, receipt, save

COMMANDS = re.compile(r"### Check it with other programs\n.*?```sh\n(.*?)```", re.DOTALL)
NEEDED = ("sh", "openssl", "python3")


@pytest.mark.once
@pytest.mark.skipif(sys.platform == "win32", reason="the commands are for a POSIX shell")
def test_the_commands_of_the_documentation_check_a_receipt(tmp_path: Path) -> None:
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        pytest.skip(f"this machine has no {', '.join(missing)}")
    source = b"print('hello')\n"
    part = factory.passed().submission.model_copy(
        update={"sha256": hashlib.sha256(source).hexdigest()}
    )
    keys.generate(tmp_path / "course.pem")
    signer = keys.load_private(tmp_path / "course.pem")
    save(tmp_path, "my_solution", forms(receipt(submission=part), signer))
    (tmp_path / "my_solution.py").write_bytes(source)
    found = COMMANDS.search((ROOT / "docs" / "receipts.md").read_text(encoding="utf-8"))
    assert found is not None
    commands = found[1]

    def said() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-eu", "-c", commands], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    good = said()
    assert good.returncode == 0, good.stderr
    assert "Signature Verified Successfully" in good.stdout
    digests = re.findall(r"(?m)^([0-9a-f]{64}) ", good.stdout)
    statement = json.loads(good.stdout[good.stdout.index("{") : good.stdout.rindex("}") + 1])
    assert sorted(digests) == sorted(one["digest"]["sha256"] for one in statement["subject"])
    page = tmp_path / "my_solution.html"
    genuine = page.read_bytes()
    for forged in (
        genuine.replace(b"</script>\n</body>", b"</script><h1>Passed</h1>\n</body>"),
        genuine.replace(b"</body>", b'<h1 id="grade-envelope">Passed</h1>\n</body>'),
        genuine.replace(b"<body>", b"<body><style>h1{display:none}</style>"),
        genuine.replace(b'"payload":"', b'"payload":"AAAA'),
    ):
        assert forged != genuine
        page.write_bytes(forged)
        assert said().returncode != 0
    page.write_bytes(genuine)
    assert said().returncode == 0
    keys.generate(tmp_path / "other.pem")
    shutil.move(tmp_path / "other.pub", tmp_path / "course.pub")
    assert said().returncode != 0
