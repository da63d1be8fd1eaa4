"""Changed triggers, permissions and environments of workflows."""

import pytest

from release.review.files.file_review import FileReview, compare_files

WORKFLOW = """\
on: pull_request
permissions:
  contents: read
jobs:
  test:
    environment: prod
    steps: []
"""


PATH = ".github/workflows/ci.yml"


def compared(before: str | None, after: str) -> FileReview:
    base, head = ({} if text is None else {PATH: text.encode()} for text in (before, after))
    return compare_files(base, head)


def widened(before: str | None, after: str) -> list[str]:
    """Return the reasons of dangers, without the fields and values."""
    dangers = compared(before, after).dangers
    return [
        text.rpartition(": ")[2]
        for danger in dangers
        if danger.rule == "widened_workflows"
        for text in (danger.details or [danger.message])
        if "reviews" not in text
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("environment: prod", "environment: prod  # a comment", []),
        ("contents: read", "contents: none", []),
        (
            "on: pull_request",
            "on: [pull_request, pull_request_target]",
            ["can be triggered by pull_request_target, with the repository's permissions"],
        ),
        (
            "on: pull_request",
            "on: { workflow_run: { workflows: [a] } }",
            ["can be triggered by workflow_run, with the repository's permissions"],
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
            ["the token of the job test may now: the repository's default permissions"],
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
def test_widened_workflow(old: str, new: str, expected: list[str]) -> None:
    assert old in WORKFLOW
    texts = [text.rpartition(": ")[2] for text in expected]
    shown = widened(WORKFLOW, WORKFLOW.replace(old, new))
    assert bool(shown) == bool(texts)
    assert {*texts} <= {*shown}


def test_new_workflow_is_compared_with_read_permissions() -> None:
    assert widened(None, WORKFLOW) == []
    wide = WORKFLOW.replace("contents: read", "packages: write")
    assert widened(None, wide)[:1] == ["write packages"]


def test_narrowed_permissions_are_a_note() -> None:
    wide = WORKFLOW.replace("\n  contents: read", " write-all")
    narrower = compared(wide, WORKFLOW.replace("contents: read", "contents: write"))
    assert narrower.dangers == ()
    assert narrower.notes == (f'{PATH}: permissions: write-all -> {{"contents": "write"}}',)


def test_key_depends_on_the_permission_level() -> None:
    keys = {
        danger.key
        for level in ("read", "write")
        for danger in compared(
            WORKFLOW, WORKFLOW.replace("contents: read", f"contents: read\n  packages: {level}")
        ).dangers
    }
    assert len(keys) == 2


@pytest.mark.parametrize("name", ["concurrency", "name", "timeout-minutes", "permissions"])
def test_job_named_like_a_field_is_compared(name: str) -> None:
    before = f"on: push\npermissions: {{}}\njobs: {{ {name}: {{ steps: [{{ run: a }}] }} }}\n"
    (danger,) = compared(before, before.replace("run: a", "run: b")).dangers
    assert f"jobs.{name}.steps.0.run: a -> b" in danger.message
