"""The report of a change, which is rendered as Markdown and JSON."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import platform_facts
from review.dangers.danger import Danger, EndpointDangers, group_across_endpoints, named
from review.endpoint_changes import EndpointChange
from review.files.changed_code import MAX_FILES
from review.model_changes import ModelChange
from review.money import ROUTINE_CHARGES, CostChange
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
        return [danger for group in self.danger_groups if group.is_open for danger in group.dangers]

    @property
    def changed_endpoints(self) -> list[EndpointChange]:
        """The changed endpoints."""
        return [endpoint for endpoint in self.all_of("endpoints") if endpoint.state != "unchanged"]

    @property
    def endpoint_lines(self) -> list[str]:
        """A line for each change of endpoints, with its cost; equal changes are one line."""
        costs = {cost.endpoint: cost.text for cost in self.changed_costs}
        names: dict[str, list[str]] = {}
        for endpoint in self.changed_endpoints:
            text = endpoint.sentence.removeprefix(f"**{endpoint.name}**: ")
            cost = costs.pop(endpoint.name, "")
            names.setdefault("; ".join(filter(None, (text, cost))), []).append(endpoint.name)
        for name, text in costs.items():  # of endpoints that run until they are deleted
            if text:
                names.setdefault(text, []).append(name)
        return [
            f"{', '.join(f'**{endpoint}**' for endpoint in endpoints)}: {text}"
            for text, endpoints in names.items()
        ]

    @property
    def other_changes(self) -> list[str]:
        """Changes that are not of endpoints: charges by volume, other stacks, data of models."""
        charges = self._charge_lines(self.volume_charges.keys() - ROUTINE_CHARGES)
        names: dict[str, list[str]] = {}
        texts: dict[str, str] = {}
        for stage in self.stages:
            for note in stage.notes:
                name, _, text = note.partition(": ")
                key = re.sub(rf"\b{re.escape(stage.stage)}\b", "STAGE", text)
                names.setdefault(key, []).append(name)
                texts.setdefault(key, text)
        notes = [f"{', '.join(names[key])}: {text}" for key, text in texts.items()]
        return [*charges, *notes, *self.notes]

    @property
    def folded_lines(self) -> list[str]:
        """Lines of the collapsed part, which follow the names of the dangers."""
        prices = platform_facts.prices()
        source = (
            f"USD a month for instances on demand, without requests, storage and builds, at prices "
            f"of {prices.date} ({prices.source})"
        )
        files = self.code_files if len(self.code_files) > MAX_FILES else ()
        charges = self._charge_lines(ROUTINE_CHARGES)
        costs = [source] if self.changed_costs else []
        return [*self.all_of("access"), *charges, *costs, *files]

    def _charge_lines(self, names: Collection[str]) -> list[str]:
        prices = platform_facts.prices().by_volume
        return [
            f"{charge} ({named(causes)}): {prices[charge]}"
            for charge, causes in self.volume_charges.items()
            if charge in names
        ]

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
