"""The portfolio's page in a real browser: nothing fetched, nothing said, nothing cut off."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.portfolio import page
from grader.portfolio.gather import Attempt
from tests.gradebook.test_report_browser import BROWSER, Browser
from tests.portfolio.factory import TEMPLATES, failed, passed
from tests.receipt import factory

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not BROWSER, reason="no Chromium is installed"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    one = Browser(tmp_path_factory.mktemp("profile"))
    yield one
    one.close()


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    unbroken = "aVeryLongTitleWithoutAnySpace" * 4
    receipts = [failed(), factory.error(), factory.undecided(), passed()]
    receipts.append(failed(exercise="distributed-09", exercise_title=unbroken))
    forms = {"json": b"{}", "html": b"", "md": b"", "txt": b"", "dsse.json": b""}
    own = [Attempt(one, f"{one.exercise}/{n}", forms) for n, one in enumerate(receipts)]
    place = tmp_path_factory.mktemp("portfolio") / "index.html"
    place.write_text(page.page(own, [], TEMPLATES, page.inside([])), encoding="utf-8")
    return place


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_and_nothing_is_fetched(
    width: int, scheme: str, browser: Browser, shown: Path
) -> None:
    browser.open(shown, width, prefers_color_scheme=scheme)
    assert browser.complaints() == []
    assert browser.js("document.documentElement.scrollWidth") <= width
    dark = browser.js("getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 27)"
    assert dark is (scheme == "dark")


def test_what_a_screen_reader_meets_has_names_and_order(browser: Browser, shown: Path) -> None:
    browser.open(shown, 360)
    levels = browser.js("[...document.querySelectorAll('h1,h2,h3,h4')].map(e => +e.tagName[1])")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    roles = [(one["role"]["value"], one.get("name", {}).get("value", "")) for one in nodes]
    named = [name for role, name in roles if role in ("link", "image", "region")]
    assert named and all(named)
    # Drawn as blocks on a narrow screen, and still a table to who cannot see it.
    assert [role for role, _ in roles].count("table") >= 3
    assert ("columnheader", "Verdict") in roles
    ids = browser.js("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_it_prints_on_few_pages(browser: Browser, shown: Path) -> None:
    browser.open(shown)
    answer = browser.call("Page.printToPDF", preferCSSPageSize=True)
    pages = base64.b64decode(answer["data"]).count(b"/Type /Page\n")
    assert 1 <= pages <= 3
