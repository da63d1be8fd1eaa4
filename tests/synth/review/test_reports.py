"""The example reports in docs/review.md, compared with the output of the review."""

from datetime import date
from pathlib import Path

import pytest

import platform_facts
from release.assemblies import SynthesisedCheckout
from release.checkout import Checkout
from review import markdown
from review.acknowledged import Acknowledgements
from review.change_review import acknowledge
from review.files.file_review import compare_files
from review.report import ChangeReport
from tests.synth.review.conftest import Reviewer, copy_tree, write_release
from tools.bench.review_reports import CHANGES, DOCUMENT, without_commit

OWNERS = {".github/CODEOWNERS": b"* @acme/ml"}
"""Owners of the reports, in place of the placeholders of this repository."""

REAL_PRICES = platform_facts.prices
"""A fixture in conftest.py replaces the function."""


@pytest.fixture(scope="module")
def prod(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return Checkout(copy_tree(tmp_path_factory.mktemp("prod") / "tree"))


@pytest.fixture
def base(prod: Checkout) -> SynthesisedCheckout:
    """The repository with the synthesised stage `prod`."""
    folder = prod.root.parent / "assemblies"
    return (
        SynthesisedCheckout(prod.root, folder)
        if folder.is_dir()
        else write_release(prod, folder, ["prod"])
    )


@pytest.mark.parametrize("name", CHANGES)
def test_report_in_the_documentation_is_current(
    base: SynthesisedCheckout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(platform_facts, "prices", REAL_PRICES)
    edits = [(path, old, new) for path, (old, new) in CHANGES[name].items()]
    stages = Reviewer(base, tmp_path).review(*edits, stages=["prod"])
    before, after = (
        {path: (root / path).read_bytes() for path in CHANGES[name]}
        for root in (base.root, tmp_path / "head")
    )
    files = compare_files({**OWNERS, **before}, {**OWNERS, **after})
    report = ChangeReport(
        "HEAD",
        tuple(stages),
        dangers=acknowledge(files.dangers, Acknowledgements(), date.today()),
        notes=files.notes,
        code=files.code,
    )
    text = DOCUMENT.read_text()
    in_document = text.partition(f"<!-- report: {name} -->\n\n````markdown\n")[2]
    assert without_commit(markdown.render(report)) == in_document.partition("````\n")[0]
