"""A review under way: what fails stands beside what does not."""

from dataclasses import replace
from datetime import date

import boto3
from botocore.exceptions import BotoCoreError, ClientError

import checked_yaml
from release.review import findings
from release.review.acknowledged import read
from release.review.commit import Commit
from release.review.dangers import REPOSITORY, Danger
from release.review.deployed import Deployed
from release.review.findings import NOTHING, FindingsChange, LinterFailed
from release.review.report import Base, Commits, Gap, Report, StageReview, review_stage
from release.tree import CheckoutError, Template, Tree

ERRORS = (CheckoutError, LinterFailed, checked_yaml.InvalidFile, BotoCoreError, ClientError)
"""What is for the person who asked."""


def said(error: Exception) -> str:
    """Return the text of one of `ERRORS`."""
    return f"AWS: {error}" if isinstance(error, BotoCoreError | ClientError) else str(error)


class Review:
    """The stages that were reviewed until now, and what could not be."""

    def __init__(self, head: Tree, commits: Commits) -> None:
        self._head = head
        self._commits = commits
        self._today = date.today()
        self._stages: list[StageReview] = []
        self._failed: list[Gap] = []
        self._findings = NOTHING

    def add(self, stage: str, base: Commit) -> None:
        """Compare a stage with a commit."""
        try:
            self._add(stage, base, missing=None)
        except ERRORS as error:
            self._failed.append(Gap(stage, said(error)))

    def add_live(self, stage: str) -> None:
        """Compare a stage with what is deployed."""
        try:
            region = self._head.stage(stage).region
            session = boto3.Session(region_name=region)
            deployed = Deployed(session, stage, tuple(self._head.stages()))
            nothing = f"no stack of {stage} is deployed in {region}"
            self._add(stage, deployed, missing=None if deployed.stages() else nothing)
            refused = tuple(f"no change set of {it}" for it in deployed.refused)
            reviewed = self._stages[-1]
            self._stages[-1] = replace(reviewed, notes=(*reviewed.notes, *refused))
        except ERRORS as error:
            self._failed.append(Gap(stage, said(error)))

    def lint_models(self, base: Tree | None) -> None:
        """Ask the model linter of both sides; without a base, of the head alone."""
        try:
            self._findings = findings.model_findings(base, self._head)
        except LinterFailed as error:
            self._failed.append(Gap("model lint", str(error)))

    def report(self, base: str, own: list[Danger] | None, *, named: list[str] | None) -> Report:
        """Return the report; `own` are the repository's dangers, None where nobody looked."""
        acknowledgements = read(self._head.root, self._today)
        unread = {it.stage for it in self._stages if it.no_base is not None or it.same_inputs}
        unread.update(it.what for it in self._failed)
        if own is None:
            unread.add(REPOSITORY)
        known = [*(own or ()), *(danger for it in self._stages for danger, _ in it.dangers)]
        return Report(
            base=base,
            stages=tuple(self._stages),
            findings=self._findings,
            dangers=tuple((it, acknowledgements.of(it, self._today)) for it in own or ()),
            unmatched=acknowledgements.without_danger(
                known, lambda stage: stage not in unread and (not named or stage in named)
            ),
            commits=self._commits,
            failed=tuple(self._failed),
        )

    def _add(self, stage: str, base: Base, *, missing: str | None) -> None:
        def lint(before: dict[str, Template], after: dict[str, Template]) -> FindingsChange:
            try:
                return findings.template_findings(self._head, before, after)
            except LinterFailed as error:
                self._failed.append(Gap(f"cfn-lint and checkov of {stage}", str(error)))
                return NOTHING

        self._stages.append(
            review_stage(stage, base, self._head, today=self._today, missing=missing, lint=lint)
        )
