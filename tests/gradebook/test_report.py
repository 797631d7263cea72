"""The class report: counts that are right, text that is safe, a page that stands alone."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from grader.errors import ContentProblem
from grader.gradebook.report import Times, report
from grader.records.gradebook import Gradebook, Note, Row
from tests.gradebook.factory import ADA, CHECKS, EVIL, MARY, large, only, row, small
from tests.receipt import factory

TEMPLATES = [Path(__file__).parents[2] / "templates"]
VOID = {"meta", "link", "input", "br", "rect", "line"}


class Page(HTMLParser):
    """Every element with its attributes, and the text inside each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.open: list[int] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        self.texts.append("")
        if tag not in VOID:
            self.open.append(len(self.elements) - 1)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.elements[self.open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        for index in self.open:
            self.texts[index] += data

    def all(self, tag: str, **wanted: str) -> list[tuple[dict[str, str], str]]:
        return [
            (attributes, " ".join(text.split()))
            for (name, attributes), text in zip(self.elements, self.texts, strict=True)
            if name == tag and all(attributes.get(k) == v for k, v in wanted.items())
        ]


def page(book: Gradebook, **more: Times) -> Page:
    return Page(report(book, TEMPLATES, **more))


def facts(found: Page) -> dict[str, str]:
    pairs = zip(found.all("dt"), found.all("dd"), strict=True)
    return {name: value for (_, name), (_, value) in pairs}


def test_the_tiles_count_the_class() -> None:
    found = page(small())
    tiles = facts(found)
    assert tiles["Learners"] == "6"
    assert tiles["Passed"] == "1 25 %"
    assert tiles["Not passed yet"] == "3"
    assert tiles["Undecided"] == tiles["Nothing handed in"] == "1"
    assert tiles["Median of the points"] == "87 %"


def test_the_spread_is_told_in_words_and_as_a_table() -> None:
    ((_, told),) = page(small()).all("desc")
    assert "50–60 percent: 1. " in told
    assert told.endswith("80–90 percent: 1. 90–100 percent: 2.")
    assert len(page(small()).all("table")) == 2


def test_each_check_has_its_rate_and_its_commonest_mistakes() -> None:
    text = "\n".join(text for _, text in page(small()).all("li"))
    assert "values: 4 of 4 passed" in text
    assert "byte_budget: 1 of 4 passed, 3 failed" in text
    assert "2 times Bits counted for bytes" in text


def test_a_row_says_everything_in_words() -> None:
    (blaise,) = [text for _, text in page(small()).all("tr") if "Blaise" in text]
    assert blaise.startswith("Blaise Pascal blaise Not passed yet set by hand 90 / 100")
    assert "✗failed, 10" in blaise
    assert "Bits counted for bytes" in blaise
    assert blaise.endswith("09:00:00 late")


def test_links_are_relative_and_lead_to_the_receipt() -> None:
    links = [attributes["href"] for attributes, _ in page(small()).all("a")]
    assert links[0] == "./receipts/ada/ada_lovelace.html"
    assert all(link.startswith("./receipts/") and "javascript" not in link for link in links)
    assert unquote(links[3]).startswith("./receipts/evil/_img src=x")


def test_a_path_cannot_be_another_address() -> None:
    one = row(ADA, factory.passed(), receipt_folder="//evil.example/javascript:x?y#z")
    ((attributes, _),) = page(only(one)).all("a")
    assert attributes["href"] == "./evil.example/javascript%3Ax%3Fy%23z/my_solution.html"


def test_who_is_missing_and_what_was_noted_is_there() -> None:
    found = page(small())
    paragraphs = [text for _, text in found.all("p")]
    assert "Mary Cartwright mary" in paragraphs
    assert (
        "Zora Neale zora: Undecided. The clean room stopped before it had replayed all_gradient; "
        "run the same command again." in [text for _, text in found.all("li")]
    )
    headings = [text for _, text in found.all("h3")]
    assert "Not in the class, 1" in headings
    assert "Handed in again, 1" in headings


def test_environment_and_confinement_are_told_with_their_counts() -> None:
    other = factory.environment().model_copy(update={"python": "3.13.1"})
    book = only(
        row(ADA, factory.passed()),
        row(EVIL, factory.failed(environment=other)),
        row(MARY, factory.failed()),
    )
    told = facts(page(book))
    assert told["Python"] == "3.11.9 (2)3.13.1 (1)"
    assert told["Confinement"] == "partial, without network namespace"


def test_nothing_of_a_learner_is_markup() -> None:
    text = report(
        small(notes=(Note("ignored", "<b>x</b>", "<script>alert(2)</script>"),)), TEMPLATES
    )
    assert "<script>alert" not in text
    assert "<img" not in text
    assert text.count("<script>") == 1
    assert "‮" not in report(only(row(ADA, None, status="missing", shown="‮x")), TEMPLATES)


def test_style_and_script_are_allowed_by_digest_alone() -> None:
    found = page(small())
    (policy,) = [a["content"] for a, _ in found.all("meta") if "http-equiv" in a]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    text = report(small(), TEMPLATES)
    for tag in ("style", "script"):
        (inner,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    names = {name for _, attributes in found.elements for name in attributes}
    assert not {"style", "src"} & names
    assert not [name for name in names if name.startswith("on")]


def test_no_address_of_another_place_is_in_the_page() -> None:
    text = report(only(row(ADA, factory.passed())), TEMPLATES)
    assert not re.findall(r"https?:|//[a-z]", text.replace("// ", ""))


def test_only_the_marked_times_differ_between_two_runs() -> None:
    def slower(book: Gradebook) -> Gradebook:
        rows = [
            Row(**{**vars(one), "receipt": one.receipt and one.receipt.model_copy(
                update={"wall_s": 9.25, "created_at": "2030-01-01T00:00:00Z"})})
            for one in book.rows
        ]  # fmt: skip
        return small(rows=tuple(rows))

    def cut(text: str) -> str:
        return re.sub(r"<!-- times -->.*?<!-- end of times -->", "", text, flags=re.DOTALL)

    one = report(small(), TEMPLATES, times=Times("2026-03-02T10:00:00Z", 12.0))
    two = report(slower(small()), TEMPLATES, times=Times("2030-03-02T10:00:00Z", 99.5))
    assert one != two
    assert cut(one) == cut(two)
    assert "Grading took 99.5 s in all." in two
    assert "One submission took 9.25 s in the middle, 9.25 s at most." in two


def test_an_empty_class_has_a_page_too() -> None:
    found = page(only())
    assert "Nobody has a grade yet." in [text for _, text in found.all("p")]


def test_a_table_for_people_who_cannot_see_it() -> None:
    found = page(small())
    heads = found.all("th", scope="col")
    assert ("Check 1: " + factory.TITLES[CHECKS[0]]) in [text for _, text in heads]
    assert [a["aria-sort"] for a, _ in heads if "aria-sort" in a] == ["ascending"]
    assert len(found.all("th", scope="row")) == 6 + 10
    labels = {a["for"] for a, _ in found.all("label")}
    assert labels == {a["id"] for tag in ("input", "select") for a, _ in found.all(tag)}
    assert found.all("p", role="status")
    ids = [a["id"] for _, a in found.elements if "id" in a]
    assert len(set(ids)) == len(ids)
    for _, attributes in found.elements:
        for target in attributes.get("aria-labelledby", "").split():
            assert target in ids


def test_a_large_class_is_one_page() -> None:
    assert len(page(large(200)).all("tr")) == 200 + 2 + 10


def test_a_broken_template_is_the_courses_fault(tmp_path: Path) -> None:
    with pytest.raises(ContentProblem, match=r"report\.html\.j2 is missing"):
        report(small(), [tmp_path])
    place = tmp_path / "report.html.j2"
    shutil.copy(TEMPLATES[0] / place.name, place)
    place.write_text("{% if %}", encoding="utf-8")
    with pytest.raises(ContentProblem, match="line 1"):
        report(small(), [tmp_path])
    place.write_text("{{ nothing_like_it }}", encoding="utf-8")
    with pytest.raises(ContentProblem, match="nothing_like_it"):
        report(small(), [tmp_path])
