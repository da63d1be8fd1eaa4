"""Changed triggers and token permissions of workflows."""

import pytest

from release.review.files.file_review import FileReview, compare_files

PATH = ".github/workflows/ci.yml"
WORKFLOW = """\
on: pull_request
permissions:
  contents: read
jobs:
  test:
    environment: prod
    steps: []
"""


def review(before: str | None, after: str) -> FileReview:
    base, head = ({} if text is None else {PATH: text.encode()} for text in (before, after))
    return compare_files(base, head)


def danger_texts(before: str | None, after: str) -> list[str]:
    """Return the message of a danger that widens a workflow, or its details."""
    return [
        text
        for danger in review(before, after).dangers
        if danger.rule == "widened_workflows"
        for text in (danger.details or [danger.message])
    ]


TOKEN = "the token of the job test may now: "


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            "on: pull_request",
            "on: [pull_request, pull_request_target]",
            "can be triggered by pull_request_target, with the repository's permissions",
        ),
        (
            "on: pull_request",
            "on: { workflow_run: { workflows: [a] } }",
            "can be triggered by workflow_run, with the repository's permissions",
        ),
        ("contents: read", "contents: write", f"{TOKEN}write contents"),
        ("contents: read", "contents: read\n  id-token: write", f"{TOKEN}write id-token"),
        ("\n  contents: read", " write-all", f"{TOKEN}write all scopes"),
        (
            "permissions:\n  contents: read\n",
            "",
            f"{TOKEN}the repository's default permissions",
        ),
        ("steps: []", "permissions: { issues: write }", f"{TOKEN}write issues"),
    ],
)
def test_wider_trigger_or_permission_is_a_danger(old: str, new: str, text: str) -> None:
    texts = danger_texts(WORKFLOW, WORKFLOW.replace(old, new))
    assert any(danger_text.endswith(text) for danger_text in texts), texts


def test_new_workflow_is_compared_with_read_permissions() -> None:
    assert danger_texts(None, WORKFLOW) == []
    texts = danger_texts(None, WORKFLOW.replace("contents: read", "packages: write"))
    assert texts[0].endswith(f"{TOKEN}write packages")


def test_narrowed_permissions_are_a_note() -> None:
    write_all = WORKFLOW.replace("\n  contents: read", " write-all")
    narrowed = review(write_all, WORKFLOW.replace("contents: read", "contents: write"))
    assert narrowed.dangers == ()
    assert narrowed.notes == (f'{PATH}: permissions: write-all -> {{"contents": "write"}}',)


@pytest.mark.parametrize("name", ["concurrency", "name", "timeout-minutes", "permissions"])
def test_job_named_like_a_field_is_compared(name: str) -> None:
    before = f"on: push\npermissions: {{}}\njobs: {{ {name}: {{ steps: [{{ run: a }}] }} }}\n"
    (danger,) = review(before, before.replace("run: a", "run: b")).dangers
    assert f"jobs.{name}.steps.0.run: a -> b" in danger.message
