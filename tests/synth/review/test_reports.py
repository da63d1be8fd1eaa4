"""The reports of docs/review.md are what the review renders from their changes.

Their templates are made in this process, and no linter runs: none of the three has a finding.
"""

from pathlib import Path

import pytest

import platform_facts
from bench.review_reports import CHANGES, DOCUMENT, shorten
from release.review import markdown
from release.review.assemblies import Synthesised, write
from release.review.files.file_review import compare_files
from release.review.findings import NOTHING
from release.review.report import ChangeReport
from release.tree import Tree
from tests.synth.review.conftest import Reviewer, copy_tree

REAL_PRICES = platform_facts.prices
"""A fixture of the conftest replaces them."""


@pytest.fixture(scope="module")
def prod(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree(copy_tree(tmp_path_factory.mktemp("prod") / "tree"))


@pytest.fixture
def base(prod: Tree) -> Synthesised:
    """The repository, whose `prod` is synthesised once."""
    folder = prod.root.parent / "assemblies"
    return Synthesised(prod.root, folder) if folder.is_dir() else write(prod, folder, ["prod"])


@pytest.mark.parametrize("name", CHANGES)
def test_a_report_in_the_documents_is_what_the_review_renders(
    base: Synthesised, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(platform_facts, "prices", REAL_PRICES)
    edits = [(path, old, new) for path, (old, new) in CHANGES[name].items()]
    stages = Reviewer(base, tmp_path).review(*edits, stages=["prod"])
    before, after = (
        {path: (root / path).read_bytes() for path in CHANGES[name]}
        for root in (base.root, tmp_path / "head")
    )
    files = compare_files(before, after)
    report = ChangeReport(
        "HEAD",
        tuple(stages),
        NOTHING,
        dangers=files.dangers,
        notes=files.notes,
        not_judged=files.not_judged,
    )
    text = DOCUMENT.read_text()
    in_document = text.partition(f"<!-- report: {name} -->\n\n````markdown\n")[2]
    assert shorten(markdown.render(report)) == in_document.partition("````\n")[0]
