"""Instance counts and cost of a stage from a measured rate, and the file that records it."""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import platform_facts
from cli.errors import CommandError
from cli.load.measurements import FOLDER, LAPTOP
from cli.load.ramp import Objective
from cli.load.report import as_json
from cli.load.step import LoadStep
from platform_facts import HOURS_PER_MONTH
from platform_facts.rules.scaling import SCALING_TARGET_SHARE


@dataclass(frozen=True, kw_only=True)
class Sizing:
    """The sustained load of one instance; `measured_on` is its type, or `laptop`."""

    model: str
    version: str
    endpoint: str
    date: str
    measured_on: str
    instance_type: str
    region: str
    release: str
    production: bool
    objective: Objective
    max_rps: float
    latency_ms: dict[str, float]
    limited_by: str
    reason: str
    steps: list[LoadStep]

    def write(self, models: Path) -> Path:
        """Save the result beside the model, and return the file. Raise `CommandError`."""
        name = self.model  # the folder's name, or that of an alternative such as resnet50-onnx
        while name and not (models / name).is_dir():
            name = name.rpartition("-")[0]
        if not name:
            raise CommandError(f"{models}/{self.model}: no such folder: the result is not saved")
        path = models / name / FOLDER / f"{self.date}-{self.model}-{self.measured_on}.json"
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(json.dumps(asdict(self), indent=2, default=as_json) + "\n")
        return path

    def instances(self, rps: float) -> int:
        """Return the number of instances for a rate, at half of the sustained rate each."""
        return max(
            2 if self.production else 1, math.ceil(rps / (SCALING_TARGET_SHARE * self.max_rps))
        )

    def stage_lines(self, low_rps: float, peak_rps: float) -> list[str]:
        """Return the lines for the stage's file, and a comment with the cost or a warning."""
        name, prices = self.instance_type, platform_facts.prices()
        is_local, hourly = self.measured_on == LAPTOP, prices.of(self.region, name)
        if is_local and platform_facts.instance_type(name).gpu:
            return [f"# measured on a laptop: not valid for the GPU of {name}"]
        low, high = self.instances(low_rps), self.instances(peak_rps)
        if is_local:
            comment = f"measured on a laptop: measure again on {name}"
        elif hourly is None:
            comment = f"no price: {name} in {self.region} is not in the table of {prices.date}"
        else:
            usd = " to ".join(f"{count * hourly * HOURS_PER_MONTH:,.0f}" for count in (low, high))
            comment = f"{usd} USD a month by prices of {prices.date}"
        return [
            f"instance_count: {low}",
            f"scaling: {{ min_count: {low}, max_count: {high}, max_rps: {self.max_rps:g} }}",
            f"# {comment}",
        ]
