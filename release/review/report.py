"""The report of a change, which is rendered as Markdown and JSON."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from release.review.dangers.danger import Danger, EndpointDangers, across_endpoints
from release.review.endpoint_changes import EndpointChange
from release.review.findings import FindingsChange
from release.review.model_changes import ModelChange
from release.review.money import CostChange
from release.review.stage_review import StageReview


@dataclass(frozen=True)
class Gap:
    """A part that was not reviewed, and the reason."""

    what: str
    reason: str


@dataclass(frozen=True)
class ChangeReport:
    """The review of all stages, of files, and of models by their linter.

    `base` is the name of the base, `commits` names the compared commits if they are known.
    `dangers` and `notes` are those of files, `not_judged` names kinds of changed files that no rule
    reads. `gaps` are the parts that could not be reviewed.
    """

    base: str
    stages: tuple[StageReview, ...]
    findings: FindingsChange
    dangers: tuple[Danger, ...] = ()
    notes: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()
    commits: str = ""
    gaps: tuple[Gap, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether everything was compared: otherwise dangers may be missing."""
        return not self.gaps

    @property
    def causes(self) -> list[EndpointDangers]:
        """The dangers of files and of all stages, each cause once."""
        return across_endpoints([*self.dangers, *self.all_of("dangers")])

    @property
    def open_dangers(self) -> list[Danger]:
        """The dangers without an acknowledgement."""
        every = (danger for cause in self.causes for danger in cause.dangers)
        return [danger for danger in every if danger.acknowledgement is None]

    @property
    def changed_endpoints(self) -> list[EndpointChange]:
        """The endpoints that change."""
        return [endpoint for endpoint in self.all_of("endpoints") if endpoint.state != "unchanged"]

    @property
    def changed_models(self) -> list[ModelChange]:
        """The models that change."""
        return [model for model in self.all_of("models") if model.is_change]

    @property
    def changed_costs(self) -> list[CostChange]:
        """The costs that change, and those of endpoints that have left the app and run on."""
        return [cost for cost in self.all_of("costs") if cost.before != cost.after or cost.runs_on]

    def all_of(self, part: str) -> Iterator[Any]:
        """Yield each item of a part of every stage."""
        for stage in self.stages:
            yield from getattr(stage, part)
