"""Say what a change will do: `tritonsm review --base origin/main`, or `--live --stage prod`.

Writes review.md, review.json and review.html, whatever happens. Exit codes:
  0  all of it was compared, and every danger is acknowledged in release/acknowledged.yaml
  2  the command's arguments are wrong
  3  all of it was compared, and a danger is not acknowledged
  4  not everything was compared, and the report says what and why: no base, a stage that cannot be
     synthesised on either side, a linter that fails; dangers may be missing
"""

import argparse
import sys
from datetime import date
from pathlib import Path

from release.checkouts import Clone
from release.review.acknowledged import read
from release.review.commit import checked_out
from release.review.dangers import repository_dangers
from release.review.findings import NOTHING
from release.review.report import Commits, Gap, Report
from release.review.reviewing import ERRORS, Review, said
from release.review.written import remove, write
from release.tree import CheckoutError

DANGER = 3
INCOMPLETE = 4
LIVE = "what is deployed"


def main(arguments: list[str] | None = None) -> int:
    """Run; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m release")
    add_to(parser.add_subparsers())
    given = sys.argv[1:] if arguments is None else arguments
    return run(parser.parse_args(["review", *given]))


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command `review`; its `run` returns the exit code."""
    parser = commands.add_parser(
        "review", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    against = parser.add_mutually_exclusive_group(required=True)
    against.add_argument("--base", help="a commit, branch or tag to compare with")
    against.add_argument(
        "--live", action="store_true", help="compare with what is deployed, by change sets"
    )
    parser.add_argument("--stage", action="append", help="a stage; default: all of them")
    parser.add_argument("--output", type=Path, default=Path("review.out"))
    parser.set_defaults(run=run, usage_error=parser.error)


def run(options: argparse.Namespace) -> int:
    """Review; return the exit code."""
    if options.live and not options.stage:
        options.usage_error("--live compares named stages: add --stage")
    remove(options.output)
    try:
        report = _live(options.stage) if options.live else _review(options.base, options.stage)
    except ERRORS as error:
        report = _nothing(LIVE if options.live else options.base, said(error))
    write(report, options.output)
    for gap in report.gaps:
        print(f"error: not reviewed: {gap.what}: {gap.reason}", file=sys.stderr)
    for danger in report.open_dangers:
        print(f"danger: {danger.message}\n  {danger.key}", file=sys.stderr)
    for it in report.unmatched:
        print(f"note: acknowledged, and no danger: {it.danger}", file=sys.stderr)
    print(options.output / "review.md")
    if not report.is_complete:
        return INCOMPLETE
    return DANGER if report.open_dangers else 0


def _review(base: str, wanted: list[str] | None) -> Report:
    head = Clone.here()
    read(head.root, date.today())  # what is wrong with it is said before anything is made
    with checked_out(head, base) as tree:
        review = Review(head, Commits(base=tree.commit, head=head.head(), dirty=head.is_dirty()))
        for stage in wanted or sorted({*head.stages(), *tree.stages()}):
            review.add(stage, tree)
        review.lint_models(tree)
        return review.report(base, repository_dangers(tree, head), named=wanted)


def _live(wanted: list[str]) -> Report:
    head = Clone.here()
    read(head.root, date.today())
    review = Review(head, Commits(head=head.head(), dirty=head.is_dirty()))
    for stage in wanted:
        review.add_live(stage)
    review.lint_models(None)
    return review.report(LIVE, None, named=wanted)


def _nothing(base: str, reason: str) -> Report:
    """Return the report of a review that could not begin."""
    gap = Gap("everything", reason)
    try:
        head = Clone.here()
        commits = Commits(head=head.head(), dirty=head.is_dirty())
    except CheckoutError:
        commits = Commits()
    return Report(base=base, stages=(), findings=NOTHING, commits=commits, failed=(gap,))


if __name__ == "__main__":
    sys.exit(main())
