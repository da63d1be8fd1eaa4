"""A headless Chromium for browser tests."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
"""Program names of Chromium, in the order of preference."""

WIDTHS = (390, 768, 1600)
"""Tested widths in pixels: a phone, a tablet and a wide screen."""

ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--host-resolver-rules=MAP evil.example 127.0.0.1",
)
"""Arguments that allow running as root in a container, disable background requests, and resolve an
attacker's name to this machine (DNS rebinding)."""


class NoBrowser(Exception):
    """No Chromium is on PATH."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a browser with an empty profile. Raise `NoBrowser`.

    The installed program is used instead of Playwright's download.
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
