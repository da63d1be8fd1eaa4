"""The generator of docs/performance.md."""

from typing import Any
from xml.etree import ElementTree

import pytest

from tools.bench import page


def row(case: str, side: str, *seconds: float) -> dict[str, Any]:
    return {"case": case, "side": side, "turns": [{"wall s": wall} for wall in seconds]}


def test_page_shows_each_plot() -> None:
    files = page.render_files()
    text = files.pop(page.PAGE)
    assert len(files) == len(page.BENCHMARKS)
    for path in files:
        assert f"(images/{path.name})" in text


def test_factor_is_the_median_ratio_to_the_next_row() -> None:
    rows = [
        row("a", "client", 9, 8, 30),
        row("a", "boto3", 3, 4, 5),
        row("a", "raw", 1, 1, 1),
        row("b", "build", 2),
    ]
    factors = [factors for _, factors in page.with_factors(rows)]
    assert factors == [{"wall s": 3}, {"wall s": 4}, {}, {}]


def test_plot_has_a_bar_to_the_right_for_factors_above_one() -> None:
    rows = [row("a", "ours", 4), row("a", "floor", 1), row("b", "ours", 1), row("b", "tar", 4)]
    svg = ElementTree.fromstring(page.render_plot(rows))
    right, left = svg.findall("{*}rect")[1:]
    middle = svg.find("{*}line")
    assert middle is not None
    assert right.get("x") == middle.get("x1")
    assert float(left.get("x", 0)) + float(left.get("width", 0)) == pytest.approx(
        float(middle.get("x1", 0))
    )
    assert right.get("width") == left.get("width")
