"""Say what a change will do: `tritonsm review --base origin/main`, or `--live --stage prod`.

Writes review.md, review.json and review.html. The exit code is 0, or 3 where a danger is not
acknowledged in release/acknowledged.yaml.
"""

import argparse
import sys
from contextlib import ExitStack
from datetime import date
from functools import partial
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

import checked_yaml
from release.checkouts import Clone
from release.review import as_json, findings, markdown, page
from release.review.acknowledged import read
from release.review.commit import checked_out
from release.review.dangers import REPOSITORY, Danger, repository_dangers
from release.review.deployed import Deployed
from release.review.findings import FindingsChange, LinterFailed
from release.review.report import Base, Report, StageReview, review_stage
from release.tree import CheckoutError, Tree

DANGER = 3
LIVE = "what is deployed"


def main(arguments: list[str] | None = None) -> int:
    """Run; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m release.review",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_arguments(parser)
    return run(parser.parse_args(arguments))


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command `review`; its `run` returns the exit code."""
    parser = commands.add_parser(
        "review", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    _add_arguments(parser)
    parser.set_defaults(run=run)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    against = parser.add_mutually_exclusive_group(required=True)
    against.add_argument("--base", help="a commit, branch or tag to compare with")
    against.add_argument(
        "--live", action="store_true", help="compare with what is deployed, by change sets"
    )
    parser.add_argument("--stage", action="append", help="a stage; default: all of them")
    parser.add_argument("--output", type=Path, default=Path("review.out"))
    parser.set_defaults(usage_error=parser.error)


def run(options: argparse.Namespace) -> int:
    """Review; return the exit code."""
    if options.live and not options.stage:
        options.usage_error("--live compares named stages: add --stage")
    try:
        head = Clone.here()
        report = _live(head, options.stage) if options.live else _review(head, options)
    except (CheckoutError, LinterFailed, checked_yaml.InvalidFile) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except (BotoCoreError, ClientError) as error:
        print(f"error: AWS: {error}", file=sys.stderr)
        return 1
    options.output.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("review.md", markdown.render(report)),
        ("review.json", as_json.render(report)),
        ("review.html", page.render(report)),
    ):
        (options.output / name).write_text(text, encoding="utf-8")
    for danger in report.open_dangers:
        print(f"danger: {danger.message}\n  {danger.key}", file=sys.stderr)
    for it in report.unmatched:
        print(f"note: acknowledged, and no danger: {it.danger}", file=sys.stderr)
    print(options.output / "review.md")
    return DANGER if report.open_dangers else 0


def _review(head: Clone, options: argparse.Namespace) -> Report:
    with ExitStack() as opened:
        base, missing = None, None
        try:
            base = opened.enter_context(checked_out(head, options.base))
        except CheckoutError as error:
            missing = str(error)
        known = sorted({*head.stages(), *(base.stages() if base else ())})
        stages = [_stage(it, base, head, missing=missing) for it in options.stage or known]
        before = findings.model_findings(base, may_fail=True) if base else []
        found = findings.compare(before, findings.model_findings(head))
        own = repository_dangers(base, head) if base else None
    return _report(options.base, stages, found, own, head, named=options.stage)


def _live(head: Tree, wanted: list[str]) -> Report:
    stages = []
    for stage in wanted:
        region = head.stage(stage).region
        deployed = Deployed(boto3.client("cloudformation", region), stage, tuple(head.stages()))
        missing = None if deployed.stages() else f"no stack of {stage} is deployed in {region}"
        stages.append(_stage(stage, deployed, head, missing=missing))
        for line in deployed.refused:
            print(f"note: no change set of {line}", file=sys.stderr)
    found = findings.model_findings(head)
    return _report(LIVE, stages, findings.compare(found, found), None, head, named=wanted)


def _report(
    base: str,
    stages: list[StageReview],
    found: FindingsChange,
    own: list[Danger] | None,
    head: Tree,
    *,
    named: list[str] | None,
) -> Report:
    """Put a report together; `own` are the repository's dangers, None where nobody looked."""
    today = date.today()
    acknowledgements = read(head.root, today)
    unread = {it.stage for it in stages if it.no_base is not None}
    if own is None:
        unread.add(REPOSITORY)
    known = [*(own or ()), *(danger for it in stages for danger, _ in it.dangers)]
    return Report(
        base=base,
        stages=tuple(stages),
        findings=found,
        dangers=tuple((it, acknowledgements.of(it, today)) for it in own or ()),
        unmatched=acknowledgements.without_danger(
            known, lambda stage: stage not in unread and (not named or stage in named)
        ),
    )


def _stage(stage: str, base: Base | None, head: Tree, *, missing: str | None) -> StageReview:
    lint = partial(findings.template_findings, head)
    return review_stage(stage, base, head, today=date.today(), missing=missing, lint=lint)


if __name__ == "__main__":
    sys.exit(main())
