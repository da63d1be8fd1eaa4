"""docs/performance.md and its plots, made of bench/results/: `python -m bench.page`."""

import ast
import json
import statistics
from collections.abc import Iterator
from html import escape
from itertools import groupby
from math import log2
from pathlib import Path
from typing import Any

from bench.turns import RESULTS, ROOT

BENCHMARKS = {
    "synth": "Synthesis",
    "build": "Building and publishing models",
    "review": "Review of a change",
    "deploy": "Deploying to the local SageMaker",
    "cold_start": "Cold start",
    "endpoint": "Invocations",
    "evictions": "Many models on one instance",
}
"""Modules and their titles."""
PAGE = ROOT / "docs" / "performance.md"
PLOTS = ROOT / "docs" / "images"
INTRODUCTION = """\
# Performance

Made by `make bench`, which measures ours and an alternative in turns, on one machine in one run.
`python -m bench.page` makes this page and its plots of [bench/results/](../bench/results). Numbers
are medians of the turns. A factor in parentheses compares a row with the row below it, which does
less or is the alternative: the median of the ratios of neighbouring turns. More calls a second are
better, and less of all else. CPU seconds and milliseconds are of all processes, servers included.
What else the machine did shows in the load average: of two runs, compare factors and not seconds.

Counts do not depend on load, and tests hold them: [calls of jsii for an endpoint, bytes of a
template for a model, processes of a synthesis](../tests/synth/test_counts.py), [processes of a
build and a deploy](../tests/unit/test_process_counts.py), [requests to SSM of an
invocation](../tests/unit/endpoint_client/test_counts.py), and [requests to S3 of a model's
load](../tests/local/test_load_counts.py).
"""
BAR, LABEL, WIDTH, MOST = 14, 360, 760, 5
"""Pixels of a bar's height, of its label and of a plot; powers of two on each side of 1."""


def write() -> None:
    """Write the page and the plots."""
    for path, text in files().items():
        path.write_text(text)


def files() -> dict[Path, str]:
    """Return path -> content of the page and of its plots."""
    contents = {
        name: json.loads(path.read_text())
        for name in BENCHMARKS
        if (path := RESULTS / f"{name}.json").exists()
    }
    sections = [_section(name, content) for name, content in contents.items()]
    plots = {
        PLOTS / f"performance-{name}.svg": plot(content["rows"])
        for name, content in contents.items()
    }
    return {PAGE: "\n".join([INTRODUCTION, *sections]), **plots}


def _section(name: str, content: dict[str, Any]) -> str:
    module = ast.parse(Path(__file__).with_name(f"{name}.py").read_text())
    title = BENCHMARKS[name]
    machine, load = content["machine"], content["load_average"]
    versions = ", ".join(f"{key} {value}" for key, value in content["versions"].items())
    size = "; a quick run: smallest sizes, one turn" if content["quick"] else ""
    return (
        f"## {title}\n\n{ast.get_docstring(module)}\n\n"
        f"`python -m bench {name}`{size}. {content['date'][:10]}, commit `{content['commit']}`, "
        f"{machine['cpus']} CPUs, {machine['memory_gib']} GiB, load average "
        f"{load['before'][0]:.1f} before and {load['after'][0]:.1f} after, "
        f"{content['seconds']} s. {versions}.\n\n"
        f"![Factors of {title.lower()}](images/performance-{name}.svg)\n\n"
        + "\n".join(_table(content["rows"]))
        + "\n"
    )


def _table(rows: list[dict[str, Any]]) -> Iterator[str]:
    for measures, alike in groupby(rows, key=lambda row: tuple(row["turns"][0])):
        yield f"| Case | Side | {' | '.join(measures)} |"
        yield f"| --- | --- |{' --- |' * len(measures)}"
        for row, factors in with_factors(list(alike)):
            cells = [
                _number(statistics.median(turn[measure] for turn in row["turns"]))
                + (f" ({factors[measure]:.2f})" if measure in factors else "")
                for measure in measures
            ]
            yield f"| {row['case']} | {row['side']} | {' | '.join(cells)} |"
        yield ""


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def with_factors(rows: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, float]]]:
    """Yield each row with its factors by measure; the last row of a case has none."""
    for row, below in zip(rows, [*rows[1:], {"case": None}], strict=True):
        factors = {}
        if below["case"] == row["case"]:
            turns = list(zip(row["turns"], below["turns"], strict=False))
            factors = {
                measure: statistics.median(ours[measure] / other[measure] for ours, other in turns)
                for measure in row["turns"][0]
                if all(other.get(measure) for _, other in turns)
            }
        yield row, factors


def plot(rows: list[dict[str, Any]]) -> str:
    """Return a bar for each factor of a row's first measure, from 1 to the left or right, in SVG.

    The axis is logarithmic.
    """
    bars = [
        (f"{row['case']}: {row['side']}", next(iter(factors)), next(iter(factors.values())))
        for row, factors in with_factors(rows)
        if factors
    ]
    unit = (WIDTH - LABEL) / 2 / (MOST + 1)
    middle, height = LABEL + unit * (MOST + 1), BAR * len(bars) * 1.5 + 2 * BAR
    drawn = []
    for number, (label, measure, factor) in enumerate(bars):
        y = BAR * (1.5 * number + 1)
        length = max(-MOST, min(MOST, log2(factor))) * unit if factor > 0 else -MOST * unit
        drawn.append(
            f'<text x="{LABEL - 8}" y="{y + BAR - 3:.0f}" text-anchor="end">{escape(label)}</text>'
            f'<rect x="{middle + min(length, 0):.1f}" y="{y:.0f}" width="{abs(length):.1f}" '
            f'height="{BAR}" fill="#4878a8"/>'
            f'<text x="{WIDTH + 80}" y="{y + BAR - 3:.0f}" text-anchor="end">'
            f"{factor:.2f} x {escape(measure)}</text>"
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH + 90}" height="{height:.0f}" '
        'font-family="sans-serif" font-size="11">\n'
        '<rect width="100%" height="100%" fill="white"/>\n'
        f'<line x1="{middle:.1f}" y1="0" x2="{middle:.1f}" y2="{height:.0f}" stroke="black"/>\n'
        + "\n".join(drawn)
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    write()
