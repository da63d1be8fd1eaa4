"""The review of one change: everything that is rendered."""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from release.review import environments
from release.review.access.grants import in_words
from release.review.acknowledged import Acknowledgement
from release.review.assemblies import Synthesis, Synthesised
from release.review.comparison import Comparison, Linter
from release.review.dangers import Danger, dangers
from release.review.deployed import Deployed
from release.review.differences import StackDifference
from release.review.endpoint_changes import EndpointChange, endpoint_changes
from release.review.findings import NOTHING, FindingsChange, compare
from release.review.model_changes import ModelChange, model_changes
from release.review.money import CostChange, cost_changes
from release.review.summaries import endpoint_summary, notes
from release.tree import NotSynthesised

Base = Synthesised | Deployed
Judged = tuple[Danger, Acknowledgement | None]
"""A danger, and who acknowledged it, None where nobody did."""


@dataclass(frozen=True, kw_only=True)
class StageReview:
    """What the change does to one stage.

    `no_base` says why there was nothing to compare with, and the head is reviewed alone. `notes`
    are of the stage as a whole, and of stacks without an endpoint. `access` lists what new roles
    may do. `findings` are the linters' of the templates, `acknowledged` what cdk-nag found and the
    app acknowledges. `endpoints` has one for each of `sentences`. `left` are the stacks that are no
    longer in the app, and stay.
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
    endpoints: tuple[EndpointChange, ...] = ()

    @property
    def is_changed(self) -> bool:
        """Whether there is anything to say of it."""
        return bool(self.stacks or self.dangers or self.notes)


@dataclass(frozen=True, kw_only=True)
class Commits:
    """The commits that are compared, None where there is none, or it is not known.

    A head that is `dirty` has changes that are not committed.
    """

    base: str | None = None
    head: str | None = None
    dirty: bool = False


@dataclass(frozen=True)
class Gap:
    """What was not reviewed, and the reason."""

    what: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Report:
    """All stages, and what the model linter finds.

    `base` is the name that the base was asked for by. `dangers` and `notes` are of the repository's
    files, `not_judged` names those whose content no rule reads.
    `unmatched` acknowledges what is no danger of this change. `failed` is what could not be looked
    at, and is in nothing else here.
    """

    base: str
    stages: tuple[StageReview, ...]
    findings: FindingsChange
    dangers: tuple[Judged, ...] = ()
    notes: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()
    unmatched: tuple[Acknowledgement, ...] = ()
    commits: Commits = Commits()
    failed: tuple[Gap, ...] = ()

    @property
    def gaps(self) -> list[Gap]:
        """All that was not reviewed, or not compared."""
        alone = [it for it in self.stages if it.no_base is not None]
        return [*self.failed, *(Gap(f"{it.stage}, its base", it.no_base or "") for it in alone)]

    @property
    def is_complete(self) -> bool:
        """Whether all that was asked for was compared: else no danger found means nothing."""
        return not self.gaps

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
    head: Synthesised,
    *,
    missing: str | None,
    lint: Linter,
    acknowledgement: Callable[[Danger], Acknowledgement | None],
) -> StageReview:
    """Compare one stage. Raises `NotSynthesised`, `CheckoutError` where nothing has the stage."""
    new = head.synth(stage) if stage in head.stages() else Synthesis({}, ())
    old, reason = _base_synthesis(base, stage)
    missing = missing or reason
    before, after = old.templates, new.templates
    tree = base if isinstance(base, Synthesised) else None
    trees = [it for it in (tree, head) if it and stage in it.stages()] or [head]
    files = [it.stage(stage) for it in trees]
    live = base if isinstance(base, Deployed) and missing is None else None
    change_sets = live.change_sets(after) if live else {}
    settings = environments.comparable(old.settings, files[0], new.settings, files[-1])
    acknowledged = _compared(old.acknowledged, new.acknowledged)
    comparison = Comparison(
        stage,
        before,
        after,
        files[0],
        files[-1],
        change_sets,
        lint,
        settings,
        acknowledged,
        _texts(tree.root) if tree else frozenset(),
        (tree.models if tree else None, head.models),
    )
    # What could not be read is not compared with: nothing of it would be found.
    known = dangers(comparison) if missing is None else []
    endpoints = endpoint_changes(comparison, compared=missing is None)
    models = model_changes(comparison)
    said = notes(comparison, models) if missing is None else ()
    return StageReview(
        stage=stage,
        no_base=missing,
        endpoints=tuple(endpoints),
        sentences=tuple(
            endpoint_summary(comparison, it, [one for one in models if one.endpoint == it.name])
            for it in endpoints
        ),
        dangers=tuple((it, acknowledgement(it)) for it in known),
        models=tuple(models),
        costs=tuple(cost_changes(comparison)),
        access=tuple(line for it in comparison.access for line in in_words(it.by_new)),
        stacks=tuple(comparison.stacks),
        findings=comparison.findings,
        acknowledged=acknowledged,
        notes=(*said, *(live.access_said(after) if live else ())),
        left=tuple(sorted(before.keys() - after.keys())),
    )


@cache
def _texts(root: Path) -> frozenset[str]:
    """Return the texts in the constructs and stacks of a tree."""
    files = (path for folder in ("constructs", "stacks") for path in (root / folder).rglob("*.py"))
    return frozenset(
        node.value
        for path in files
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _base_synthesis(base: Base | None, stage: str) -> tuple[Synthesis, str | None]:
    """Return what the base has of a stage, which may be nothing, or why nobody knows."""
    if base is None or stage not in base.stages():
        return Synthesis({}, ()), None
    try:
        return base.synth(stage), None
    except NotSynthesised as error:
        return Synthesis({}, ()), str(error)


def _compared(before: tuple[str, ...] | None, after: tuple[str, ...] | None) -> FindingsChange:
    return NOTHING if before is None or after is None else compare(before, after)
