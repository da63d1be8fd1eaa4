"""The page of `tritonsm load --html` in a real browser."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

from cli.load.report import as_json, html_page
from tests.browser.chromium import WIDTHS
from tests.unit.cli.load.support import step

CACHE = {"LoadedModelCount": 4, "ModelLoadingTime": 6, "ModelUnloadingTime": 2}
TIMES = {"ModelLatency": 9.0, "OverheadLatency": 1.0, "CPUUtilization": 90.0}


def result(**metrics: float) -> dict[str, Any]:
    load_result = {"local-text/AllTraffic": metrics} if metrics else {}
    return {
        "level": "rate",
        "mix": {"local-text/a": 1.0},
        "endpoints": {"local-text": "local-text: 1 x ml.m5.xlarge"},
        "objective": {"p95": 50, "p99": None, "max_errors": 0.01},
        "steps": [step(20, p95=70, metrics=load_result), step(10, metrics=load_result)],
    }


def open_page(
    browser: Browser, tmp_path: Path, load_result: dict[str, Any], width: int = 768
) -> Page:
    """Return the page after checking that it reported no error and made no other request."""
    path = tmp_path / "load.html"
    path.write_text(html_page(json.loads(json.dumps(load_result, default=as_json))))
    page = browser.new_page(viewport={"width": width, "height": 900})
    errors: list[str] = []
    urls: list[str] = []

    def record_error(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            errors.append(message.text)

    page.on("console", record_error)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: urls.append(request.url))
    page.goto(path.as_uri())
    assert (errors, urls) == ([], [path.as_uri()])
    return page


def titles(page: Page) -> list[str]:
    return [str(title) for title in page.locator(".u-title").all_inner_texts()]


def test_all_measurements_are_drawn(browser: Browser, tmp_path: Path) -> None:
    page = open_page(browser, tmp_path, result(**TIMES, **CACHE))
    assert titles(page) == [
        "Latency (ms)",
        "Throughput (requests per second)",
        "Mean time of a request: local-text/AllTraffic (ms)",
        "Models: local-text/AllTraffic (in memory; in the step)",
        "Utilization and cache hits: local-text/AllTraffic (%)",
    ]
    legends = page.locator(".u-legend").all_inner_texts()
    for words, legend in zip(
        (("p50", "p95", "p99", "objective of p95"), ("offered", "achieved"), ("queue",),
         ("in memory", "loaded", "evicted"), ("CPU",)), legends, strict=True,
    ):  # fmt: skip
        assert all(word in legend for word in words), legend
    assert "GPU" not in legends[-1]
    drawn = "canvas => canvas.getContext('2d').getImageData(0, 0, 300, 200).data.some(Boolean)"
    assert all(canvas.evaluate(drawn) for canvas in page.locator("canvas").all())
    page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_load_page_fits_the_window(browser: Browser, tmp_path: Path, width: int) -> None:
    page = open_page(browser, tmp_path, result(**TIMES, **CACHE), width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_injected_script_is_blocked_by_the_content_security_policy(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "load.html"
    load_result = json.loads(json.dumps(result(), default=as_json))
    injected = "<script>document.title = 'injected'</script></body>"
    path.write_text(html_page(load_result).replace("</body>", injected))
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.title() == "Load of local-text"
    page.close()
