"""Review a change: `python -m release.review.judge --head FOLDER --assemblies FOLDER`.

This runs with the code, packages, linter settings and acknowledgements of the base, and synthesises
the base. No code of the head runs: its files and assemblies are read. Reviews of other commits
start this program: do not change its arguments and exit codes (`tritonsm review --help`).
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from release.review.assemblies import Synthesised, write
from release.review.change_review import review_change
from release.review.output_files import conclude, remove
from release.tree import Tree


def main(arguments: list[str] | None = None) -> int:
    """Run; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m release.review.judge", description=__doc__)
    parser.add_argument("--base", type=Path, default=Path(), help="the tree of the base")
    parser.add_argument("--name", default="the base", help="the name of the base in the report")
    parser.add_argument("--head", type=Path, required=True, help="the files of the change")
    parser.add_argument(
        "--assemblies", type=Path, required=True, help="the assemblies that its app wrote"
    )
    parser.add_argument("--stage", action="append", help="a stage; default: all of them")
    parser.add_argument("--output", type=Path, default=Path("review.out"))
    options = parser.parse_args(arguments)
    remove(options.output)
    head = Synthesised(options.head.resolve(), options.assemblies.resolve())
    tree = Tree(options.base.resolve())
    known = tree.stages()
    stages = options.stage or sorted({*head.stages(), *known})
    with TemporaryDirectory(prefix="review-") as folder:
        shared = [stage for stage in stages if stage in known]
        base = write(
            tree, Path(folder), shared, validate=False
        )  # the base's delivery has validated it
        report = review_change(base, head, name=options.name, stages=stages)
    return conclude(report, options.output)


if __name__ == "__main__":
    sys.exit(main())
