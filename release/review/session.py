"""A review in progress: what fails stands beside what does not."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import date
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

import checked_yaml
from release.review import findings
from release.review.acknowledged import Acknowledgements, read
from release.review.assemblies import Synthesised
from release.review.dangers.danger import REPOSITORY, Danger
from release.review.deployed import Deployed
from release.review.files.file_review import FileReview, review_files
from release.review.findings import NOTHING, FindingsChange, LinterFailed
from release.review.report import Commits, Gap, Report
from release.review.stage_review import StageReview, review_stage
from release.tree import CheckoutError, NotSynthesised, Tree

ERRORS = (CheckoutError, LinterFailed, checked_yaml.InvalidFile, BotoCoreError, ClientError)
"""What a person can do something about."""


def message(error: Exception) -> str:
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

    def add(self, stages: Iterable[str], base: Synthesised) -> None:
        """Compare stages with those of another tree."""
        self._add(dict.fromkeys(stages, (base, None)))

    def add_live(self, stages: Iterable[str]) -> None:
        """Compare stages with what is deployed."""
        bases: dict[str, tuple[Deployed, str | None]] = {}
        for stage in stages:
            with self._gap(stage):
                region = self._head.stage(stage).region
                session = boto3.Session(region_name=region)
                base = Deployed.of(session, stage, tuple(self._head.stages()))
                missing = None if base.templates else f"no stack of {stage} is deployed in {region}"
                bases[stage] = base, missing
        self._add(bases)

    def _add(self, bases: Mapping[str, tuple[Synthesised | Deployed, str | None]]) -> None:
        """Compare stages with their bases, or show the head alone where one is missing."""
        sides: tuple[Any, Any] = {}, {}
        for stage, (base, _) in bases.items():
            for side, tree in zip(sides, (base, self._head), strict=True):
                with suppress(NotSynthesised):  # which the stage's own review says
                    for stack, template in tree.synth(stage).templates.items():
                        side[stage, stack] = template
        linted: dict[str, FindingsChange] = {}
        if sides[0] != sides[1]:
            with self._gap("cfn-lint and checkov"):
                linted = findings.template_findings(self._judge, *sides)
        for stage, (base, missing) in bases.items():
            with self._gap(stage):
                own = linted.get(stage, NOTHING)
                review = review_stage(stage, base, self._head, missing=missing, findings=own)
                self._stages.append(review)

    def lint_models(self, base: Tree | None) -> None:
        """Lint the models of both sides; without a base, of the head alone."""
        with self._gap("model lint"):
            self._findings = findings.model_findings(self._judge, base, self._head)

    def compare_repositories(self, base: Tree) -> None:
        """Compare the files of both sides."""
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
        stages = [
            replace(stage, dangers=self._acknowledged(stage.dangers)) for stage in self._stages
        ]
        unread = {stage.stage for stage in stages if stage.no_base is not None}
        unread.update(gap.what for gap in self.failed)
        if self._files is None:
            unread.add(REPOSITORY)
        every = (*files.dangers, *(danger for stage in stages for danger in stage.dangers))
        known = {danger.key for danger in every}
        return Report(
            base=base,
            stages=tuple(stages),
            findings=self._findings,
            dangers=self._acknowledged(files.dangers),
            notes=files.notes,
            not_judged=files.not_judged,
            unmatched=tuple(
                line
                for line in self._acknowledgements.acknowledged
                if line.danger not in known
                and line.stage not in unread
                and (not named or line.stage in named)
            ),
            commits=self._commits,
            failed=tuple(self.failed),
        )

    def _acknowledged(self, dangers: tuple[Danger, ...]) -> tuple[Danger, ...]:
        return tuple(
            replace(danger, acknowledgement=self._acknowledgements.of(danger.key, self._today))
            for danger in dangers
        )

    @contextmanager
    def _gap(self, what: str) -> Iterator[None]:
        """Record why something could not be reviewed, whatever is wrong with it.

        The files of the head have any form: what no rule can read is no reason to review nothing.
        """
        try:
            yield
        except ERRORS as error:
            self.failed.append(Gap(what, message(error)))
        except Exception as error:
            self.failed.append(Gap(what, f"the review failed: {type(error).__name__}: {error}"))
