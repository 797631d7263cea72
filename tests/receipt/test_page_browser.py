"""A receipt's page in a real browser, headless: nothing fetched, nothing hidden, two pages."""

from __future__ import annotations

import base64
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.receipt.render import render
from tests.golden.renew import RECEIPTS, TEMPLATES, golden
from tests.gradebook.test_report_browser import Browser
from tests.gradebook.test_report_browser import pytestmark as _where
from tests.receipt import factory

pytestmark = _where
NAMES = list(RECEIPTS)
AXE = importlib.util.find_spec("axe_core_python")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    one = Browser(tmp_path_factory.mktemp("profile"))
    yield one
    one.close()


def show(browser: Browser, page: Path, width: int = 1280, scheme: str = "light") -> None:
    browser.open(page, width, prefers_color_scheme=scheme)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_complained_about_and_nothing_is_fetched(browser: Browser, name: str) -> None:
    show(browser, golden(name, "html"))
    # Every part opened and every link to a place in the page followed.
    browser.js("document.querySelectorAll('details').forEach(part => part.open = true)")
    browser.js("document.querySelectorAll('a[href^=\"#\"]').forEach(link => link.click())")
    assert browser.complaints() == []
    assert browser.js("performance.getEntriesByType('resource').length") == 0
    assert browser.js("document.scripts.length") == 0


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_wider_than_the_window(browser: Browser, name: str, width: int) -> None:
    show(browser, golden(name, "html"), width)
    assert browser.js("document.documentElement.scrollWidth") <= width
    wide = browser.js(
        "[...document.querySelectorAll('.scroll')]"
        ".filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.ariaLabel)"
    )
    assert wide == []


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.skipif(AXE is None, reason="axe-core-python is not installed (extra `dev`)")
def test_axe_finds_nothing_serious(browser: Browser, name: str, scheme: str, width: int) -> None:
    assert AXE is not None and AXE.submodule_search_locations
    script = Path(AXE.submodule_search_locations[0], "axe.min.js").read_text(encoding="utf-8")
    show(browser, golden(name, "html"), width, scheme)
    browser.js("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert browser.js(script + "; typeof axe") == "object"
    browser.js("window.found = null; axe.run().then(said => { window.found = said; }); 0")
    browser.wait("window.found !== null")
    found = browser.js(
        "window.found.violations.map(v => [v.impact, v.id, v.nodes[0].html, v.nodes[0]"
        ".failureSummary])"
    )
    assert [one for one in found if one[0] in ("serious", "critical")] == []
    assert browser.js("window.found.passes.length") > 20


def _pages(browser: Browser) -> int:
    made = browser.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", base64.b64decode(made["data"])))


@pytest.mark.parametrize("name", NAMES)
def test_it_prints_on_two_pages(browser: Browser, name: str) -> None:
    show(browser, golden(name, "html"), scheme="dark")
    assert 1 <= _pages(browser) <= 2


def test_a_long_submission_does_not_lengthen_the_print(browser: Browser, tmp_path: Path) -> None:
    lines = factory.source(**{f"l{n}": "x" * 300 for n in range(1, 61)}) * 30
    page = tmp_path / "long.html"
    text = render(factory.passed(source_lines=lines), "html", TEMPLATES)
    page.write_text(text, encoding="utf-8")
    show(browser, page, 360)
    assert _pages(browser) <= 2
    browser.js("document.querySelector('.listing details').open = true")
    assert browser.js("document.documentElement.scrollWidth") <= 360


def test_without_scripts_everything_is_there(browser: Browser) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        show(browser, golden("rejected", "html"))
        assert browser.complaints() == []
        assert browser.js("document.querySelectorAll('.map').length") == 5
        assert browser.js("document.querySelectorAll('svg.figure rect').length") == 9
        link: Any = browser.js("document.querySelector('a[download]').href")
        assert link.startswith("data:text/csv;charset=utf-8,bar%2Cvalues")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_the_keyboard_reaches_every_part_that_opens_or_scrolls(browser: Browser) -> None:
    show(browser, golden("rejected", "html"), 360)
    reached = []
    for _ in range(80):
        browser.key("Tab", 9)
        tag = browser.js("document.activeElement.tagName + '.' + document.activeElement.className")
        if tag == "BODY.":
            break
        reached.append(tag)
    scrolling = "[...document.querySelectorAll('pre')].filter(e => e.checkVisibility()).length"
    assert sum(one.startswith("PRE") for one in reached) == browser.js(scrolling)
    assert sum(one.startswith("SUMMARY") for one in reached) == 2
