"""The review of one change: everything that is rendered."""

from dataclasses import dataclass
from datetime import date

from release.review.acknowledged import Acknowledgement, read
from release.review.commit import Commit
from release.review.comparison import Comparison, Linter, Pair
from release.review.dangers import Danger, dangers
from release.review.deployed import Deployed
from release.review.differences import StackDifference
from release.review.findings import NOTHING, FindingsChange, compare
from release.review.grants import in_words
from release.review.model_changes import ModelChange, model_changes
from release.review.money import CostChange, cost_changes
from release.review.notes import notes
from release.review.sentences import sentence
from release.review.synthesis import Synthesis, synthesis_of
from release.tree import NotSynthesised, Tree

Base = Commit | Deployed
Judged = tuple[Danger, Acknowledgement | None]
"""A danger, and who acknowledged it, None where nobody did."""


@dataclass(frozen=True, kw_only=True)
class StageReview:
    """What the change does to one stage.

    `no_base` says why there was nothing to compare with, and the head is reviewed alone. `notes`
    are of the stage as a whole, and of stacks without an endpoint. `access` lists what new roles
    may do. `findings` are the linters' of the templates, `acknowledged` what cdk-nag found and the
    app acknowledges. `left` are the stacks that are no longer in the app, and stay.
    """

    stage: str
    no_base: str | None
    sentences: tuple[str, ...]
    dangers: tuple[Judged, ...]
    models: tuple[ModelChange, ...]
    costs: tuple[CostChange, ...]
    access: tuple[str, ...]
    stacks: tuple[StackDifference, ...]
    findings: FindingsChange = NOTHING
    acknowledged: FindingsChange = NOTHING
    notes: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def is_changed(self) -> bool:
        """Whether there is anything to say of it."""
        return bool(self.stacks or self.dangers or self.notes)


@dataclass(frozen=True, kw_only=True)
class Report:
    """All stages, and what the model linter finds.

    `dangers` are the repository's own. `unmatched` acknowledges what is no danger of this change.
    """

    base: str
    stages: tuple[StageReview, ...]
    findings: FindingsChange
    dangers: tuple[Judged, ...] = ()
    unmatched: tuple[Acknowledgement, ...] = ()

    @property
    def every_danger(self) -> list[Judged]:
        """The dangers of the repository and of all stages."""
        return [*self.dangers, *(judged for it in self.stages for judged in it.dangers)]

    @property
    def open_dangers(self) -> list[Danger]:
        """The dangers that nobody acknowledged."""
        return [danger for danger, by in self.every_danger if by is None]


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
    comparison = Comparison(stage, before, after, files[0], files[-1], change_sets, lint)
    # What could not be read is not compared with: nothing of it would be found.
    known = dangers(comparison) if missing is None else []
    acknowledgements = read(head.root, today)
    models = model_changes(comparison, tree.models if tree else None, head.models)
    return StageReview(
        stage=stage,
        no_base=missing,
        sentences=tuple(_sentences(comparison, models)),
        dangers=tuple((it, acknowledgements.of(it, today)) for it in known),
        models=tuple(models),
        costs=tuple(cost_changes(comparison)),
        access=tuple(line for it in comparison.gained for line in in_words(it.by_new)),
        stacks=tuple(comparison.stacks),
        findings=comparison.findings,
        acknowledged=_compared(old.acknowledged, new.acknowledged),
        notes=tuple(notes(comparison, models)) if missing is None else (),
        left=tuple(sorted(before.keys() - after.keys())),
    )


def _compared(before: tuple[str, ...] | None, after: tuple[str, ...] | None) -> FindingsChange:
    return NOTHING if before is None or after is None else compare(before, after)


def _sentences(comparison: Comparison, models: list[ModelChange]) -> list[str]:
    said = []
    for stack, there in comparison.endpoints.items():
        pair = Pair(None, there.after) if comparison.moves and there.after else there
        own = [it for it in models if it.endpoint == pair.name]
        changes = [it for it in comparison.changes if it.stack == stack]
        said.append(sentence(pair.before, pair.after, own, changes))
    return said
