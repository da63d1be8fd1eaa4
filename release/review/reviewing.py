"""A review under way: what fails stands beside what does not."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date

import boto3
from botocore.exceptions import BotoCoreError, ClientError

import checked_yaml
from release.review import findings
from release.review.acknowledged import Acknowledgement, Acknowledgements, read
from release.review.assemblies import Synthesised
from release.review.dangers import REPOSITORY, Danger
from release.review.deployed import Deployed
from release.review.files.file_review import FileReview, review_files
from release.review.findings import NOTHING, FindingsChange, LinterFailed
from release.review.report import Base, Commits, Gap, Report, StageReview, review_stage
from release.tree import CheckoutError, Template, Tree

ERRORS = (CheckoutError, LinterFailed, checked_yaml.InvalidFile, BotoCoreError, ClientError)
"""What is for the person who asked."""


def said(error: Exception) -> str:
    """Return the text of one of `ERRORS`."""
    return f"AWS: {error}" if isinstance(error, BotoCoreError | ClientError) else str(error)


class Review:
    """The stages that were reviewed until now, and what could not be.

    `judge` is the tree whose code, settings and acknowledgements judge the head.
    """

    def __init__(self, judge: Tree, head: Synthesised, commits: Commits) -> None:
        self._judge = judge
        self._head = head
        self._commits = commits
        self._today = date.today()
        self._acknowledgements = Acknowledgements()
        self._stages: list[StageReview] = []
        self.failed: list[Gap] = []
        self._findings = NOTHING
        self._files: FileReview | None = None
        for tree in {judge.root: judge, head.root: head}.values():
            with self._gap("acknowledgements"):
                acknowledgements = read(tree.root, self._today)
                if tree is judge:
                    self._acknowledgements = acknowledgements

    def add(self, stage: str, base: Synthesised) -> None:
        """Compare a stage with that of another tree."""
        with self._gap(stage):
            self._add(stage, base, missing=None)

    def add_live(self, stage: str) -> None:
        """Compare a stage with what is deployed."""
        with self._gap(stage):
            region = self._head.stage(stage).region
            session = boto3.Session(region_name=region)
            deployed = Deployed(session, stage, tuple(self._head.stages()))
            nothing = f"no stack of {stage} is deployed in {region}"
            self._add(stage, deployed, missing=None if deployed.stages() else nothing)
            refused = tuple(f"no change set of {it}" for it in deployed.refused)
            reviewed = self._stages[-1]
            self._stages[-1] = replace(reviewed, notes=(*reviewed.notes, *refused))

    def lint_models(self, base: Tree | None) -> None:
        """Ask the model linter about both sides; without a base, about the head alone."""
        with self._gap("model lint"):
            self._findings = findings.model_findings(self._judge, base, self._head)

    def compare_repositories(self, base: Tree) -> None:
        """Look for what is no stage's."""
        for path in self._head.compiled():
            reason = "compiled Python would run in place of its source, which was reviewed: git rm"
            self.failed.append(Gap(path, reason))
        for path in self._head.links():
            self.failed.append(Gap(path, "is a link, which may lead anywhere: commit the file"))
        with self._gap(REPOSITORY):
            self._files = review_files(base, self._head)

    def report(self, base: str, *, named: list[str] | None) -> Report:
        """Return the report; `base` is what the base is called."""
        files = self._files or FileReview()
        unread = {it.stage for it in self._stages if it.no_base is not None}
        unread.update(it.what for it in self.failed)
        if self._files is None:
            unread.add(REPOSITORY)
        known = [*files.dangers, *(danger for it in self._stages for danger, _ in it.dangers)]
        return Report(
            base=base,
            stages=tuple(self._stages),
            findings=self._findings,
            dangers=tuple((it, self._acknowledgement(it)) for it in files.dangers),
            notes=files.notes,
            not_judged=files.not_judged,
            unmatched=self._acknowledgements.without_danger(
                known, lambda stage: stage not in unread and (not named or stage in named)
            ),
            commits=self._commits,
            failed=tuple(self.failed),
        )

    def _add(self, stage: str, base: Base, *, missing: str | None) -> None:
        def lint(before: dict[str, Template], after: dict[str, Template]) -> FindingsChange:
            with self._gap(f"cfn-lint and checkov of {stage}"):
                return findings.template_findings(self._judge, before, after)
            return NOTHING

        self._stages.append(
            review_stage(
                stage,
                base,
                self._head,
                missing=missing,
                lint=lint,
                acknowledgement=self._acknowledgement,
            )
        )

    def _acknowledgement(self, danger: Danger) -> Acknowledgement | None:
        return self._acknowledgements.of(danger, self._today)

    @contextmanager
    def _gap(self, what: str) -> Iterator[None]:
        """Record why something could not be reviewed, whatever is wrong with it.

        The files of the head have any form: what no rule can read is no reason to review nothing.
        """
        try:
            yield
        except ERRORS as error:
            self.failed.append(Gap(what, said(error)))
        except Exception as error:
            self.failed.append(Gap(what, f"the review failed: {type(error).__name__}: {error}"))
