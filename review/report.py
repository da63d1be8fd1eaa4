"""The report of a change, which is rendered as Markdown and JSON."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import platform_facts
from review.dangers.danger import Danger, EndpointDangers, group_across_endpoints
from review.endpoint_changes import EndpointChange
from review.files.changed_code import MAX_FILES, UNOWNED_CODE
from review.model_changes import ModelChange
from review.money import ROUTINE_CHARGES, CostChange
from review.stage_review import StageReview
from review.values import first_names


@dataclass(frozen=True)
class Gap:
    """A part of the change that was not reviewed, and the reason."""

    part: str
    reason: str

    @property
    def summary(self) -> str:
        """The first line of the reason, and the number of others."""
        first, *others = self.reason.strip().splitlines() or [""]
        return f"{first} (and {len(others)} more lines in review.json)" if others else first


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
        """The dangers of files and of all stages, grouped across endpoints; not of owners."""
        of_stages = (danger for stage in self.stages for danger in stage.dangers)
        return group_across_endpoints(
            danger for danger in (*self.dangers, *of_stages) if danger.rule != UNOWNED_CODE
        )

    @property
    def unowned_code(self) -> list[EndpointDangers]:
        """The changed code that nobody has to approve, which no review passes."""
        return group_across_endpoints(
            danger for danger in self.dangers if danger.rule == UNOWNED_CODE
        )

    @property
    def open_groups(self) -> list[EndpointDangers]:
        """The groups of dangers that need an acknowledgement and have none."""
        return [group for group in (*self.danger_groups, *self.unowned_code) if group.is_open]

    @property
    def open_dangers(self) -> list[Danger]:
        """The dangers that need an acknowledgement and have none."""
        return [danger for group in self.open_groups for danger in group.dangers]

    @property
    def changed_endpoints(self) -> list[EndpointChange]:
        """The changed endpoints."""
        return [
            endpoint
            for stage in self.stages
            for endpoint in stage.endpoints
            if endpoint.state != "unchanged"
        ]

    @property
    def changes(self) -> list[str]:
        """A line for each change of endpoints, of a stage, and of a package's data.

        Equal changes of several endpoints or stages are one line. What a danger tells is not here.
        """
        charges = self._charge_lines(self.volume_charges.keys() - ROUTINE_CHARGES)
        return [*charges, *self._endpoint_lines(), *self._stage_lines(), *self.notes]

    def _endpoint_lines(self) -> Iterator[str]:
        costs = {cost.endpoint: cost.text for cost in self.changed_costs}
        names: dict[str, list[str]] = {}
        for stage in self.stages:
            dangers = _danger_texts(stage)
            for endpoint in stage.endpoints:
                if endpoint.state != "unchanged":
                    clauses = _untold(endpoint.clauses, dangers)
                    cost = costs.pop(endpoint.name, "")
                    text = "; ".join(filter(None, (*clauses, cost)))
                    names.setdefault(text, []).append(endpoint.name)
        for name, text in costs.items():  # of endpoints that run until they are deleted
            if text:
                names.setdefault(text, []).append(name)
        for text, endpoints in names.items():
            yield f"{_bold(endpoints)}: {text}"

    def _stage_lines(self) -> Iterator[str]:
        """Yield one line for the notes of a stage, or of the same stages."""
        names: dict[str, list[tuple[str, str]]] = {}
        texts: dict[str, str] = {}
        for stage in self.stages:
            dangers = _danger_texts(stage)
            for note in stage.notes:
                if text := "; ".join(_untold(note.clauses, dangers)):
                    key = re.sub(rf"\b{re.escape(stage.stage)}\b", "STAGE", text)
                    names.setdefault(key, []).append((stage.stage, note.name))
                    texts.setdefault(key, text)
        lines: dict[tuple[str, ...], list[str]] = {}
        for key, pairs in names.items():
            stages = tuple(stage for stage, _ in pairs)
            lines.setdefault(stages, []).append(f"{_bold(name for _, name in pairs)}: {texts[key]}")
        yield from map("; ".join, lines.values())

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
        return [*charges, *costs, *files]

    def _charge_lines(self, names: Collection[str]) -> list[str]:
        prices = platform_facts.prices().by_volume
        return [
            f"{charge} ({first_names(causes)}): {prices[charge]}"
            for charge, causes in self.volume_charges.items()
            if charge in names
        ]

    @property
    def changed_models(self) -> list[ModelChange]:
        """The changed models."""
        return [model for stage in self.stages for model in stage.models if model.is_change]

    @property
    def changed_costs(self) -> list[CostChange]:
        """The costs that change, and the costs of removed endpoints that still run."""
        return [
            cost
            for stage in self.stages
            for cost in stage.costs
            if cost.before != cost.after or cost.keeps_running
        ]

    @property
    def volume_charges(self) -> dict[str, list[str]]:
        """Charge by volume -> the endpoints or models that cause it."""
        causes: dict[str, list[str]] = {}
        for stage in self.stages:
            for charge in stage.charges:
                causes.setdefault(charge.charge, []).append(charge.cause)
        return {charge: list(dict.fromkeys(names)) for charge, names in causes.items()}


def _danger_texts(stage: StageReview) -> str:
    """Return the sentences of all dangers of a stage."""
    return "\n".join(
        text for danger in stage.dangers for text in (danger.message, *danger.consequences)
    )


def _untold(clauses: Sequence[str], dangers: str) -> list[str]:
    """Return the clauses whose change, PROPERTY: BEFORE -> AFTER, or grant no danger tells."""
    texts = {
        clause: clause.partition(": ")[2].partition(" (")[0]
        if " -> " in clause
        else clause.partition(" may ")[2]
        for clause in clauses
    }
    return [clause for clause, text in texts.items() if not text or text not in dangers]


def _bold(names: Iterable[str]) -> str:
    return ", ".join(f"**{name}**" for name in names)
