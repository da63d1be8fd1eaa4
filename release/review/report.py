"""The review of one change: everything that is rendered."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from release.checkouts import Stage, stage_file
from release.review.access import in_words
from release.review.acknowledged import Acknowledgement, Acknowledgements, read
from release.review.comparison import Comparison
from release.review.dangers import Danger, dangers
from release.review.differences import StackDifference
from release.review.findings import FindingsChange, compare
from release.review.model_changes import ModelChange, model_changes
from release.review.money import CostChange, cost_changes
from release.review.sentences import sentence
from release.review.templates import Base, NotSynthesised, Synthesis, Template, Tree

NOTHING = FindingsChange(new=(), fixed=(), still=())
Linter = Callable[[dict[str, Template]], list[str]]


@dataclass(frozen=True, kw_only=True)
class StageReview:
    """What the change does to one stage.

    `no_base` says why there was nothing to compare with, and the head is reviewed alone. `dangers`
    has each with who took it on, None where nobody did. `access` lists what new roles may do.
    `findings` are the linters' of the templates, `acknowledged` what cdk-nag found and the app
    declares to be meant so.
    """

    stage: str
    no_base: str | None
    sentences: tuple[str, ...]
    dangers: tuple[tuple[Danger, Acknowledgement | None], ...]
    models: tuple[ModelChange, ...]
    costs: tuple[CostChange, ...]
    access: tuple[str, ...]
    stacks: tuple[StackDifference, ...]
    findings: FindingsChange = NOTHING
    acknowledged: FindingsChange = NOTHING

    @property
    def is_changed(self) -> bool:
        """Whether any deployed resource changes."""
        return bool(self.stacks)


@dataclass(frozen=True, kw_only=True)
class Report:
    """All stages, and what the model linter finds."""

    base: str
    stages: tuple[StageReview, ...]
    findings: FindingsChange

    @property
    def open_dangers(self) -> list[Danger]:
        """The dangers that nobody took on."""
        return [danger for it in self.stages for danger, by in it.dangers if by is None]


def review_stage(
    stage: str,
    base: Base | None,
    head: Tree,
    *,
    today: date,
    missing: str | None,
    lint: Linter,
) -> StageReview:
    """Compare one stage. Raises `NotSynthesised`, `CheckoutError` where nothing has the stage."""
    new = head.synth(stage) if stage in head.stages() else Synthesis({}, ())
    old = Synthesis({}, ())
    if base is not None and stage in base.stages():
        try:
            old = base.synth(stage)
        except NotSynthesised as error:
            missing = str(error)
    before, after = old.templates, new.templates
    files = [_stage_file(it, stage) for it in ((base if before else None), head)]
    now = files[1] or files[0] or stage_file(head.root, stage)
    change_sets = base.change_sets(after) if base and before else {}
    # What was production is judged as such, also when the change says that it is not any more.
    production = any(it.production for it in files if it)
    comparison = Comparison(stage, production, before, after, change_sets)
    # Against nothing, everything would be new and nothing a danger.
    known = dangers(comparison) if before else []
    models = model_changes(comparison, base.root if base and before else None, head.root)
    return StageReview(
        stage=stage,
        no_base=missing,
        sentences=tuple(_sentences(comparison, models)),
        dangers=_acknowledged(known, read(head.root), today),
        models=tuple(models),
        costs=tuple(cost_changes(comparison, (files[0] or now).region, now.region)),
        access=tuple(line for it in comparison.gained for line in in_words(it.by_new)),
        stacks=tuple(comparison.stacks),
        findings=compare(lint(before), lint(after)) if comparison.stacks else NOTHING,
        acknowledged=_compared(old.acknowledged, new.acknowledged),
    )


def _acknowledged(
    found: list[Danger], taken_on: Acknowledgements, today: date
) -> tuple[tuple[Danger, Acknowledgement | None], ...]:
    return tuple((danger, taken_on.of(danger, today)) for danger in found)


def _compared(before: tuple[str, ...] | None, after: tuple[str, ...] | None) -> FindingsChange:
    return NOTHING if before is None or after is None else compare(before, after)


def _sentences(comparison: Comparison, models: list[ModelChange]) -> list[str]:
    said = []
    for stack, pair in comparison.endpoints.items():
        own = [it for it in models if it.endpoint == pair.name]
        changes = [it for it in comparison.changes if it.stack == stack]
        said.append(sentence(pair.before, pair.after, own, changes))
    return said


def _stage_file(base: Base | None, stage: str) -> Stage | None:
    if base is None or base.root is None or stage not in base.stages():
        return None
    return stage_file(base.root, stage)
