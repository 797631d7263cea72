"""A receipt says the same in every form, and no text in it acts on its reader."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from grader.errors import ContentProblem
from grader.receipt import exhibits, figure, placed, view
from grader.receipt.render import Form, render, to_json
from grader.records.receipt import Receipt
from tests.receipt import factory

TEMPLATES = [Path(__file__).parents[2] / "templates"]
FORMS: tuple[Form, ...] = ("html", "md", "txt")
RECEIPTS = {
    "passed": factory.passed(),
    "failed": factory.failed(),
    "error": factory.error(),
    "undecided": factory.undecided(),
}
HOSTILE = (
    '</code></pre></td><script>alert(1)</script><img src=x onerror="alert(1)">'
    "\x1b[2J\u202e\u200b{{ 7 * 7 }}{% raw %} | # **x** [a](http://evil.example) ```\n\n# Passed\n"
)
FIXED = {
    "exercise",
    "id",
    "kind",
    "status",
    "source",
    "verdict",
    "level",
    "format",
    "blame",
    "inputs",
}


def flat(text: str) -> str:
    """Return text without marks and line ends, so that forms can be compared."""
    return re.sub(r"\s+", " ", text.replace("\\", "").replace("`", ""))


class Page(HTMLParser):
    """Collects a page's elements and its visible text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, *tags: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag in tags]


def hostile(value: Any, key: str = "") -> Any:
    """Return a record's JSON with every free text replaced."""
    if isinstance(value, dict):
        return {name: hostile(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [hostile(part, key) for part in value]
    return HOSTILE if isinstance(value, str) and key not in FIXED else value


def hostile_receipt() -> Receipt:
    return Receipt.model_validate_json(json.dumps(hostile(json.loads(to_json(factory.error())))))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", RECEIPTS)
def test_verdict_and_points_come_first(name: str, form: Form) -> None:
    receipt = RECEIPTS[name]
    shown = render(receipt, form, TEMPLATES)
    body = Page(shown[shown.index("<body>") :]).text if form == "html" else shown
    points = flat(body).index(f"{receipt.points} of {receipt.max_points} points")
    assert points < flat(body).index("Checks")
    assert points < 160


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", RECEIPTS)
def test_every_form_has_the_same_facts(name: str, form: Form) -> None:
    receipt = RECEIPTS[name]
    text = render(receipt, form, TEMPLATES)
    text = flat(Page(text).text if form == "html" else text)
    facts = [receipt.evidence_digest, receipt.submission.sha256, receipt.environment.platform]
    facts += [receipt.compiled_bytes.label, receipt.observed_cpu_us.label, receipt.outcome.message]
    facts += [layer.reason for layer in receipt.environment.confinement.layers]
    for check in receipt.checks:
        facts += [check.title, check.message, check.mistake_title or "", check.hint]
        facts += [part.id for part in check.items]
    if receipt.outcome.kind == "finished":
        facts.remove(receipt.outcome.message)
    if receipt.payload_model:
        facts += [receipt.payload_model.label, *receipt.payload_model.assumptions]
    for row in receipt.compiled_bytes.rows:
        facts += [row.program, row.note, *(part.op for part in row.compiled)]
    facts += _told_of_devices_and_figure(receipt)
    told = {receipt.outcome.line, *(n for c in receipt.checks for n in exhibits.lines(c))}
    facts += [line.text.strip() for line in receipt.source_lines if line.line in told]
    facts += _told_apart(receipt)
    missing = [fact for fact in facts if flat(fact) not in text]
    assert not missing


def _told_of_devices_and_figure(receipt: Receipt) -> list[str]:
    facts = []
    for group in placed.groups(receipt):
        cells = [c for d in group.drawings for one in d.devices for c in one.cells if c]
        facts += [group.title, *(cell for cell in cells if cell != "•")]
        facts += [one.part for d in group.drawings for one in d.devices]
    drawn = figure.figure(receipt)
    return facts + (drawn.csv.splitlines() if drawn else [])


def _told_apart(receipt: Receipt) -> list[str]:
    separate, at = receipt.separate, receipt.environment
    facts = [answer for _, answer in view.explanations(separate)]
    facts += [separate.checkpoint.because] if separate.checkpoint else []
    facts += [view.agreement(separate)] if separate.prediction else []
    facts += [at.confinement.level, at.rubric_sha256, at.seed_sha256, *receipt.output.text.split()]
    return facts


@pytest.mark.parametrize("form", FORMS)
def test_model_program_and_timings_are_three_sections_with_their_own_labels(form: Form) -> None:
    receipt = factory.passed()
    assert receipt.payload_model is not None
    text = render(receipt, form, TEMPLATES)
    text = flat(Page(text).text if form == "html" else text)
    ends = [text.index(receipt.payload_model.label)]
    ends += [text.index(receipt.compiled_bytes.label), text.index(receipt.observed_cpu_us.label)]
    ends += [text.index("Tracked separately")]
    assert ends == sorted(ends)
    assert "µs" not in text[ends[0] : ends[1]]
    assert "reduce-scatter" in text[ends[1] : ends[2]]
    assert "bytes" not in text[ends[2] : ends[3]]


@pytest.mark.parametrize("form", FORMS)
def test_no_text_of_a_learner_is_hidden_or_acts(form: Form) -> None:
    shown = render(hostile_receipt(), form, TEMPLATES)
    assert shown.replace("\n", "").replace("\t", "").isprintable()
    assert "{{ 7 * 7 }}" in shown.replace("\\", "")
    if form == "md":
        assert "<" not in re.sub(r"(?s)`+text\n.*?\n`{3,}\n", "", shown)
    if form == "txt":
        assert "\n# Passed" not in shown


def test_a_learners_text_adds_no_element_to_the_page() -> None:
    plain, shown = (
        Page(render(receipt, "html", TEMPLATES)) for receipt in (factory.error(), hostile_receipt())
    )
    # The advice of a sentence with backticks is code; everything else is the same page.
    assert {tag for tag, _ in shown.elements} <= {tag for tag, _ in plain.elements}
    assert not shown.all("script", "img", "iframe", "object", "form", "base")
    assert not [name for _, attrs in shown.elements for name in attrs if name.startswith("on")]


def test_the_page_asks_for_nothing_from_anywhere() -> None:
    html = render(factory.failed(), "html", TEMPLATES)
    page = Page(html)
    policy = page.all("meta")[1]
    assert policy["http-equiv"] == "Content-Security-Policy"
    assert str(policy["content"]).startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert not page.all("script")
    targets = [attrs.get("href") or attrs.get("src") for _, attrs in page.elements]
    assert all(str(target).startswith(("#", "data:")) for target in targets if target)
    assert "url(" not in html
    assert "@import" not in html


@pytest.mark.parametrize("name", RECEIPTS)
def test_the_page_can_be_read_without_seeing_it(name: str) -> None:
    page = Page(render(RECEIPTS[name], "html", TEMPLATES))
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    named = " ".join(attrs.get("aria-labelledby") or "" for _, attrs in page.elements).split()
    assert len(ids) == len(set(ids))
    assert set(named) <= set(ids)
    assert all("scope" in attrs for attrs in page.all("th"))
    assert page.elements[0] == ("html", {"lang": "en"})
    assert len(page.all("h1")) == len(page.all("main")) == 1
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for status in {check.status for check in RECEIPTS[name].checks}:
        assert f"{view.glyph(status)} {view.word(status)}" in page.text


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1])
def test_text_stands_out_from_its_ground_in_light_and_dark(scheme: int) -> None:
    html = render(factory.passed(), "html", TEMPLATES)
    block = re.findall(r":root \{([^}]*--ink[^}]*)\}", html)[scheme]
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
    for ink in ("ink", "soft", "good", "bad", "wait", "open"):
        for ground in ("paper", "card", "tint") if ink in ("ink", "soft") else ("paper", "card"):
            bright, dark = sorted(
                (_luminance(colours[ink]), _luminance(colours[ground])), reverse=True
            )
            assert (bright + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)
    for ink, ground in (("ink", "held"), ("bad", "off"), ("ink", "mark"), ("cell", "held")):
        bright, dark = sorted((_luminance(colours[ink]), _luminance(colours[ground])), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)


def test_wrong_devices_are_marked_in_words() -> None:
    seen: factory.Evidence = [{"what": "difference", "program": "gather", "wrong_devices": [2]}]
    checks = [factory.finding("values", evidence=seen)]
    receipt = factory.passed(checks=checks, points=100)
    html = Page(render(receipt, "html", TEMPLATES))
    assert len([attrs for attrs in html.all("tr") if attrs.get("class") == "wrong"]) == 1
    assert "✗ wrong values" in html.text
    told = [line for line in render(receipt, "txt", TEMPLATES).split("\n") if "wrong val" in line]
    assert [line.split()[:2] for line in told] == [["gather", "2"]]


@pytest.mark.parametrize("name", RECEIPTS)
def test_json_reads_back_as_the_same_record_and_the_same_bytes(name: str) -> None:
    text = render(RECEIPTS[name], "json", [])
    again = Receipt.model_validate_json(text)
    assert again == RECEIPTS[name]
    assert render(again, "json", []) == text
    assert text.endswith("}\n")


def test_json_spells_hidden_characters_as_escapes() -> None:
    text = to_json(factory.passed(notes=["a\u202eb\x9b\U000e0041é"]))
    assert r'"a\u202eb\u009b\udb40\udc41é"' in text


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_is_none_never_reaches_a_receipt(number: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        factory.finding("values", evidence=[{"what": "x", "share": number}])
    with pytest.raises(ValueError, match="JSON compliant"):
        to_json(factory.passed().model_copy(update={"wall_s": number}))


@pytest.mark.parametrize(
    ("text", "line", "named"),
    [
        ("fine\n{{ receipt.pionts }}\n", 2, "pionts"),
        ("{% set a = 1 %}\n\n{{ nowhere }}", 3, "nowhere"),
        ("a\nb\n{% if receipt %}\n", 3, "if"),
        ("{{ receipt.points|shout }}", 1, "shout"),
        ("\n{{ receipt.points + 'x' }}", 2, "receipt.points"),
        ("{{ receipt.__class__.__mro__ }}", 1, "__class__"),
        ("{{ ''.__class__ }}", 1, "__class__"),
        ("{% include 'other.j2' %}", 0, "other.j2"),
    ],
)
def test_a_broken_template_names_file_line_and_variable(
    tmp_path: Path, text: str, line: int, named: str
) -> None:
    (tmp_path / "receipt.txt.j2").write_text(text)
    with pytest.raises(ContentProblem) as caught:
        render(factory.passed(), "txt", [tmp_path, *TEMPLATES])
    message = caught.value.sentence()
    assert named in message
    if line:
        assert str(tmp_path / "receipt.txt.j2") in message
        assert f"line {line}" in message


def test_a_template_that_is_not_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "receipt.md.j2").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ContentProblem, match=r"receipt\.md\.j2"):
        render(factory.passed(), "md", [tmp_path])


def test_a_missing_template_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(ContentProblem) as caught:
        render(factory.passed(), "html", [tmp_path])
    assert "receipt.html.j2" in caught.value.sentence()
    assert str(tmp_path) in caught.value.sentence()


def test_the_courses_own_template_comes_first(tmp_path: Path) -> None:
    (tmp_path / "receipt.md.j2").write_text("ours: {{ receipt.points }}")
    assert render(factory.passed(), "md", [tmp_path, *TEMPLATES]) == "ours: 100"
    assert render(factory.passed(), "md", [*TEMPLATES, tmp_path]).startswith("# Passed")


def test_a_template_that_forgets_to_escape_is_escaped(tmp_path: Path) -> None:
    (tmp_path / "receipt.html.j2").write_text("<p>{{ receipt.notes[0] }}</p>")
    (tmp_path / "receipt.md.j2").write_text("{{ receipt.notes[0] }}")
    receipt = factory.passed(notes=["<b>\x1b|"])
    assert render(receipt, "html", [tmp_path]) == "<p>&lt;b&gt;␛|</p>"
    assert render(receipt, "md", [tmp_path]) == "&lt;b&gt;␛\\|"


def test_compiled_templates_are_kept_and_used(tmp_path: Path) -> None:
    cache = tmp_path / "cache" / "templates"
    first = render(factory.passed(), "txt", TEMPLATES, cache=cache)
    assert list(cache.iterdir())
    assert render(factory.passed(), "txt", TEMPLATES, cache=cache) == first


def test_a_cache_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    shown = render(factory.passed(), "txt", TEMPLATES, cache=blocked / "templates")
    assert shown == render(factory.passed(), "txt", TEMPLATES)


def test_jinja_and_rich_are_not_loaded_before_they_are_needed() -> None:
    code = (
        "import sys, grader.receipt.render, grader.receipt.store, grader.cli.terminal;"
        "sys.exit(bool({'jinja2', 'rich', 'markupsafe', 'jax', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
