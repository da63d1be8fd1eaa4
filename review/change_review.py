"""The review of a change. A part that cannot be reviewed becomes a gap in the report."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from functools import partial

from plan.document import InvalidPlan
from platform_facts.rules import checked_yaml
from release.assemblies import SynthesisedCheckout
from release.checkout import Checkout, CheckoutError, GitCheckout
from review.acknowledged import Acknowledgements, read_acknowledgements
from review.dangers.danger import REPOSITORY, Danger
from review.files.file_review import FileReview, review_files
from review.report import ChangeReport, Gap
from review.secrets import added_secrets, masked
from review.stage_review import StageReview, review_stage

ERRORS = (CheckoutError, InvalidPlan, checked_yaml.InvalidFile)
"""Errors with a message for the author of a change."""

COMPILED_REASON = "compiled Python would run instead of the reviewed source: remove it with git rm"
LINK_REASON = "a symbolic link, whose target is not reviewed: commit the file instead"


def review_change(
    base: SynthesisedCheckout,
    head: SynthesisedCheckout,
    *,
    name: str,
    stages: Iterable[str],
    gaps: Iterable[Gap] = (),
) -> ChangeReport:
    """Return the report of a change.

    The acknowledgements are those of the base. `name` is the name of the base in the report, `gaps`
    are parts that are known not to be reviewed.
    """
    gaps = [
        *gaps,
        *(Gap(path, COMPILED_REASON) for path in head.compiled()),
        *(Gap(path, LINK_REASON) for path in head.links()),
    ]
    today = date.today()
    acknowledgements = Acknowledgements()
    with _recorded_gap(gaps, "acknowledgements"):
        read_acknowledgements(head.root)
    with _recorded_gap(gaps, "acknowledgements"):
        acknowledgements = read_acknowledgements(base.root)
    stages = [*stages]
    try:
        secret_dangers, secrets = added_secrets(base, head, stages)
    except Exception as error:  # nothing is printed that may be a secret
        return incomplete_report(name, f"secrets are not found: {type(error).__name__}", head)
    reviews: list[StageReview] = []
    for stage in stages:
        if failure := head.error(stage):
            gaps.append(Gap(stage, failure))
        if not failure or head.has_assembly(stage):  # a check may have rejected a complete one
            with _recorded_gap(gaps, stage):
                reviews.append(review_stage(stage, base, head))
    reviews.sort(key=lambda review: not review.is_production)
    files = FileReview()
    with _recorded_gap(gaps, REPOSITORY):
        files = review_files(base, head)

    with_acknowledgements = partial(acknowledge, acknowledgements=acknowledgements, today=today)
    report = ChangeReport(
        base=name,
        stages=tuple(
            replace(review, dangers=with_acknowledgements(review.dangers)) for review in reviews
        ),
        dangers=with_acknowledgements((*secret_dangers, *files.dangers)),
        notes=files.notes,
        code=files.code,
        code_files=files.code_files,
        commits=commit_range(base, head),
        gaps=tuple(gaps),
    )
    masked_report: ChangeReport = masked(report, secrets)
    return masked_report


def acknowledge(
    dangers: Iterable[Danger], acknowledgements: Acknowledgements, today: date
) -> tuple[Danger, ...]:
    """Return the dangers, each with its acknowledgement and whether it is advisory."""
    return tuple(
        replace(
            danger,
            acknowledgement=acknowledgements.find(danger.key, today),
            advisory=danger.rule in acknowledgements.advisory,
        )
        for danger in dangers
    )


def incomplete_report(name: str, reason: str, tree: Checkout) -> ChangeReport:
    """Return the report of a review that was impossible; `name` is the name of the base."""
    gaps = (Gap("everything", reason),)
    commits = commit_range(tree)
    return ChangeReport(name, stages=(), commits=commits, gaps=gaps)


def commit_range(*trees: Checkout) -> str:
    """Return the commits of trees, and whether the last tree has uncommitted changes.

    The text is empty if a tree is not a git repository.
    """
    clones = [GitCheckout(tree.root) for tree in trees]
    try:
        changes = ", with uncommitted changes" if clones[-1].is_dirty() else ""
        return " -> ".join(clone.head()[:12] for clone in clones) + changes
    except CheckoutError:
        return ""


@contextmanager
def _recorded_gap(gaps: list[Gap], part: str) -> Iterator[None]:
    """Record any error of the `with` block as a gap, so that the review continues.

    Files of the head can have any content, so a rule can raise an unexpected error.
    """
    try:
        yield
    except ERRORS as error:
        gaps.append(Gap(part, str(error)))
    except Exception as error:
        gaps.append(Gap(part, f"the review failed: {type(error).__name__}: {error}"))
