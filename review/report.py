"""The report of a change, which is rendered as Markdown and JSON."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from review.dangers.danger import Danger, EndpointDangers, group_across_endpoints
from review.endpoint_changes import EndpointChange
from review.model_changes import ModelChange
from review.money import CostChange
from review.stage_review import StageReview


@dataclass(frozen=True)
class Gap:
    """A part of the change that was not reviewed, and the reason."""

    part: str
    reason: str


@dataclass(frozen=True)
class ChangeReport:
    """The review of all stages and files.

    base: name of the base.
    dangers, notes: dangers and other changes of files in the repository.
    code: a line for each package with changed code, which people judge.
    code_files: a line for each file of changed code.
    commits: the compared commits, empty if unknown.
    gaps: parts that could not be reviewed.
    """

    base: str
    stages: tuple[StageReview, ...]
    dangers: tuple[Danger, ...] = ()
    notes: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    code_files: tuple[str, ...] = ()
    commits: str = ""
    gaps: tuple[Gap, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether everything was compared; if not, dangers may be missing."""
        return not self.gaps

    @property
    def danger_groups(self) -> list[EndpointDangers]:
        """The dangers of files and of all stages, grouped across endpoints."""
        return group_across_endpoints([*self.dangers, *self.all_of("dangers")])

    @property
    def open_dangers(self) -> list[Danger]:
        """The dangers that need an acknowledgement and have none."""
        dangers = (danger for group in self.danger_groups for danger in group.dangers)
        return [d for d in dangers if d.acknowledgement is None and not d.advisory]

    @property
    def changed_endpoints(self) -> list[EndpointChange]:
        """The changed endpoints."""
        return [endpoint for endpoint in self.all_of("endpoints") if endpoint.state != "unchanged"]

    @property
    def endpoint_lines(self) -> list[str]:
        """A line for each change of endpoints; equal changes are one line."""
        names: dict[str, list[str]] = {}
        for endpoint in self.changed_endpoints:
            text = endpoint.sentence.removeprefix(f"**{endpoint.name}**: ")
            names.setdefault(text, []).append(f"**{endpoint.name}**")
        return [f"{', '.join(endpoints)}: {text}" for text, endpoints in names.items()]

    @property
    def changed_models(self) -> list[ModelChange]:
        """The changed models."""
        return [model for model in self.all_of("models") if model.is_change]

    @property
    def changed_costs(self) -> list[CostChange]:
        """The costs that change, and the costs of removed endpoints that still run."""
        return [
            cost for cost in self.all_of("costs") if cost.before != cost.after or cost.keeps_running
        ]

    @property
    def volume_charges(self) -> dict[str, list[str]]:
        """Charge by volume -> the endpoints or models that cause it."""
        causes: dict[str, list[str]] = {}
        for charge in self.all_of("charges"):
            causes.setdefault(charge.charge, []).append(charge.cause)
        return {charge: list(dict.fromkeys(names)) for charge, names in causes.items()}

    def all_of(self, attribute: str) -> Iterator[Any]:
        """Yield the items of an attribute of every stage review."""
        for stage in self.stages:
            yield from getattr(stage, attribute)
