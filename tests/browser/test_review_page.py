"""review.html in a real browser: on a phone and on a wide screen, light and dark.

`make browser-test`; a machine without Chromium fails it.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from release.review import page
from release.review.dangers import Danger
from release.review.report import Gap, Report
from tests.browser.chromium import SCHEMES, WIDTHS
from tests.browser.contrasts import CONTRASTS, LEAST
from tests.unit.release.review.pictured import (
    REPORT,
    STAGE,
    changed,
    endpoint,
    model,
    stage,
    variant,
)

LONG = endpoint("prod-" + "embeddings" * 6, variant("ml.p5.48xlarge", (3, 400), name="v" * 63))
REPORTS = {
    "four endpoints": REPORT,
    "long names, many models, and what was not reviewed": replace(
        REPORT,
        stages=(
            stage(
                (changed(None, LONG, "new"),),
                tuple(model(LONG.name, f"model-{it}-" + "x" * 50, "new") for it in range(60)),
                ((Danger("prod", "lost_alarms", "x", "lost-" * 60), None),),
            ),
        ),
        failed=(Gap("dev", "no such commit"),),
    ),
    "without a base": replace(
        REPORT,
        stages=(stage((changed(None, LONG, "not compared"),), no_base="no such commit"),),
    ),
}
FOCUSED = """
() => {
  const it = document.activeElement, place = it.getBoundingClientRect();
  return {
    href: it.getAttribute("href"),
    outlined: getComputedStyle(it).outlineStyle !== "none",
    visible: place.width > 0 && place.top >= 0 && place.bottom <= innerHeight
      && place.left >= 0 && place.right <= innerWidth,
  };
}
"""

SEEN = """
() => {
  const place = document.querySelector(":target").getBoundingClientRect();
  return place.top >= 0 && place.top < innerHeight;
}
"""


@pytest.fixture(params=WIDTHS)
def width(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(params=SCHEMES)
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=REPORTS)
def report(request: pytest.FixtureRequest) -> Report:
    return REPORTS[request.param]


@pytest.fixture
def shown(
    browser: Browser, report: Report, width: int, scheme: str, tmp_path: Path
) -> Iterator[Page]:
    """The page as a file, as a reader opens it; it asks for nothing else."""
    file = tmp_path / "review.html"
    file.write_text(page.render(report), encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    shown = context.new_page()
    asked: list[str] = []
    shown.on("request", lambda it: asked.append(it.url))
    shown.goto(file.as_uri())
    yield shown
    context.close()
    assert asked == [file.as_uri()]


def test_nothing_is_wider_than_the_screen(shown: Page) -> None:
    wide, room = shown.evaluate("[document.scrollingElement.scrollWidth, innerWidth]")
    assert wide <= room
    for selector in (".endpoint", ".endpoint *", ".first *"):
        ends = shown.locator(selector).evaluate_all(
            "all => all.map((it) => it.getBoundingClientRect().right)"
        )
        assert max(ends) <= room


def test_texts_stand_out(shown: Page) -> None:
    contrasts = shown.evaluate(CONTRASTS, ".picture, .first")
    assert len(contrasts) > len(STAGE.endpoints)
    assert [it for it in contrasts if it[1] < LEAST] == []


def test_the_page_is_dark_where_the_reader_s_other_pages_are(shown: Page, scheme: str) -> None:
    painted = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    assert painted == {"light": "rgb(255, 255, 255)", "dark": "rgb(15, 20, 25)"}[scheme]


def test_every_link_is_reached_by_keyboard_is_seen_and_leads_somewhere(shown: Page) -> None:
    wanted = shown.locator("a").evaluate_all("all => all.map((it) => it.getAttribute('href'))")
    for href in wanted:
        shown.keyboard.press("Tab")
        assert shown.evaluate(FOCUSED) == {"href": href, "outlined": True, "visible": True}
    shown.keyboard.press("Enter")
    target = shown.locator(":target")
    assert f"#{target.get_attribute('id')}" == wanted[-1]
    shown.wait_for_function(SEEN, timeout=0)  # it scrolls in the next frame


def test_on_a_phone_tables_scroll_in_themselves(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "review.html"
    file.write_text(page.render(REPORT), encoding="utf-8")
    shown = browser.new_page(viewport={"width": 390, "height": 900})
    shown.goto(file.as_uri())
    wide = shown.locator("table").evaluate_all("all => all.map((it) => it.scrollWidth)")
    shown.close()
    assert max(wide) > 390
