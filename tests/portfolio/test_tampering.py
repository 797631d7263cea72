"""A portfolio that was changed in any way is refused, and the message says which file and why."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.portfolio import paths, seal
from grader.portfolio.manifest import manifest, to_json
from grader.portfolio.pack import zipped
from grader.portfolio.refused import Refused
from grader.portfolio.unpack import members
from grader.portfolio.verify import Verified, verify
from grader.trust import keys
from tests.portfolio.factory import MADE_AT, edited, files, listed, passed, receipts

Files = dict[str, bytes]
JSON = "receipts/distributed-03/my_solution.json"
AGAIN = "nothing was restored; ask for the zip again, from whoever made it"


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a private key; the public one lies beside it."""
    place = tmp_path_factory.mktemp("keys") / "own.pem"
    keys.generate(place)
    return place


@pytest.fixture(scope="module")
def signed(key: Path, tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = receipts(tmp_path_factory.mktemp("learner"))
    return files(folder, seal.signing(key))


@pytest.fixture(scope="module")
def unsigned(signed: Files) -> Files:
    return {path: raw for path, raw in signed.items() if path != paths.SIGNATURE}


def checked(found: Files, key: Path) -> Verified:
    return verify(found, "p.zip", seal.checking(key.with_suffix(".pub"), "p.zip"))


def refusal(found: Files, key: Path | None = None) -> Refused:
    with pytest.raises(Refused) as caught:
        checked(found, key) if key else verify(found, "p.zip")
    assert caught.value.exit_code == 1
    assert caught.value.next_step.startswith("nothing was restored; ")
    return caught.value


def test_an_untouched_one_is_verified(signed: Files, unsigned: Files, key: Path) -> None:
    found = checked(signed, key)
    assert (found.signed, found.checked, len(found.attempts)) == (True, True, 3)
    found = verify(unsigned, "p.zip")
    assert (found.signed, found.checked, len(found.submissions)) == (False, False, 1)


def test_every_file_changed_in_one_bit_is_named(unsigned: Files) -> None:
    for path, raw in unsigned.items():
        if path != paths.MANIFEST:
            turned = bytes([raw[0] ^ 1]) + raw[1:]
            said = refusal({**unsigned, path: turned}).sentence()
            assert said == (
                f"p.zip holds {path} changed: it is not what manifest.json lists\n  Next: {AGAIN}"
            )


def test_every_file_taken_away_is_named(unsigned: Files) -> None:
    for path in unsigned:
        left = {other: raw for other, raw in unsigned.items() if other != path}
        said = refusal(left).what
        assert said == (
            "p.zip has no manifest.json, so it is no portfolio"
            if path == paths.MANIFEST
            else f"p.zip lacks {path}, which its manifest.json lists"
        )


@pytest.mark.parametrize("path", ["receipts/distributed-03/more.json", "submissions/x-01/0/a.py"])
def test_a_file_put_in_is_named(path: str, unsigned: Files) -> None:
    said = refusal({**unsigned, path: b"{}"}).what
    assert said == f"p.zip holds {path}, which its manifest.json does not list"


def test_a_manifest_changed_to_fit_fails_the_signature(signed: Files, key: Path) -> None:
    forged = edited(passed(), points=1)
    said = refusal(listed({**signed, JSON: forged}), key).what
    assert said == "p.zip has another manifest than the one that manifest.dsse.json signs"
    # Without a key nobody vouches for it, and it is only whole.
    assert verify(listed({**signed, JSON: forged}), "p.zip").checked is False


def test_every_bit_of_the_manifest_counts_under_a_signature(signed: Files, key: Path) -> None:
    raw = signed[paths.MANIFEST]
    for at in range(0, len(raw), 97):
        turned = raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]
        refusal({**signed, paths.MANIFEST: turned}, key)


def test_a_stripped_signature_is_refused_where_a_key_is_pinned(unsigned: Files, key: Path) -> None:
    assert refusal(unsigned, key).sentence() == (
        "p.zip is not signed: it has no manifest.dsse.json\n"
        "  Next: nothing was restored; "
        "ask for a signed one, or leave --key out to restore it on trust"
    )


def test_another_key_is_refused(signed: Files, tmp_path: Path) -> None:
    keys.generate(tmp_path / "other.pem")
    said = refusal(signed, tmp_path / "other.pem").sentence()
    assert said == (
        "p.zip is signed by another key\n"
        "  Next: nothing was restored; check which key its maker signs with"
    )


def test_a_copy_signed_again_by_a_stranger_is_refused(
    signed: Files, key: Path, tmp_path: Path
) -> None:
    keys.generate(tmp_path / "other.pem")
    stranger = seal.signing(tmp_path / "other.pem")
    again = {**signed, paths.SIGNATURE: stranger(signed[paths.MANIFEST])}
    assert "signed by another key" in refusal(again, key).what
    # With the pinned key's id written over the stranger's.
    value = json.loads(again[paths.SIGNATURE])
    value["signatures"][0]["keyid"] = keys.load_public(key.with_suffix(".pub")).keyid
    lied = seal.strict.dumps(value).encode() + b"\n"
    assert "does not fit this key" in refusal({**signed, paths.SIGNATURE: lied}, key).what


def _payload(value: dict[str, object]) -> None:
    value["payload"] = base64.b64encode(b"{}").decode()


def _type(value: dict[str, object]) -> None:
    value["payloadType"] = "application/vnd.in-toto+json"


def _none(value: dict[str, object]) -> None:
    value["signatures"] = []


def _more(value: dict[str, object]) -> None:
    value["comment"] = "hello"


def _twice(value: dict[str, object]) -> None:
    signatures = value["signatures"]
    assert isinstance(signatures, list)
    signatures.append({**signatures[0], "keyid": "00"})


CHANGES: dict[str, tuple[Callable[[dict[str, object]], None], str]] = {
    "payload": (_payload, "does not fit this key: one of them was changed"),
    "type": (_type, "that is no signature of a portfolio"),
    "none": (_none, "without a signature: it was removed"),
    "more": (_more, "that is no"),
    "twice": (_twice, "is signed by another key"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_signature_changed_in_any_part_is_refused(name: str, signed: Files, key: Path) -> None:
    change, said = CHANGES[name]
    value = json.loads(signed[paths.SIGNATURE])
    change(value)
    raw = seal.strict.dumps(value).encode() + b"\n"
    assert said in refusal({**signed, paths.SIGNATURE: raw}, key).what


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b"\xff", b'{"payload": 1}'])
def test_what_is_no_envelope_is_refused(raw: bytes, signed: Files, key: Path) -> None:
    said = refusal({**signed, paths.SIGNATURE: raw}, key).what
    assert said == "p.zip has a manifest.dsse.json that is no DSSE envelope"


def test_the_signature_of_a_receipt_is_none_of_a_portfolio(signed: Files, key: Path) -> None:
    from grader.trust import envelope

    other = envelope.sign({"_type": "x"}, keys.load_private(key)).encode()
    said = refusal({**signed, paths.SIGNATURE: other}, key).what
    assert said == "p.zip has a manifest.dsse.json that is no signature of a portfolio"


MANIFESTS = {
    "no JSON": (lambda raw: b"{", "it is no JSON"),
    "another kind": (lambda raw: b"{}", "it does not say that it is a grade-portfolio"),
    "schema": (
        lambda raw: raw.replace(b'"schema_version": 1', b'"schema_version": 2'),
        "its schema is 2, and only 1 is known",
    ),
    "true schema": (
        lambda raw: raw.replace(b'"schema_version": 1', b'"schema_version": true'),
        "its schema is True, and only 1 is known",
    ),
    "more": (lambda raw: raw.replace(b"{", b'{"x": 1,', 1), "x: Extra inputs are not permitted"),
    "spelling": (lambda raw: raw + b"\n", "it is not written as `grade` writes it"),
    "doubled": (
        lambda raw: raw.replace(b'"grader"', b'"grader": "x", "grader"'),
        "it is not written as `grade` writes it",
    ),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_that_could_be_read_in_two_ways_is_refused(name: str, unsigned: Files) -> None:
    change, said = MANIFESTS[name]
    changed = {**unsigned, paths.MANIFEST: change(unsigned[paths.MANIFEST])}
    assert refusal(changed).what == f"p.zip has a manifest.json that cannot be used: {said}"


def test_a_manifest_that_lists_a_file_twice_is_refused(unsigned: Files) -> None:
    found = manifest(unsigned, MADE_AT)
    doubled = found.model_copy(update={"files": [found.files[0], *found.files]})
    said = refusal({**unsigned, paths.MANIFEST: to_json(doubled)}).what
    assert said == "p.zip has a manifest.json that lists a file twice or out of order"


FITTING = {
    "no receipt": ({JSON: b"{}"}, f"holds {JSON[9:]}, which is no receipt: "),
    "other exercise": (
        {JSON: edited(passed(), exercise="distributed-09")},
        f"holds {JSON[9:]}, a receipt of distributed-09",
    ),
    "a page alone": (
        {"receipts/distributed-03/alone.html": b"page"},
        "holds forms of a receipt without the receipt: distributed-03/alone.json",
    ),
    "another file": (
        {"submissions/distributed-03/0123456789ab/virus.py": b"x"},
        "holds submissions/distributed-03/0123456789ab/virus.py, which none of its receipts graded",
    ),
}


@pytest.mark.parametrize("name", FITTING)
def test_a_fitting_manifest_does_not_make_a_file_fit(name: str, unsigned: Files) -> None:
    more, said = FITTING[name]
    assert said in refusal(listed({**unsigned, **more})).what


def test_a_submission_is_what_its_receipt_graded(unsigned: Files) -> None:
    (path,) = (path for path in unsigned if path.startswith("submissions/"))
    said = refusal(listed({**unsigned, path: b"answer = 2\n"})).what
    assert said == f"p.zip holds {path}, which none of its receipts graded"


def test_a_zip_of_it_reads_back_as_it_is(signed: Files, tmp_path: Path) -> None:
    (tmp_path / "p.zip").write_bytes(zipped(signed))
    assert members(tmp_path / "p.zip") == signed
