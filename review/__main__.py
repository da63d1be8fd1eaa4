"""Say what a change will do: `python -m review --base origin/main`.

Writes review.md, review.json and review.html. Ends with 0, or with 3 where a danger is not
acknowledged in stages/acknowledged.yaml.
"""

import argparse
import sys
from contextlib import ExitStack
from datetime import date
from pathlib import Path

import checked_yaml
from review import as_json, findings, markdown, page
from review.report import Report, repository, review_stage
from review.templates import NotSynthesised, Tree, checked_out

DANGER = 3


def main(arguments: list[str] | None = None) -> int:
    """Run; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m review", description=__doc__)
    parser.add_argument("--base", required=True, help="a commit, branch or tag to compare with")
    parser.add_argument("--stage", action="append", help="a stage; default: all of them")
    parser.add_argument("--output", type=Path, default=Path("review.out"))
    options = parser.parse_args(arguments)
    try:
        report = _review(repository(), options.base, options.stage)
    except (NotSynthesised, checked_yaml.InvalidFile) as error:
        print(f"error: {error}", file=sys.stderr)
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
    print(options.output / "review.md")
    return DANGER if report.open_dangers else 0


def _review(root: Path, base: str, wanted: list[str] | None) -> Report:
    head = Tree(root)
    with ExitStack() as opened:
        tree, missing = None, None
        try:
            tree = opened.enter_context(checked_out(root, base))
        except NotSynthesised as error:
            missing = str(error)
        known = sorted({*head.stages(), *(tree.stages() if tree else ())})
        stages = [
            review_stage(it, tree, head, today=date.today(), missing=missing)
            for it in wanted or known
        ]
        before = findings.model_findings(tree) if tree else []
        after = findings.model_findings(head)
    return Report(base=base, stages=tuple(stages), findings=findings.compare(before, after))


if __name__ == "__main__":
    sys.exit(main())
