"""The dashboard in a real browser, with states that the tests set (`make browser-test`)."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page

from local_sagemaker.dashboard_events import EventKind
from tests.browser.chromium import SCHEMES, WIDTHS
from tests.browser.fake_run import (
    NOW,
    FakeRun,
    alarm,
    busy_run,
    endpoint,
    instance,
    instance_id,
    model,
    serve_run,
    variant,
)

EVIL = '<img src=x onerror="window.harmed = true">'
LONG = "prod-" + "embeddings" * 6


def hostile_run() -> FakeRun:
    """Return a run in which every user-defined name is markup or long."""
    run = busy_run()
    bad = instance(3, model(EVIL, 100, target=f"{EVIL}.tar.gz"))
    first = variant(bad, name="v" * 63, instance_type=EVIL)
    run.endpoints.insert(0, endpoint(LONG, first, failure=EVIL, configuration=EVIL))
    run.alarms.append(alarm(EVIL * 3, "ALARM", endpoint=LONG, watches=EVIL, condition=EVIL))
    names = LONG, "v" * 63, instance_id(3), f"{EVIL}.tar.gz"
    run.add_event(EventKind.MODEL_FAILED, EVIL * 5, *names, ago=5)
    run.add_event(EventKind.SCALING, EVIL, *names[:2], ago=4)
    return run


HIDE = """
(hidden) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}
"""


def wait_for_requests(page: Page, run: FakeRun, times: int) -> None:
    """Wait until the page has requested the state `times` times."""
    while len(run.requests) < times:
        page.evaluate("new Promise((done) => setTimeout(done, 50))")


RUNS = {"busy": busy_run, "hostile": hostile_run, "empty": FakeRun}


@pytest.fixture(params=["busy"])
def run(request: pytest.FixtureRequest) -> FakeRun:
    return RUNS[request.param]()


@pytest.fixture
def url(run: FakeRun) -> Iterator[str]:
    with serve_run(run) as url:
        yield url


@pytest.fixture
def page(browser: Browser, url: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page; the test fails on errors and on requests to other hosts."""
    values: dict[str, Any] = getattr(request, "param", {})
    width, scheme = values.get("width", 1600), values.get("scheme", "light")
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.set_default_timeout(0)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    page.on("request", lambda sent: None if sent.url.startswith(url) else errors.append(sent.url))
    page.goto(url)
    page.wait_for_selector("#none:visible, .lane canvas")
    yield page
    assert page.evaluate("window.harmed") is None
    context.close()
    assert errors == []


every_run = pytest.mark.parametrize("run", RUNS, indirect=True)
every_screen = pytest.mark.parametrize(
    "page",
    [{"width": width, "scheme": scheme} for width in WIDTHS for scheme in SCHEMES],
    indirect=True,
    ids=str,
)


@every_run
@every_screen
def test_page_fits_the_screen(page: Page) -> None:
    content_width, window_width = page.evaluate(
        "[document.scrollingElement.scrollWidth, innerWidth]"
    )
    assert content_width <= window_width
    right_edges = page.locator("main *:visible").evaluate_all(
        "all => all.filter((it) => !it.closest('.u-wrap, pre'))"
        ".map((it) => it.getBoundingClientRect().right)"
    )
    assert max(right_edges, default=0) <= window_width


def test_instances_and_models_have_text(page: Page) -> None:
    lanes = page.locator(".instance")
    assert lanes.count() == 2
    first = lanes.nth(0)
    assert first.locator("h4").inner_text().split() == [instance_id(1)[:8], "serving"]
    assert "memory 570 MiB of 900 MiB" in first.locator(".numbers").inner_text()
    messages = first.locator(".names li").evaluate_all("all => all.map((it) => it.ariaLabel)")
    assert messages == [
        "minilm: loaded, 90 MiB on the volume, 1 call in progress, 12 answered",
        "bert: evicted",
        "reranker: loaded, 90 MiB on the volume, 0 calls in progress, 12 answered",
        "clip: loading, 1 call in progress, 0 answered",
    ]


def test_page_requests_only_new_data(page: Page, run: FakeRun) -> None:
    wait_for_requests(page, run, 3)
    assert run.requests[0] == {"after": 0, "since": 0}
    last = run.events.after(0)[-1]["sequence"]
    assert run.requests[2] == {"after": last, "since": int(NOW) - 3}


def test_hidden_page_does_not_poll(page: Page, run: FakeRun) -> None:
    page.evaluate(HIDE, True)
    page.evaluate("new Promise((done) => setTimeout(done, 1200))")
    before = len(run.requests)
    page.evaluate("new Promise((done) => setTimeout(done, 2200))")
    assert len(run.requests) == before
    page.evaluate(HIDE, False)
    wait_for_requests(page, run, before + 1)


def test_lost_connection_is_shown_and_a_new_run_resets_the_page(
    browser: Browser,
) -> None:
    with serve_run(busy_run()) as url:
        page = browser.new_page()
        page.set_default_timeout(0)
        page.goto(url)
        page.wait_for_selector(".lane canvas")
    banner = page.locator("#lost")
    banner.wait_for()
    assert "The local SageMaker has not answered since" in banner.inner_text()
    new_run = FakeRun(started=NOW)
    new_run.endpoints = [endpoint("other", variant(instance(5)))]
    with serve_run(new_run, urlsplit(url).port or 0):
        banner.wait_for(state="hidden")
        page.get_by_text("other is InService", exact=False).wait_for()
        assert page.locator("#events").inner_text() == "No event of these kinds yet."
        assert {"after": 0, "since": 0} in new_run.requests
        page.close()
