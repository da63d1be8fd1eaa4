"""Workflows that may do more than before."""

from pathlib import Path

import pytest

from release.review.dangers.widened_workflows import widened_workflows
from release.tree import Tree
from tests.unit.release.review.conftest import write

WORKFLOW = """\
on: pull_request
permissions:
  contents: read
jobs:
  test:
    environment: prod
    steps: []
"""


def said(tmp_path: Path, before: str | None, after: str) -> list[str]:
    trees = Tree(tmp_path / "before"), Tree(tmp_path / "after")
    for tree, content in zip(trees, (before, after), strict=True):
        if content is not None:
            write(tree, ".github/workflows/ci.yml", content)
    return [it.message for it in widened_workflows(*trees)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("environment: prod", "environment: prod  # a comment", []),
        ("contents: read", "contents: none", []),
        (
            "on: pull_request",
            "on: [pull_request, pull_request_target]",
            ["it is set off by pull_request_target, with the repository's rights"],
        ),
        (
            "on: pull_request",
            "on: { workflow_run: { workflows: [a] } }",
            ["it is set off by workflow_run, with the repository's rights"],
        ),
        (
            "contents: read",
            "contents: write",
            ["the token of the job test may now: write contents"],
        ),
        (
            "contents: read",
            "contents: read\n  id-token: write",
            ["the token of the job test may now: write id-token"],
        ),
        (
            "\n  contents: read",
            " write-all",
            ["the token of the job test may now: write all scopes"],
        ),
        (
            "permissions:\n  contents: read\n",
            "",
            ["the token of the job test may now: whatever the repository's settings say"],
        ),
        (
            "steps: []",
            "permissions: { issues: write }",
            ["the token of the job test may now: write issues"],
        ),
        (
            "    environment: prod\n",
            "",
            ["the job test no longer runs in the environment prod"],
        ),
    ],
)
def test_a_workflow_is_wider(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    assert old in WORKFLOW
    found = said(tmp_path, WORKFLOW, WORKFLOW.replace(old, new))
    assert found == [f"ci.yml: {it}" for it in expected]


def test_a_new_workflow_is_held_against_one_that_reads(tmp_path: Path) -> None:
    assert said(tmp_path, None, WORKFLOW) == []
    wide = WORKFLOW.replace("contents: read", "packages: write")
    assert said(tmp_path, None, wide) == [
        "ci.yml: the token of the job test may now: write packages"
    ]


def test_less_than_everything_is_not_more(tmp_path: Path) -> None:
    wide = WORKFLOW.replace("\n  contents: read", " write-all")
    assert said(tmp_path, wide, WORKFLOW.replace("contents: read", "contents: write")) == []


def test_what_is_no_workflow_is_the_linter_s(tmp_path: Path) -> None:
    assert said(tmp_path, WORKFLOW, "[") == []


def test_acknowledging_that_a_token_reads_acknowledges_no_write(tmp_path: Path) -> None:
    keys = set()
    for level in ("read", "write"):
        trees = Tree(tmp_path / level / "before"), Tree(tmp_path / level / "after")
        write(trees[0], ".github/workflows/ci.yml", WORKFLOW)
        wider = WORKFLOW.replace("contents: read", f"contents: read\n  packages: {level}")
        write(trees[1], ".github/workflows/ci.yml", wider)
        keys |= {it.subject for it in widened_workflows(*trees)}
    assert len(keys) == 2
