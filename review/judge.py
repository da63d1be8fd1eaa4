"""Review a change: `python -m review.judge --head FOLDER --assemblies RELEASE`.

This program runs with the code, packages and acknowledgements of the base, and
builds the base's release. It reads the files and the release of the head, and runs none of its
code. Reviews of other commits start this program: do not change its arguments and exit codes
(`tritonsm review --help`).
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from release.artefact import ReleaseArtefact
from release.assemblies import SynthesisedCheckout
from release.build import build_release
from release.checkout import Checkout
from review.change_review import ERRORS, incomplete_report, review_change
from review.output_files import remove_outputs, write_outputs
from review.releases import release_gaps
from review.report import ChangeReport


def main(arguments: list[str] | None = None) -> int:
    """Run the review; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m review.judge", description=__doc__)
    parser.add_argument("--base", type=Path, default=Path(), help="the tree of the base")
    parser.add_argument("--base-release", type=Path, help="the base's release; default: build it")
    parser.add_argument("--name", default="the base", help="the name of the base in the report")
    parser.add_argument("--head", type=Path, required=True, help="the files of the change")
    parser.add_argument(
        "--assemblies", type=Path, required=True, help="the release that the change's app wrote"
    )
    parser.add_argument("--digest", help="the digest that the release must have; default: any")
    parser.add_argument("--stage", action="append", help="a stage; default: all of them")
    parser.add_argument("--output", type=Path, default=Path("review.out"))
    options = parser.parse_args(arguments)
    remove_outputs(options.output)
    try:
        report = _review(options)
    except ERRORS as error:
        report = incomplete_report(options.name, str(error), Checkout(options.head))
    return write_outputs(report, options.output)


def _review(options: argparse.Namespace) -> ChangeReport:
    head_tree, base_tree = Checkout(options.head.resolve()), Checkout(options.base.resolve())
    head = ReleaseArtefact.load(options.assemblies.resolve(), expected=options.digest)
    stages = options.stage or sorted({*head_tree.stages(), *base_tree.stages()})
    with (
        _base_release(base_tree, options.base_release, stages) as base,
        base.verified_copy(*stages) as base_assemblies,
        head.verified_copy(*stages) as head_assemblies,
    ):
        return review_change(
            SynthesisedCheckout(base_tree.root, base_assemblies),
            SynthesisedCheckout(head_tree.root, head_assemblies),
            name=options.name,
            stages=stages,
            gaps=release_gaps(base, head, head_tree),
        )


@contextmanager
def _base_release(
    tree: Checkout, folder: Path | None, stages: list[str]
) -> Iterator[ReleaseArtefact]:
    """Provide the release in a folder, or that of a tree, which is built for this review."""
    if folder is not None:
        yield ReleaseArtefact.load(folder.resolve())
        return
    base_stages = [stage for stage in stages if stage in tree.stages()]
    with TemporaryDirectory(prefix="review-") as name:
        # The templates of the base were validated when the base itself was reviewed.
        yield build_release(tree, Path(name, "base"), base_stages, validate=False)


if __name__ == "__main__":
    sys.exit(main())
