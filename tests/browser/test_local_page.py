"""The dashboard in a real browser, with states that the tests set (`make browser-test`)."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from local_sagemaker.dashboard_events import EventKind
from tests.browser.chromium import SCHEMES, WIDTHS
from tests.browser.fake_run import (
    DIGEST,
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
from tests.browser.text_contrasts import CONTRASTS, MIN_CONTRAST

EVIL = '<img src=x onerror="window.harmed = true">'
LONG = "prod-" + "embeddings" * 6

FOCUSED = """
() => {
  const element = document.activeElement, box = element.getBoundingClientRect();
  return {
    name: element.id || element.className || element.parentElement.textContent.trim(),
    outlined: getComputedStyle(element).outlineStyle !== "none",
    visible: box.width > 0 && box.bottom > 0 && box.top < innerHeight,
  };
}
"""


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


@every_run
@every_screen
def test_text_contrast(page: Page) -> None:
    text_contrasts = page.evaluate(CONTRASTS, "body > header, main, #lost")
    assert len(text_contrasts) > 5
    assert [contrast for contrast in text_contrasts if contrast[1] < MIN_CONTRAST] == []


@pytest.mark.parametrize("run", ["empty"], indirect=True)
def test_page_without_endpoints_shows_commands(page: Page) -> None:
    message = page.locator("#none").inner_text()
    assert "./tritonsm deploy local --local" in message
    assert "./tritonsm invoke local text minilm --input TEXT=hello --local" in message


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


def test_components_and_copies_are_shown(page: Page, run: FakeRun) -> None:
    scaling = {
        "min": 0,
        "max": 4,
        "policies": [
            {
                "name": "calls",
                "metric": "SageMakerInferenceComponentInvocationsPerCopy",
                "target": 60.0,
                "value": 12.0,
            }
        ],
    }
    component = {
        "name": "twice",
        "status": "Updating",
        "failure": None,
        "current_count": 1,
        "desired_count": 2,
        "scaling": scaling,
    }
    hosting = variant(
        instance(9, model("twice/1", 30, target="twice/1")),
        container_mode=None,
        components=[component],
    )
    run.endpoints = [endpoint("prod-zero", hosting)]
    expect(page.locator(".variant .facts")).to_have_text(
        "ml.g5.xlarge · inference components · 1 instance · twice: Updating, 1 of 2 copies, scales "
        "from 0 to 4, InvocationsPerCopy 12, target 60"
    )
    expect(page.locator(".instance .names .name")).to_have_text(["twice/1"])


def test_endpoint_is_selected_by_key_or_click(page: Page) -> None:
    page.keyboard.press("2")
    assert page.locator("#about").inner_text().startswith("prod-vision is Updating")
    titles = page.locator(".variant h3").all_inner_texts()
    assert titles == ["Blue", "Green"]
    page.get_by_role("button", name="prod-text").click()
    assert page.locator("#about").inner_text().startswith("prod-text is InService")
    assert page.locator(".endpoint[aria-current] strong").inner_text() == "prod-text"


def test_tab_order_and_visible_focus(page: Page) -> None:
    observed = []
    for _ in range(11):
        page.keyboard.press("Tab")
        result = page.evaluate(FOCUSED)
        assert (result["outlined"], result["visible"]) == (True, True), result
        observed.append(result["name"])
    assert observed[:6] == ["skip", "pause", "help", "endpoint", "endpoint", "timeline"]
    assert observed[6:] == ["endpoints", "instances", "models", "scaling", "alarms"]


def test_arrow_keys_move_the_time_cursor(page: Page) -> None:
    page.locator("#timeline").focus()
    page.keyboard.press(" ")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    timeline = page.locator("#timeline")
    message = timeline.get_attribute("aria-valuetext")
    assert message
    assert message.startswith("At ")
    assert " calls, " in message
    assert message == page.locator("#readout").inner_text()
    assert page.locator("#cursor").is_visible()
    page.keyboard.press("Home")
    assert timeline.get_attribute("aria-valuenow") == "0"
    page.keyboard.press("End")
    assert page.locator("#readout").inner_text().startswith("Paused at ")
    page.keyboard.press(" ")
    assert page.locator("#readout").inner_text().startswith("Now, ")


def test_events_are_sorted_and_filtered_by_kind(page: Page) -> None:
    kinds = page.locator("#events .kind").all_inner_texts()
    assert kinds[:2] == ["● model loaded", "▲ alarm"]
    page.get_by_role("checkbox", name="models").uncheck()
    kinds = page.locator("#events .kind").all_inner_texts()
    assert kinds[:2] == ["▲ alarm", "● instance healthy"]
    for group in ("endpoints", "instances", "scaling", "alarms"):
        page.get_by_role("checkbox", name=group).uncheck()
    assert page.locator("#events").inner_text() == "No event of these kinds yet."


def test_new_events_appear_and_important_ones_are_announced(page: Page, run: FakeRun) -> None:
    assert page.locator("#announcement").inner_text() == ""
    names = "prod-text", "AllTraffic"
    run.now += 1
    run.add_event(
        EventKind.MODEL_LOADED,
        "clip was loaded.",
        *names,
        instance_id(1),
        f"clip-{DIGEST}.tar.gz",
    )
    run.add_event(
        EventKind.SCALING, "Setting desired instance count to 3 (InProgress): why", *names
    )
    page.get_by_text("Setting desired instance count to 3", exact=False).first.wait_for()
    message = page.locator("#announcement")
    assert message.get_attribute("aria-live") == "polite"
    assert message.inner_text() == "Setting desired instance count to 3 (InProgress): why"
    page.locator("#events").get_by_text("clip was loaded.").wait_for()


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


def test_visible_page_does_not_start_a_second_request(page: Page) -> None:
    page.evaluate(
        "() => { window.requests = 0; fetch = () => (requests += 1, new Promise(() => {})); }"
    )
    while not page.evaluate("requests"):
        page.evaluate("new Promise((done) => setTimeout(done, 50))")
    for hidden in (True, False):
        page.evaluate(HIDE, hidden)
    assert page.evaluate("requests") == 1


def test_repeated_state_adds_no_duplicates(page: Page) -> None:
    once, twice = page.evaluate(
        """
        async () => {
          const { Past } = await import(new URL("past.js", location));
          const state = await (await fetch("state?after=0&since=0")).json();
          const past = new Past();
          return [1, 2].map(() => {
            past.add(state);
            const instances = [...past.instances.values()];
            const models = instances.flatMap(({ models }) => [...models.values()]);
            return [past.events.length, models.map(({ spans }) => spans.length)];
          });
        }
        """
    )
    assert once[0] > 0
    assert twice == once


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
