"""Removal of account ids, user names and local paths from reports."""

from datetime import UTC, datetime

import pytest

from account_test.scrubbing import MAX_TEXT_LENGTH, scrub

ACCOUNT = "111122223333"


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        (
            f"arn:aws:sagemaker:us-east-1:{ACCOUNT}:endpoint/one",
            "arn:aws:sagemaker:us-east-1:<account>:endpoint/one",
        ),
        (f"cdk-hnb659fds-assets-{ACCOUNT}-us-east-1", "cdk-hnb659fds-assets-<account>-us-east-1"),
        (f"{ACCOUNT}.dkr.ecr.us-east-1.amazonaws.com", "<account>.dkr.ecr.us-east-1.amazonaws.com"),
        (
            f"User: arn:aws:sts::{ACCOUNT}:assumed-role/Admin/ann.lee@example.com may not",
            "User: arn:aws:sts::<account>:assumed-role/<caller> may not",
        ),
        (f"arn:aws:iam::{ACCOUNT}:user/team/ann is", "arn:aws:iam::<account>:user/<caller> is"),
        (f"arn:aws:iam::{ACCOUNT}:role/EndpointRole", "arn:aws:iam::<account>:role/EndpointRole"),
        ("key AKIAIOSFODNN7EXAMPLE, AROAEXAMPLEID1234567:x", "key <id>, <id>:x"),
        ("write to ann.lee+aws@mail.example.com", "write to <mail>"),
        ("https://x/y?X-Amz-Signature=0a1b&Version=1", "https://x/y?X-Amz-Signature=<removed>&Version=1"),
        ("/home/ann/repository/app.py", "~/app.py"),
        ("1732352400000 and 24.09", "1732352400000 and 24.09"),
    ],
)  # fmt: skip
def test_only_identifying_text_is_replaced(text: str, scrubbed: str) -> None:
    assert scrub(text, {"/home/ann/repository": "~"}) == scrubbed


def test_nested_keys_and_values_are_scrubbed() -> None:
    content = {
        f"bucket-{ACCOUNT}": [{"at": datetime(2026, 11, 23, tzinfo=UTC), "of": (ACCOUNT, 1)}]
    }
    assert scrub(content, {}) == {
        "bucket-<account>": [{"at": "2026-11-23T00:00:00+00:00", "of": ["<account>", 1]}]
    }


def test_long_text_is_truncated_after_scrubbing() -> None:
    text = "x" * (MAX_TEXT_LENGTH - 4) + f"-{ACCOUNT}"
    assert scrub(text, {}) == "x" * (MAX_TEXT_LENGTH - 4) + "-<ac"
