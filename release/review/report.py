"""The review of one change: everything that is rendered."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from release.review.acknowledged import Acknowledgement, read
from release.review.commit import Commit
from release.review.comparison import Comparison
from release.review.dangers import Danger, dangers
from release.review.deployed import Deployed
from release.review.differences import StackDifference
from release.review.findings import FindingsChange, compare
from release.review.grants import in_words
from release.review.model_changes import ModelChange, model_changes
from release.review.money import CostChange, cost_changes
from release.review.sentences import sentence
from release.review.synthesis import Synthesis, synthesis_of
from release.tree import NotSynthesised, Template, Tree

Base = Commit | Deployed
NOTHING = FindingsChange(new=(), fixed=(), still=())
Linter = Callable[[dict[str, Template], dict[str, Template]], FindingsChange]
"""What is found in the templates before and after."""


@dataclass(frozen=True, kw_only=True)
class StageReview:
    """What the change does to one stage.

    `no_base` says why there was nothing to compare with, and the head is reviewed alone. `dangers`
    has each with who acknowledged it, None where nobody did. `access` lists what new roles may do.
    `findings` are the linters' of the templates, `acknowledged` what cdk-nag found and the app
    acknowledges.
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
        """The dangers that nobody acknowledged."""
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
    new = synthesis_of(head, stage) if stage in head.stages() else Synthesis({}, ())
    old = Synthesis({}, ())
    if base is not None and stage in base.stages():
        try:
            old = base.synth(stage)
        except NotSynthesised as error:
            missing = str(error)
    before, after = old.templates, new.templates
    tree = base if isinstance(base, Commit) else None
    trees = [it for it in (tree, head) if it and stage in it.stages()] or [head]
    files = [it.stage(stage) for it in trees]
    change_sets = base.change_sets(after) if isinstance(base, Deployed) else {}
    # What was production is judged as such, also when the change says that it is not any more.
    production = any(it.production for it in files)
    comparison = Comparison(stage, production, before, after, change_sets)
    # Against nothing, everything would be new and nothing a danger.
    known = dangers(comparison) if before else []
    acknowledgements = read(head.root)
    models = model_changes(comparison, tree.models if tree else None, head.models)
    return StageReview(
        stage=stage,
        no_base=missing,
        sentences=tuple(_sentences(comparison, models)),
        dangers=tuple((it, acknowledgements.of(it, today)) for it in known),
        models=tuple(models),
        costs=tuple(cost_changes(comparison, files[0].region, files[-1].region)),
        access=tuple(line for it in comparison.gained for line in in_words(it.by_new)),
        stacks=tuple(comparison.stacks),
        findings=lint(before, after) if comparison.stacks else NOTHING,
        acknowledged=_compared(old.acknowledged, new.acknowledged),
    )


def _compared(before: tuple[str, ...] | None, after: tuple[str, ...] | None) -> FindingsChange:
    return NOTHING if before is None or after is None else compare(before, after)


def _sentences(comparison: Comparison, models: list[ModelChange]) -> list[str]:
    said = []
    for stack, pair in comparison.endpoints.items():
        own = [it for it in models if it.endpoint == pair.name]
        changes = [it for it in comparison.changes if it.stack == stack]
        said.append(sentence(pair.before, pair.after, own, changes))
    return said
