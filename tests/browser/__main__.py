"""Write docs/images/review.png: `make browser-image`."""

import tempfile
from pathlib import Path

from release.review import page
from tests.browser.chromium import chromium
from tests.unit.release.review.pictured import REPORT

IMAGE = Path(__file__).parents[2] / "docs" / "images" / "review.png"
WIDTH = 1200

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        file = Path(folder) / "review.html"
        file.write_text(page.render(REPORT), encoding="utf-8")
        shown = browser.new_page(viewport={"width": WIDTH, "height": 900})
        shown.goto(file.as_uri())
        end = shown.locator("figure.picture").bounding_box()
        assert end
        height = end["y"] + end["height"] + 16
        shown.screenshot(
            path=IMAGE,
            full_page=True,
            clip={"x": 0, "y": 0, "width": WIDTH, "height": height},
        )
