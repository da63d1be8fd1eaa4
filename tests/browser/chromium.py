"""Chromium, headless, as the page's readers have it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
"""Programs that `make browser-test` looks for, in this order."""

WIDTHS = (390, 768, 1600)
"""Of a phone, a tablet and a wide screen, in pixels; pages are looked at in each."""

SCHEMES = ("light", "dark")

ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--host-resolver-rules=MAP evil.example 127.0.0.1",
)
"""What lets it run as root in a container, keeps it from asking the network for anything, and gives
an attacker a name that leads to this machine (DNS rebinding)."""


class NoBrowser(Exception):
    """No Chromium is on PATH."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Give a browser with an empty profile for the length of the `with` block. Raises `NoBrowser`.

    Playwright would download one of its own; what is installed is what is tested with.
    """
    program = next((result for name in CHROMIUM if (result := shutil.which(name))), None)
    if program is None:
        raise NoBrowser(
            f"no Chromium on PATH ({', '.join(CHROMIUM)}): on Debian, apt-get install chromium"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*ARGUMENTS])
        yield browser
        browser.close()
