"""What of a report is shown, in the order in which a reader needs it: what changes, and no more."""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import platform_facts
from release.review.danger_groups import DangerGroup, grouped
from release.review.endpoint_changes import EndpointChange
from release.review.findings import FindingsChange, joined
from release.review.model_changes import ModelChange
from release.review.money import CostChange, Total, total
from release.review.report import Report, StageReview
from release.review.summary import changed_costs, summary


@dataclass(frozen=True)
class CostRow:
    """USD a month of an endpoint, as text: at the minimum and the maximum of its instances."""

    endpoint: str
    least: str
    most: str


@dataclass(frozen=True)
class Shown:
    """A report as templates read it."""

    report: Report

    @cached_property
    def summary(self) -> str:
        """The first line."""
        return summary(self.report)

    @property
    def commits(self) -> str:
        """Which commits are compared, empty where it is not known."""
        commits = self.report.commits
        names = [name[:12] for name in (commits.base, commits.head) if name]
        more = ", with changes that are not committed" if commits.dirty else ""
        return f"{' -> '.join(names)}{more}" if commits.head else ""

    @cached_property
    def dangers(self) -> list[DangerGroup]:
        """The dangers by cause, those that nobody acknowledged first."""
        return grouped(self.report.every_danger)

    @property
    def alone(self) -> list[str]:
        """The stages of which only the head is shown."""
        return [stage.stage for stage in self.report.stages if stage.no_base is not None]

    def endpoints(self, stage: StageReview) -> list[tuple[EndpointChange, str]]:
        """Return the endpoints of a stage that change, each with its sentence."""
        pairs = zip(stage.endpoints, stage.sentences, strict=True)
        return [pair for pair in pairs if pair[0].state != "unchanged"]

    @cached_property
    def sentences(self) -> list[str]:
        """A sentence for each endpoint that changes."""
        return [text for stage in self.report.stages for _, text in self.endpoints(stage)]

    @cached_property
    def models(self) -> list[ModelChange]:
        """The models that change."""
        every = (model for stage in self.report.stages for model in stage.models)
        return [model for model in every if model.state != "unchanged" or model.breaking]

    @property
    def breaking(self) -> list[str]:
        """What clients must change."""
        return [
            f"**breaking for clients of {model.model} on {model.endpoint}**: {line}"
            for model in self.models
            for line in model.breaking
        ]

    @property
    def notes(self) -> list[str]:
        """What a reviewer should know, and nobody must acknowledge."""
        stages = chain.from_iterable(stage.notes for stage in self.report.stages)
        return [*stages, *self.report.notes]

    @cached_property
    def costs(self) -> list[CostRow]:
        """All together, where that is more than one, and each endpoint whose costs change."""
        changed = changed_costs(self.report)
        rows = [_row(_name(cost), [cost]) for cost in changed]
        return [_row("together", changed), *rows] if len(rows) > 1 else rows

    @property
    def prices(self) -> str:
        """Where prices are from, and what has none."""
        prices = platform_facts.prices()
        sides = [side for cost in changed_costs(self.report) for side in (cost.before, cost.after)]
        unknown = sorted({name for side in sides if side for name in side.unknown})
        missing = f" Not priced: {'; '.join(unknown)}." if unknown else ""
        return (
            f"USD a month for instances on demand, by prices of {prices.date} ({prices.source}). "
            f"Requests, storage and builds are not in it.{missing}"
        )

    @property
    def access(self) -> list[str]:
        """What new roles and resources may do."""
        return [line for stage in self.report.stages for line in stage.access]

    @cached_property
    def findings(self) -> FindingsChange:
        """What linters find."""
        return joined([self.report.findings, *(stage.findings for stage in self.report.stages)])

    @cached_property
    def acknowledged(self) -> FindingsChange:
        """What cdk-nag finds and the app acknowledges."""
        return joined(stage.acknowledged for stage in self.report.stages)

    @property
    def differences(self) -> list[tuple[str, str]]:
        """Title and text of each stack's difference."""
        return [
            (_title(stage, stack.stack, len(stack.changes)), stack.text.strip("\n"))
            for stage in self.report.stages
            for stack in stage.stacks
        ]


def _name(cost: CostChange) -> str:
    return f"{cost.endpoint} (runs on until it is deleted)" if cost.runs_on else cost.endpoint


def _row(name: str, costs: list[CostChange]) -> CostRow:
    least, most = (
        _arrow(
            total((cost.before for cost in costs), amount),
            total((cost.after for cost in costs), amount),
        )
        for amount in ("minimum", "maximum")
    )
    return CostRow(name, least, most)


def _title(stage: StageReview, stack: str, count: int) -> str:
    stays = ", which stay: the stack is no longer in the app" if stack in stage.left else ""
    return f"{stack}: {count} resource{'' if count == 1 else 's'}{stays}"


def _arrow(before: Total, after: Total) -> str:
    if before == after:
        return _amount(after)
    change = f" ({after.usd - before.usd:+,.0f})" if before.complete and after.complete else ""
    return f"{_amount(before)} → {_amount(after)}{change}"


def _amount(amount: Total) -> str:
    """Return an amount; of one that is not complete, no number that reads as all of it."""
    if amount.complete:
        return f"{amount.usd:,.0f}"
    return f"more than {amount.usd:,.0f}" if amount.usd else "no price"
