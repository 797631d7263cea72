"""What must hold after any fault of ours: nothing half done, nothing left, the next run works."""

from __future__ import annotations

import json

from grader.records.receipt import Receipt
from tests.command import EXERCISE
from tests.faults.moments import FILLED, NAME, let_go
from tests.hostile.stage import Ended, Stage


def nothing_is_half_done(stage: Stage, *, tidied: bool = True) -> None:
    """See that every file is whole, and none is there that was not; undecided receipts may be."""
    after = stage.files()
    assert {path for path in stage.before if after.get(path) != stage.before[path]} == set()
    new = {
        path for path in after.keys() - stage.before.keys() if tidied or stage.out in path.parents
    }
    assert not [path for path in new if path.suffix == ".tmp" or path.name.startswith(".lock")]
    receipts = [path for path in new if path.suffix == ".json" and not path.name.startswith(".")]
    for path in receipts:
        assert Receipt.model_validate_json(after[path]).verdict != "passed"
    allowed = {
        path.with_suffix(ending) for path in receipts for ending in (".json", ".md", ".html")
    }
    assert new - allowed <= {stage.out / EXERCISE / ".index.json"}


def the_next_run_works(stage: Stage) -> Ended:
    """Grade the reference solution in the same folders; it passes in full."""
    let_go(stage)
    stage.put(NAME, FILLED)
    ended = stage.run(EXERCISE, "--no-cache", "--out", stage.out, "--", NAME)
    assert (ended.code, ended.left) == (0, []), ended.stderr
    receipt = json.loads(stage.receipts("solution")["json"])
    assert (receipt["verdict"], receipt["points"]) == ("passed", 100)
    return ended
