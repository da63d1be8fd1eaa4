"""The dashboard of a real local SageMaker with Triton."""

from pathlib import Path

from playwright.sync_api import Browser

from tests.browser.busy_aws import MODELS, busy_aws


def test_page_shows_real_activity(browser: Browser, tmp_path: Path) -> None:
    with busy_aws(tmp_path) as (url, load):
        page = browser.new_page()
        page.set_default_timeout(0)
        page.goto(url)
        page.locator("#about").get_by_text("prod-text is InService").wait_for()
        assert page.locator(".instance").count() == 1
        page.get_by_text("No calls yet", exact=False).wait_for()
        for model in MODELS:
            assert load.call(model) == 200
        names = page.locator(".names li")
        for model, state in zip(MODELS, ("evicted", *["loaded"] * 3), strict=True):
            names.and_(page.locator(f"[aria-label^='{model}: {state}']")).wait_for()
        idle = " on the volume, 0 calls in progress, 1 answered"
        page.locator(f".names [aria-label*='{idle}']").first.wait_for()
        evicted = page.locator("#events [data-kind='model evicted'] p").first
        assert "minilm was unloaded in" in evicted.inner_text()
        assert "to make room for clip." in evicted.inner_text()
        load.invalid_rate = 5.0
        page.get_by_text("▲ 1 in ALARM").wait_for()
        load.invalid_rate = 0.0
        load.rates = {"clip": 30.0}
        page.locator("#events [data-kind='scaling']").first.wait_for()
        page.locator(".instance:nth-child(2)[data-state='serving']").wait_for()
