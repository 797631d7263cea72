"""The report in a real browser, headless, driven over a pipe by Chrome's own protocol."""

from __future__ import annotations

import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from grader.gradebook.report import report
from tests.gradebook.factory import large, small

TEMPLATES = [Path(__file__).parents[2] / "templates"]
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-pipe",
)  # fmt: skip
# The browser reads commands from descriptor 3 and answers on 4.
START = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(n), fcntl.F_DUPFD, 10) for n in sys.argv[1:3]]
for place, end in zip((3, 4), ends):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""
PATIENCE_S = 60.0

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not BROWSER, reason="no Chromium is installed"),
    pytest.mark.skipif(sys.platform == "win32", reason="the pipe is handed over by descriptor"),
]


class Refused(Exception):
    """The browser answered a command with an error."""


class Browser:
    """One page in a headless browser; what the console and the network said is in `events`."""

    def __init__(self, profile: Path) -> None:
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, str(theirs_in), str(theirs_out), BROWSER, *FLAGS,
             f"--user-data-dir={profile}"],
            pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        self._numbers = itertools.count(1)
        self._rest = b""
        self.events: list[dict[str, Any]] = []
        self._session = ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the answer to one command."""
        number = next(self._numbers)
        command = {"id": number, "method": method, "params": params}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._out, json.dumps(command).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == number:
                if "error" in message:
                    raise Refused(message)
                answer: dict[str, Any] = message["result"]
                return answer
            self.events.append(message)

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], end - time.monotonic())
            data = os.read(self._in, 1 << 16) if ready else b""
            assert data, "the browser has gone quiet"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def open(self, page: Path, width: int = 1280, **media: str) -> None:
        """Load a page and wait until it stands."""
        features = [{"name": name.replace("_", "-"), "value": v} for name, v in media.items()]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                  deviceScaleFactor=1, mobile=False)  # fmt: skip
        self.events.clear()
        self.call("Page.navigate", url=page.as_uri())
        self.wait("document.readyState === 'complete'")

    def js(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, expression: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            # In the middle of a navigation there is no page to ask.
            with suppress(Refused):
                if self.js(expression):
                    return
            time.sleep(0.02)
        pytest.fail(f"never came true: {expression}")

    def key(self, key: str, code: int, text: str = "") -> None:
        """Press and release one key."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, text=text,
                      windowsVirtualKeyCode=code)  # fmt: skip

    def complaints(self) -> list[Any]:
        """Return the errors and warnings that the page caused, and every request it made."""
        said = []
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
                said.append(params)
            if method == "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith(("file:", "data:")):
                    said.append(url)
        return said

    def close(self) -> None:
        self._session = ""
        try:
            self.call("Browser.close")
            self._process.wait(20)
        except (AssertionError, Refused, OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    one = Browser(tmp_path_factory.mktemp("profile"))
    yield one
    one.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("results") / "report.html"
    place.write_text(report(small(), TEMPLATES), encoding="utf-8")
    receipt = place.parent / "receipts" / "ada" / "ada_lovelace.html"
    receipt.parent.mkdir(parents=True)
    receipt.write_text("<title>Receipt of Ada</title>", encoding="utf-8")
    return place


NAMES = (
    "[...document.querySelectorAll('#learners tbody tr:not([hidden]) th')].map(e => e.dataset.t)"
)
KEYS = (
    "[...document.querySelectorAll('#learners tbody tr:not([hidden]) th span')]"
    ".map(e => e.textContent)"
)


def head(name: str) -> str:
    return (
        "[...document.querySelectorAll('#learners thead th')]"
        f".find(e => e.textContent.startsWith('{name}'))"
    )


def test_nothing_is_complained_about_and_nothing_is_fetched(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.complaints() == []
    assert browser.js("document.title") == "Class report: Communication-efficient algorithms"
    assert browser.js("getComputedStyle(document.querySelector('.tiles')).display") == "grid"


def test_a_column_sorts_both_ways_and_says_so(browser: Browser, page: Path) -> None:
    browser.open(page)
    button, sort = f"{head('Points')}.querySelector('button')", f"{head('Points')}.ariaSort"
    browser.js(f"{button}.click()")
    assert browser.js(sort) == "ascending"
    assert browser.js(KEYS)[-1] == "ada"
    browser.js(f"{button}.click()")
    assert browser.js(sort) == "descending"
    assert browser.js(KEYS)[:4] == ["ada", "blaise", "evil", "chen"]
    assert browser.js("document.querySelectorAll('#learners [aria-sort]').length") == 1


def test_the_keyboard_alone_sorts(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.js("document.getElementById('only').focus()")
    browser.key("Tab", 9)
    browser.key("Tab", 9)
    assert browser.js("document.activeElement.textContent") == "Learner"
    browser.key("Enter", 13, "\r")
    assert browser.js(f"{head('Learner')}.ariaSort") == "descending"
    assert browser.js(KEYS)[0] == "zora"


def test_searching_shows_fewer_rows_and_tells_how_many(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.js("document.getElementById('told').textContent") == "6 of 6 learners shown"
    browser.js("document.getElementById('find').focus()")
    browser.call("Input.insertText", text="BITS blaise")
    assert browser.js(KEYS) == ["blaise"]
    assert browser.js("document.getElementById('told').textContent") == "1 of 6 learners shown"


def test_a_result_can_be_chosen(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.js(
        "{const only = document.getElementById('only'); only.value = 'missing';"
        "only.dispatchEvent(new Event('change'));}"
    )
    assert browser.js(KEYS) == ["mary"]


def test_a_name_leads_to_the_receipt(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.js("document.querySelector('#learners tbody a').click()")
    browser.wait("document.title === 'Receipt of Ada'")


def test_a_hostile_name_is_only_text(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.js(NAMES)[3] == '=HYPERLINK("http://x","<script>alert(1)</script>")'
    assert browser.js("document.scripts.length") == 1
    assert browser.js("document.images.length") == 0


@pytest.mark.parametrize("width", [320, 360, 768, 1280])
def test_the_page_is_never_wider_than_the_window(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width)
    assert browser.js("document.documentElement.scrollWidth") <= width


def contrast(one: list[float], two: list[float]) -> float:
    def light(colour: list[float]) -> float:
        parts = [c / 255 for c in colour[:3]]
        line = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * line[0] + 0.7152 * line[1] + 0.0722 * line[2]

    high, low = sorted((light(one), light(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_their_ground(browser: Browser, page: Path, scheme: str) -> None:
    browser.open(page, prefers_color_scheme=scheme)
    colours = browser.js(
        """[...document.querySelectorAll('p, th, td, .mark, .soft, .tag, dd, dt, h1, small, label')]
        .filter(e => e.checkVisibility() && e.textContent.trim()).map(e => {
          const read = (of, name) => getComputedStyle(of)[name].match(/[\\d.]+/g).map(Number);
          let ground = e;
          while (read(ground, 'backgroundColor')[3] === 0) ground = ground.parentElement;
          return [read(e, 'color'), read(ground, 'backgroundColor'), e.textContent];
        })"""
    )
    assert len(colours) > 100
    assert [text for ink, ground, text in colours if contrast(ink, ground) < 4.5] == []


def test_without_scripts_the_whole_table_is_there(browser: Browser, page: Path) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page)
        assert len(browser.js(KEYS)) == 6
        assert browser.js("document.querySelectorAll('button').length") == 0
        assert browser.js("document.getElementById('tools').checkVisibility()") is False
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_a_thousand_rows_sort_and_filter_at_once(browser: Browser, tmp_path: Path) -> None:
    place = tmp_path / "report.html"
    place.write_text(report(large(1000), TEMPLATES), encoding="utf-8")
    browser.open(place)
    taken = browser.js(
        "(() => { const start = performance.now();"
        f"{head('Points')}.querySelector('button').click();"
        "const find = document.getElementById('find'); find.value = 'number0007';"
        "find.dispatchEvent(new Event('input')); return performance.now() - start; })()"
    )
    assert browser.js(KEYS) == ["p0007"]
    assert taken < 2000
    assert browser.complaints() == []
