"""Creation of the dashboard images in the documentation: `make browser-image`."""

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

INTERVAL_SECONDS, FRAME_MS = 15.0, 750
"""Recording interval in seconds, and display time of a frame in milliseconds: 20x playback."""

COLOURS = 128
SCRIPT = (
    (0, {"minilm": 4.0}, 0.0),
    (20, {"minilm": 4.0, "bert": 2.0}, 0.0),
    (35, {"minilm": 4.0, "bert": 2.0, "reranker": 1.0}, 0.0),
    (50, {"minilm": 4.0, "clip": 2.0}, 0.0),  # the fourth model of one instance: one is evicted
    (75, {"minilm": 12.0, "bert": 6.0, "clip": 4.0}, 0.0),
    (140, {"minilm": 14.0, "bert": 6.0, "reranker": 5.0}, 0.0),
    (200, {"minilm": 12.0, "reranker": 5.0}, 3.0),
    (225, {"minilm": 3.0, "reranker": 1.0}, 0.0),
)
"""(start second, requests a second by model, invalid requests a second)."""

SCREENSHOT_SECONDS, RECORDING_SECONDS = 215.0, 285.0
"""Time of the screenshot and end of the recording, in seconds."""


def record_dashboard_images() -> None:
    """Write page.png and page.gif under a real load that rises and falls within five minutes."""
    frames: list[Image.Image] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        busy_aws(Path(folder)) as (url, load),
        chromium() as browser,
    ):
        screenshot_page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        screenshot_page.goto(url)
        recorded_page = browser.new_page(
            viewport={"width": RECORDED_WIDTH, "height": RECORDED_HEIGHT}
        )
        recorded_page.goto(url)
        start = time.monotonic()
        while (now := time.monotonic() - start) < RECORDING_SECONDS:
            _, load.rates, load.invalid_rate = [step for step in SCRIPT if step[0] <= now][-1]
            frames.append(Image.open(io.BytesIO(recorded_page.screenshot())).convert("RGB"))
            if now >= SCREENSHOT_SECONDS > now - INTERVAL_SECONDS:
                screenshot_page.screenshot(path=PAGE_IMAGES / "page.png")
            next_frame = start + len(frames) * INTERVAL_SECONDS
            recorded_page.wait_for_timeout(max(0.0, next_frame - time.monotonic()) * 1000)
    # One palette for all frames, from a frame with many colours: keeps the GIF small.
    # MAXCOVERAGE keeps the colours of few pixels, such as the red of an alarm.
    palette = frames[len(frames) * 3 // 4].quantize(
        COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
    )
    gif_frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    gif_frames[0].save(
        PAGE_IMAGES / "page.gif",
        save_all=True,
        append_images=gif_frames[1:],
        duration=FRAME_MS,
        loop=0,
        optimize=True,
    )


if __name__ == "__main__":
    record_dashboard_images()
