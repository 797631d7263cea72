"""The record in the page comes out as it went in, from one place only, and acts on nobody."""

from __future__ import annotations

import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import ContentProblem
from grader.trust import page
from grader.trust.refused import Refused
from tests.trust.signed import receipt, unsigned

pytestmark = pytest.mark.once
HTML = b"<!doctype html>\n<html><body>\n<p>x</p>\n</body>\n</html>\n"
ENVELOPE = b'{"payload":"QUJD","payloadType":"t","signatures":[]}\n'
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(
        ["</script>", "<!--<script>", "\\u003c", "\\\\u003c", "\\", "<", "\\<"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


class Scripts(HTMLParser):
    """Collects what a browser takes for scripts and comments."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[dict[str, str | None], str]] = []
        self.comments: list[str] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = tag == "script"
        if self.inside:
            self.found.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            attrs, text = self.found[-1]
            self.found[-1] = (attrs, text + data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def parsed(html: bytes) -> Scripts:
    found = Scripts()
    found.feed(html.decode())
    found.close()
    return found


@given(ANY_JSON)
def test_the_receipt_comes_out_as_it_went_in(value: Any) -> None:
    raw = (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode(errors="replace")
    made = page.with_envelope(page.with_receipt(HTML, raw), ENVELOPE)
    assert page.split(made) == page.Parts(raw, page.with_receipt(HTML, raw), ENVELOPE)


def test_a_browser_finds_two_blocks_of_data_and_runs_neither() -> None:
    forms = unsigned(receipt())
    made = page.with_envelope(
        page.with_receipt(forms["html"].encode(), forms["json"].encode()), ENVELOPE
    )
    found = parsed(made)
    assert [attrs for attrs, _ in found.found] == [
        {"type": "application/vnd.grade.receipt+json", "id": "grade-receipt"},
        {"type": "application/vnd.dsse.envelope.v1+json", "id": "grade-envelope"},
    ]
    assert found.comments == []
    assert [json.loads(text) for _, text in found.found] == [
        json.loads(forms["json"]),
        json.loads(ENVELOPE),
    ]


def test_the_blocks_stand_right_before_the_end_of_the_body() -> None:
    made = page.with_envelope(page.with_receipt(HTML, b"{}\n"), ENVELOPE)
    assert re.search(
        rb"<p>x</p>\n<script [^>]+>\{\}\n</script>\n<script [^>]+>.+</script>\n</body>", made
    )


@pytest.mark.parametrize(
    "html", [b"", b"<p>no body", b"<p>no line end</p></body>", b"</body></BODY >\n", b"</body >"]
)
def test_a_page_of_any_form_takes_them(html: bytes) -> None:
    made = page.with_envelope(page.with_receipt(html, b"{}\n"), ENVELOPE)
    parts = page.split(made)
    assert (parts.receipt, parts.envelope) == (b"{}\n", ENVELOPE)
    assert parts.signed == page.with_receipt(html, b"{}\n")


def test_what_is_signed_is_the_page_without_one_whole_line() -> None:
    made = page.with_envelope(page.with_receipt(HTML, b"{}\n"), ENVELOPE)
    kept = b"".join(
        line for line in made.splitlines(keepends=True) if b'id="grade-envelope"' not in line
    )
    signed = page.split(made).signed
    assert hashlib.sha256(kept).digest() == hashlib.sha256(signed).digest()


@pytest.mark.parametrize("name", ["grade-receipt", "grade-envelope"])
def test_a_template_that_makes_such_a_block_is_named(name: str) -> None:
    html = HTML.replace(b"<p>", f'<p id="{name}">'.encode())
    with pytest.raises(ContentProblem) as error:
        page.with_receipt(html, b"{}\n")
    assert "the page holds a block of data that only the grader may add" in str(error.value)
    assert "receipt.html.j2" in str(error.value)
    assert 'use other ids than "grade-receipt" and "grade-envelope"' in str(error.value)


def sealed() -> tuple[bytes, bytes]:
    signed = page.with_receipt(HTML, b"{}\n")
    made = page.with_envelope(signed, ENVELOPE)
    start = made.index(b'<script type="application/vnd.dsse')
    return signed, made[start : made.index(b"</script>\n", start) + 10]


def test_an_envelope_anywhere_else_is_never_the_signed_page() -> None:
    signed, block = sealed()
    for at in range(len(signed) + 1):
        made = signed[:at] + block + signed[at:]
        if made == page.with_envelope(signed, ENVELOPE):
            continue
        try:
            found = page.split(made)
        except Refused:
            continue
        # Cut in two by the block, a tag is no tag any more: another page, as its digest says.
        assert found.signed != signed


def test_a_second_envelope_and_a_second_receipt_are_refused() -> None:
    signed, block = sealed()
    made = page.with_envelope(signed, ENVELOPE)
    for doubled in (
        made.replace(block, block * 2),
        block + made,
        made
        + b'<script type="application/vnd.grade.receipt+json" id="grade-receipt">{}</script>\n',
    ):
        with pytest.raises(Refused) as error:
            page.split(doubled)
        assert error.value.reason == "malformed"
        assert "more than one" in error.value.what


def test_a_page_without_its_receipt_is_refused() -> None:
    with pytest.raises(Refused) as error:
        page.split(HTML)
    assert error.value.reason == "unsigned"
    with pytest.raises(Refused, match="has no end"):
        page.split(b'<script type="application/vnd.grade.receipt+json" id="grade-receipt">{}')


def test_an_unsigned_page_has_no_envelope() -> None:
    made = page.with_receipt(HTML, b"{}\n")
    assert page.split(made) == page.Parts(b"{}\n", made, None)
