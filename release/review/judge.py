"""Judge a change as files: `python -m release.review.judge --head FOLDER --assemblies FOLDER`.

The base judges: its code and packages run this, its app makes what is compared with, its settings
and acknowledgements count. Nothing of the head runs. Reviews of other commits start this program:
its arguments and exit codes (`tritonsm review --help`) stay as they are.
"""

import argparse
import sys
from contextlib import suppress
from importlib.metadata import distributions
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from release.checkouts import Clone
from release.review.assemblies import Synthesised, write
from release.review.output_files import conclude, remove
from release.review.report import Commits, Gap, Report
from release.review.session import Review
from release.tree import CheckoutError, Tree


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
    report = _report(Tree(options.base.resolve()), head, options.name, options.stage)
    return conclude(report, options.output)


def _report(base: Tree, head: Synthesised, name: str, stages: list[str] | None) -> Report:
    review = Review(base, head, commits(base, head))
    with TemporaryDirectory(prefix="review-") as folder:
        known = base.stages()
        named = [stage for stage in stages or known if stage in known]
        made = write(base, Path(folder), named, validate=False)  # a delivery has validated it
        review.add(stages or sorted({*head.stages(), *known}), made)
    review.lint_models(base)
    review.compare_repositories(base)
    if other := other_versions(base):
        review.failed.append(Gap("packages", f"{other}: the workflow installs those of each side"))
    return review.report(name, named=stages)


def commits(base: Tree | None, head: Tree) -> Commits:
    """Return the commits of two trees, as far as they are clones."""
    clone = Clone(head.root)
    before = after = None
    dirty = False
    with suppress(CheckoutError):
        after, dirty = clone.head(), clone.is_dirty()
    with suppress(CheckoutError):
        before = Clone(base.root).head() if base else None
    return Commits(base=before, head=after, dirty=dirty)


def other_versions(tree: Tree) -> str:
    """Return the packages that are installed in other versions than a tree pins, and nothing else.

    A local label, as of 2.13.0+cpu, does not count (PEP 440, "Version matching").
    """
    path = tree.root / "requirements.txt"
    installed = {canonicalize_name(each.name): each.version for each in distributions()}
    other = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        with suppress(InvalidRequirement):  # a comment, or an option
            pinned = Requirement(line.partition("#")[0].removesuffix("\\").strip())
            version = installed.get(canonicalize_name(pinned.name))
            applies = pinned.marker is None or pinned.marker.evaluate()
            if applies and version and not pinned.specifier.contains(version, prereleases=True):
                other.append(f"{pinned}, and {version} is installed")
    return "; ".join(other)


if __name__ == "__main__":
    sys.exit(main())
