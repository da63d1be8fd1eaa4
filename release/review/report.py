"""The review of one change: everything that is rendered."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from release.review.dangers.danger import Danger, EndpointDangers, likewise
from release.review.endpoint_changes import EndpointChange
from release.review.findings import FindingsChange
from release.review.model_changes import ModelChange
from release.review.money import CostChange
from release.review.stage_review import StageReview


@dataclass(frozen=True)
class Gap:
    """What was not reviewed, and the reason."""

    what: str
    reason: str


@dataclass(frozen=True)
class ChangeReport:
    """All stages, and what the model linter finds.

    `base` is what the base is called, `commits` are those that are compared, as far as they are
    known. `dangers` and `notes` are of the repository's files, `not_judged` names those whose
    content no rule reads. `gaps` are what could not be reviewed, and is in nothing else here.
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
        """Whether everything was compared: else, that there is no danger means nothing."""
        return not self.gaps

    @property
    def causes(self) -> list[EndpointDangers]:
        """The dangers of the repository and of all stages, each cause once."""
        return likewise([*self.dangers, *self.all_of("dangers")])

    @property
    def open_dangers(self) -> list[Danger]:
        """The dangers that nobody acknowledged."""
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
        """The costs that change, and those of what runs on after it left."""
        return [cost for cost in self.all_of("costs") if cost.before != cost.after or cost.runs_on]

    def all_of(self, part: str) -> Iterator[Any]:
        """Yield each item of a part of every stage."""
        for stage in self.stages:
            yield from getattr(stage, part)
