"""Judge a change as files: `python -m release.review.judge --head FOLDER --assemblies FOLDER`.

The base judges: its code and packages run this, its app makes what is compared with, its settings
and acknowledgements count. Nothing of the head runs. Reviews of other commits start this program:
its arguments and exit codes (`tritonsm review --help`) stay as they are.
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
    parser.add_argument("--base", type=Path, default=Path(), help="the tree that judges")
    parser.add_argument("--name", default="the base", help="what the base is called")
    parser.add_argument("--head", type=Path, required=True, help="the files of the change")
    parser.add_argument("--assemblies", type=Path, required=True, help="what its app wrote")
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
        base = write(tree, Path(folder), shared, validate=False)  # a delivery has validated it
        report = review_change(base, head, name=options.name, stages=stages)
    return conclude(report, options.output)


if __name__ == "__main__":
    sys.exit(main())
