"""The steps of a load: progress, and results as JSON and as an HTML page with plots."""

import argparse
import json
import secrets
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from rich.console import Console

from cli.load.step import PERCENTILES, LoadStep
from review.escaping import printable

UPLOT = Path(__file__).parents[2] / "local_sagemaker" / "watch" / "page" / "uplot"
"""The plot library, with its licence, from the page of the local SageMaker, whose package
is not imported (`cli.local_option`)."""
SATURATED_CORE_SHARE = 0.9
"""Share of a core from which this process may limit the rate, not the endpoint."""
COLUMNS = "offered/s", "achieved/s", "p50 ms", "p95 ms", "p99 ms", "max ms", "errors"


@dataclass(frozen=True)
class StepTable:
    """A table on the console with one line per step."""

    level_name: str
    console: Console = field(default_factory=lambda: Console(highlight=False, soft_wrap=True))

    def print_header(self) -> None:
        """Print the column names."""
        self.console.print("".join(f"{name:>12}" for name in (self.level_name, *COLUMNS)))

    def print_step(self, step: LoadStep, miss_reason: str) -> None:
        """Print a step, and why it misses the objective."""
        latencies = (f"{step.latency_ms[name]:.1f}" for name in PERCENTILES if step.latency_ms)
        errors = str(sum(step.errors.values()))
        cells = [f"{step.level:.4g}", f"{step.offered_rps:.1f}", f"{step.achieved_rps:.1f}"]
        cells += [*latencies] if step.latency_ms else ["-"] * 4
        line = "".join(f"{cell[:11]:>12}" for cell in (*cells, errors))
        self.console.print(line, style="red" if miss_reason else None)
        for kind, number in step.errors.items():
            self.console.print(f"  {number} {kind}")
        if miss_reason:
            self.console.print(printable(f"  {miss_reason}"), style="red", markup=False)
        if step.generator_cpu > SATURATED_CORE_SHARE:
            self.console.print(
                f"  this process used {step.generator_cpu:.0%} of a core: it may limit the rate",
                style="yellow",
            )


def write(options: argparse.Namespace, result: dict[str, Any]) -> None:
    """Write the result of a load to the files of `--json` and `--html`."""
    text = json.dumps(result, indent=2, default=as_json)
    if options.json:
        options.json.write_text(text + "\n")
    if options.html:
        options.html.write_text(html_page(json.loads(text)))


def html_page(result: dict[str, Any]) -> str:
    """Return a self-contained page with the steps and their plots."""
    loader = PackageLoader("cli.load")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    script = (UPLOT / "uPlot.esm.js").read_text().replace("export { uPlot as default };", "")
    return environment.get_template("report.html.j2").render(
        result=result,
        uplot=script,
        style=(UPLOT / "uPlot.min.css").read_text(),
        nonce=secrets.token_urlsafe(),
    )


def as_json(value: Any) -> Any:
    """Convert a dataclass to an object, or a time to ISO 8601, for `json.dumps`."""
    return value.isoformat() if isinstance(value, datetime) else asdict(value)
