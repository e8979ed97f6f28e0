"""A real headless browser for tests of pages: fixtures, and what every page must keep to."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest


def chromium_path() -> str:
    """Returns where Chromium is; skips the test without it, unless CREPE_REQUIRE_BROWSER=1 makes that a failure."""
    found = shutil.which("chromium")
    if found:
        return found
    message = "chromium is not installed: apt-get install chromium"
    if os.environ.get("CREPE_REQUIRE_BROWSER") == "1":
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="module")
def browser() -> Iterator:
    """Headless Chromium."""
    path = chromium_path()
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


class Watch:
    """What a page asked for and complained about.

    Attributes:
        requests: addresses, data URIs left out.
        faults: errors of the console and of scripts.
    """

    def __init__(self, page):
        self.requests: list[str] = []
        self.faults: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: message.type == "error" and self.faults.append(message.text))
        page.on("pageerror", lambda error: self.faults.append(str(error)))

    def assert_quiet(self, path: Path) -> None:
        """Asserts that the page asked for nothing but itself, and complained about nothing."""
        own = {path.as_uri()}
        assert {url for url in self.requests if not url.startswith(("data:", "blob:"))} <= own
        assert self.faults == []


def assert_no_sideways_scrolling(page) -> None:
    """Asserts that a page is not wider than its window."""
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"{wide} pixels stand out to the right"
