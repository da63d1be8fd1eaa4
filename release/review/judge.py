"""Review a change: `python -m release.review.judge --head FOLDER --assemblies FOLDER`.

This program runs with the code, packages, linter settings and acknowledgements of the base, and
synthesises the base. It reads the files and assemblies of the head, and runs none of its code.
Reviews of other commits start this program: do not change its arguments and exit codes
(`tritonsm review --help`).
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from release.review.assemblies import SynthesisedTree, write_assemblies
from release.review.change_review import review_change
from release.review.output_files import remove_outputs, write_outputs
from release.tree import Tree


def main(arguments: list[str] | None = None) -> int:
    """Run the review; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m release.review.judge", description=__doc__)
    parser.add_argument("--base", type=Path, default=Path(), help="the tree of the base")
    parser.add_argument("--name", default="the base", help="the name of the base in the report")
    parser.add_argument("--head", type=Path, required=True, help="the files of the change")
    parser.add_argument(
        "--assemblies", type=Path, required=True, help="the assemblies that the head's app wrote"
    )
    parser.add_argument("--stage", action="append", help="a stage; default: all of them")
    parser.add_argument("--output", type=Path, default=Path("review.out"))
    options = parser.parse_args(arguments)
    remove_outputs(options.output)
    head = SynthesisedTree(options.head.resolve(), options.assemblies.resolve())
    base_tree = Tree(options.base.resolve())
    stages = options.stage or sorted({*head.stages(), *base_tree.stages()})
    with TemporaryDirectory(prefix="review-") as folder:
        base_stages = [stage for stage in stages if stage in base_tree.stages()]
        # The templates of the base were validated when the base itself was reviewed.
        base = write_assemblies(base_tree, Path(folder), base_stages, validate=False)
        report = review_change(base, head, name=options.name, stages=stages)
    return write_outputs(report, options.output)


if __name__ == "__main__":
    sys.exit(main())
