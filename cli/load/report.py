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

import local_sagemaker
from cli.load.step import PERCENTILES, LoadStep
from cli.printable import printable

UPLOT = Path(local_sagemaker.__file__).parent / "watch" / "page" / "uplot"
"""The library that draws the page of the local SageMaker, and its licence."""
SATURATED = 0.9
"""Part of a core from which this process, and not the endpoint, may be what limits the rate."""
COLUMNS = "offered/s", "achieved/s", "p50 ms", "p95 ms", "p99 ms", "max ms", "errors"


@dataclass(frozen=True)
class StepTable:
    """A line for each step, as soon as it has ended."""

    level_name: str
    console: Console = field(default_factory=lambda: Console(highlight=False, soft_wrap=True))

    def begin(self) -> None:
        """Print the names of the columns."""
        self.console.print("".join(f"{name:>12}" for name in (self.level_name, *COLUMNS)))

    def show(self, step: LoadStep, broken: str) -> None:
        """Print a step, and why it ends the load."""
        latencies = (f"{step.latency_ms[name]:.1f}" for name in PERCENTILES if step.latency_ms)
        errors = str(sum(step.errors.values()))
        cells = [f"{step.level:.4g}", f"{step.offered_rps:.1f}", f"{step.achieved_rps:.1f}"]
        cells += [*latencies] if step.latency_ms else ["-"] * 4
        line = "".join(f"{cell[:11]:>12}" for cell in (*cells, errors))
        self.console.print(line, style="red" if broken else None)
        for kind, number in step.errors.items():
            self.console.print(f"  {number} {kind}")
        if broken:
            self.console.print(printable(f"  {broken}"), style="red", markup=False)
        if step.generator_cpu > SATURATED:
            self.console.print(
                f"  this process used {step.generator_cpu:.0%} of a core: it may be what limits "
                "the rate",
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
    """Return one page with the steps and their plots, which needs no other file."""
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
    """Return dataclasses as objects, for `json.dumps`; times are ISO 8601."""
    return value.isoformat() if isinstance(value, datetime) else asdict(value)
