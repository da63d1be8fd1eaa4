"""The review of a change; a part that fails becomes a gap in the report."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import date

import checked_yaml
from release.checkouts import Clone
from release.review import findings
from release.review.acknowledged import Acknowledgements, read
from release.review.assemblies import Synthesised
from release.review.dangers.danger import REPOSITORY, Danger
from release.review.files.file_review import FileReview, review_files
from release.review.findings import NOTHING, FindingsChange, LinterFailed, Templates
from release.review.report import ChangeReport, Gap
from release.review.stage_review import StageReview, review_stage
from release.tree import CheckoutError, NotSynthesised, Tree

ERRORS = (CheckoutError, LinterFailed, checked_yaml.InvalidFile)
"""Errors with a message for the author of a change."""

COMPILED = "compiled Python would run in place of its source, which was reviewed: git rm"
LINK = "is a link, which may lead anywhere: commit the file"


def review_change(
    base: Synthesised, head: Synthesised, *, name: str, stages: Iterable[str]
) -> ChangeReport:
    """Return the report of a change, by the base's linter settings and acknowledgements.

    `name` is the name of the base in the report.
    """
    gaps = [
        *(Gap(path, COMPILED) for path in head.compiled()),
        *(Gap(path, LINK) for path in head.links()),
    ]
    today = date.today()
    acknowledgements = Acknowledgements()
    with _gap(gaps, "acknowledgements"):
        read(head.root)
    with _gap(gaps, "acknowledgements"):
        acknowledgements = read(base.root)
    linted: dict[str, FindingsChange] = {}
    with _gap(gaps, "cfn-lint and checkov"):
        sides = (_templates(side, stages) for side in (base, head))
        linted = findings.template_findings(base, *sides)
    reviews: list[StageReview] = []
    for stage in stages:
        with _gap(gaps, stage):
            reviews.append(review_stage(stage, base, head, linted.get(stage, NOTHING)))
    of_models, files = NOTHING, FileReview()
    with _gap(gaps, "model lint"):
        of_models = findings.model_findings(base, head)
    with _gap(gaps, REPOSITORY):
        files = review_files(base, head)

    def with_acknowledgements(dangers: tuple[Danger, ...]) -> tuple[Danger, ...]:
        """Return dangers with their acknowledgements."""
        return tuple(
            replace(danger, acknowledgement=acknowledgements.of(danger.key, today))
            for danger in dangers
        )

    return ChangeReport(
        base=name,
        stages=tuple(
            replace(review, dangers=with_acknowledgements(review.dangers)) for review in reviews
        ),
        findings=of_models,
        dangers=with_acknowledgements(files.dangers),
        notes=files.notes,
        not_judged=files.not_judged,
        commits=commits(base, head),
        gaps=tuple(gaps),
    )


def commits(*trees: Tree) -> str:
    """Return the commits of trees, with uncommitted changes of the last; empty if unknown."""
    clones = [Clone(tree.root) for tree in trees]
    try:
        changes = ", with changes that are not committed" if clones[-1].is_dirty() else ""
        return " -> ".join(clone.head()[:12] for clone in clones) + changes
    except CheckoutError:
        return ""


def _templates(tree: Synthesised, stages: Iterable[str]) -> Templates:
    """Return the templates of stages; the review of a stage reports why it has none."""
    templates = {}
    for stage in stages:
        with suppress(NotSynthesised):
            for stack, template in tree.synth(stage).templates.items():
                templates[stage, stack] = template
    return templates


@contextmanager
def _gap(gaps: list[Gap], what: str) -> Iterator[None]:
    """Record any error of the `with` block as a gap, so that the rest is still reviewed.

    The files of the head may have any content, also such that a rule fails unexpectedly.
    """
    try:
        yield
    except ERRORS as error:
        gaps.append(Gap(what, str(error)))
    except Exception as error:
        gaps.append(Gap(what, f"the review failed: {type(error).__name__}: {error}"))
