"""What a signature vouches for: an in-toto statement made from a receipt's own bytes.

Nothing in it is chosen: the same receipt and the same forms give the same statement, so a verifier
makes it again and compares.

Sources: in-toto Statement v1 (https://in-toto.io/Statement/v1) and the test-result predicate v0.1
(https://in-toto.io/attestation/test-result/v0.1).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from grader.errors import Undecided
from grader.trust import strict
from grader.trust.refused import Refused

TYPE = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
RECEIPT_SCHEMA = 1
# The predicate knows no third result that is a judgement: undecided is not signed.
RESULTS = {"passed": "PASSED", "failed": "FAILED", "error": "FAILED"}
MEDIA = {
    "json": "application/vnd.grade.receipt+json",
    "md": "text/markdown",
    "html": "text/html",
    "txt": "text/plain",
}


def of(receipt: bytes, digests: Mapping[str, str]) -> dict[str, Any]:
    """Return the statement about a receipt.

    `receipt` is the JSON form, byte for byte; `digests` gives, for each other form that is written
    with it (ending -> hex SHA-256), the page without its envelope. A check that waits for another
    one earns nothing, so it is among the failed: the predicate's warned tests are passed ones.

    Raises:
        Refused: the bytes are no receipt of a known schema.
        Undecided: our side could not tell, so there is nothing to vouch for.
    """
    facts = _facts(receipt)
    try:
        return _statement(facts, {"json": sha256(receipt), **digests})
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise Refused("malformed", f"the receipt lacks what a statement needs: {error}") from error


def _facts(receipt: bytes) -> dict[str, Any]:
    facts = strict.loads(receipt)
    version = facts.get("schema_version")
    if version != RECEIPT_SCHEMA or isinstance(version, bool):
        raise Refused(
            "unknown schema", f"the receipt's schema is {_short(version)}, not known here"
        )
    if facts.get("verdict") == "undecided":
        raise Undecided(
            "an undecided grade is not signed: it says nothing about the submission",
            next_step="grade it again",
        )
    verdict = facts.get("verdict")
    if not isinstance(verdict, str) or verdict not in RESULTS:
        raise Refused("malformed", f"the receipt's verdict is {str(verdict)[:80]!r}")
    return facts


def _statement(facts: dict[str, Any], digests: Mapping[str, str]) -> dict[str, Any]:
    submission = facts["submission"]
    subjects = [_resource(f"submission/{submission['name']}", submission["sha256"])]
    for name, digest in sorted(submission["siblings"].items()):
        subjects.append(_resource(f"beside/{name}", digest))
    for ending in sorted(digests, key=lambda ending: (ending != "json", ending)):
        subjects.append(_resource(f"receipt.{ending}", digests[ending], mediaType=MEDIA[ending]))
        if ending == "json":
            subjects[-1]["annotations"] = _said(facts)
    statuses = [(check["id"], check["status"]) for check in facts["checks"]]
    return {
        "_type": TYPE,
        "subject": subjects,
        "predicateType": PREDICATE,
        "predicate": {
            "result": RESULTS[facts["verdict"]],
            "configuration": _configuration(facts),
            "passedTests": [check for check, status in statuses if status == "passed"],
            "warnedTests": [],
            "failedTests": [check for check, status in statuses if status != "passed"],
        },
    }


def _said(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what the receipt says in short, for who reads the statement alone."""
    said = {
        "verdict": facts["verdict"],
        "points": facts["points"],
        "maxPoints": facts["max_points"],
        "evidenceDigest": facts["evidence_digest"],
        "createdAt": facts["created_at"],
    }
    learner = facts.get("learner")
    return said if learner is None else {**said, "learner": learner}


def _configuration(facts: dict[str, Any]) -> list[dict[str, Any]]:
    exercise, environment = facts["exercise"], facts["environment"]
    checks = [[check["id"], check["kind"], check["max_points"]] for check in facts["checks"]]
    shown = [exercise, facts["exercise_title"], facts["max_points"], checks]
    return [
        _resource(f"rubric/{exercise}", environment["rubric_sha256"]),
        _resource(f"exercise/{exercise}", sha256(strict.dumps(shown).encode())),
        _resource("environment", sha256(strict.dumps(environment).encode())),
    ]


def _resource(name: str, digest: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": digest}, **more}


def _short(value: object) -> str:
    return repr(value)[:80]


def sha256(raw: bytes) -> str:
    """Return the hex SHA-256 of some bytes."""
    return hashlib.sha256(raw).hexdigest()
