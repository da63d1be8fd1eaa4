"""A browser fixture that the tests of a file share."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.chromium import NoBrowser, chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        with chromium() as browser:
            yield browser
    except NoBrowser as error:
        pytest.fail(str(error))
