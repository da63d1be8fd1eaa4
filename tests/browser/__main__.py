"""Write the images of the local SageMaker's page: `make browser-image`."""

import io
import tempfile
import time
from pathlib import Path

from PIL import Image

from tests.browser.busy_aws import busy_aws
from tests.browser.chromium import chromium

ROOT = Path(__file__).parents[2]
PAGE_IMAGES = ROOT / "local_sagemaker" / "docs" / "images"
WIDTH, HEIGHT = 1200, 960
RECORDED_WIDTH, RECORDED_HEIGHT = 1000, 800

EVERY_SECONDS, FRAME_MS = 5.0, 250
"""Recording interval in seconds, and display time of a frame in milliseconds: 20x playback."""

COLOURS = 32
SCRIPT = (
    (0, {"minilm": 4.0}, 0.0),
    (30, {"minilm": 4.0, "bert": 2.0}, 0.0),
    (60, {"minilm": 12.0, "bert": 6.0, "reranker": 4.0}, 0.0),
    (140, {"minilm": 14.0, "bert": 6.0, "clip": 5.0}, 0.0),
    (200, {"minilm": 12.0, "clip": 5.0}, 3.0),
    (225, {"minilm": 3.0, "clip": 1.0}, 0.0),
)
"""(start second, requests a second by model, invalid requests a second)."""

PICTURED, RECORDED = 215.0, 285.0
"""Seconds after which the screenshot is taken, and the recording ends."""


def record_dashboard_images() -> None:
    """Write page.png and page.gif, of a real load that comes and goes within five minutes."""
    frames: list[Image.Image] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        busy_aws(Path(folder)) as (url, load),
        chromium() as browser,
    ):
        pictured = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        pictured.goto(url)
        shown = browser.new_page(viewport={"width": RECORDED_WIDTH, "height": RECORDED_HEIGHT})
        shown.goto(url)
        begun = time.monotonic()
        while (now := time.monotonic() - begun) < RECORDED:
            _, load.rates, load.wrong = [each for each in SCRIPT if each[0] <= now][-1]
            frames.append(Image.open(io.BytesIO(shown.screenshot())).convert("RGB"))
            if now >= PICTURED > now - EVERY_SECONDS:
                pictured.screenshot(path=PAGE_IMAGES / "page.png")
            next_frame = begun + len(frames) * EVERY_SECONDS
            shown.wait_for_timeout(max(0.0, next_frame - time.monotonic()) * 1000)
    # One palette for all frames, taken from a busy one: keeps the GIF small.
    palette = frames[len(frames) * 3 // 4].quantize(COLOURS, dither=Image.Dither.NONE)
    drawn = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    drawn[0].save(
        PAGE_IMAGES / "page.gif",
        save_all=True,
        append_images=drawn[1:],
        duration=FRAME_MS,
        loop=0,
        optimize=True,
    )


if __name__ == "__main__":
    record_dashboard_images()
