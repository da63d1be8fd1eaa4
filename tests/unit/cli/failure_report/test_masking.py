"""Tests of the masking of secrets and payloads in reports."""

import json

import pytest

from cli.failure_report.masking import masked

KEY = "AKIA" + "IOSFODNN7EXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"
TOKEN = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
JSON_TOKEN = ".".join(["eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", "dozjgNryP4J3jVm"])


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f'aws_secret_access_key = "{SECRET}"', SECRET),
        (f"the key {KEY} is invalid", KEY),
        (f"clone https://{TOKEN}@github.com/a/b", TOKEN[4:]),
        ("https://ann:pass-word-1@host/simple", "pass-word-1"),
        (f"Authorization: Bearer {JSON_TOKEN}", "dozjgNryP4J3jVm"),
        ("https://b.s3.amazonaws.com/k?X-Amz-Signature=abc123&X-Amz-Expires=9", "abc123"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"),
        ("arn:aws:sts::123456789012:assumed-role/Admin/ann", "123456789012"),
        ("arn:aws:sts::123456789012:assumed-role/Admin/ann", "ann"),
        ("alarms to on-call@example.com", "on-call@example.com"),
        ('request: {"inputs": [{"name": "X", "data": [[1.5, 2.5]]}]}', "1.5"),
        (json.dumps({"message": json.dumps({"data": ["a secret text"]})}), "a secret text"),
        (json.dumps({"Environment": {"TOKEN": "plain words"}}), "plain words"),
        (json.dumps({"endpoints": {"a": {"environment": {"X": "plain words"}}}}), "plain words"),
    ],
)
def test_secrets_and_payloads_are_masked(text: str, secret: str) -> None:
    assert secret in text
    assert secret not in masked(text)


@pytest.mark.parametrize(
    "text",
    [
        "sha256 e24e7b9b5a35048c313e983f76c4bd09dad89f045ff059e354f9943bf45aa060",
        "E1128 14:02:11.000000 12 model_lifecycle.cc:641] failed to load 'm' version 1",
        "prod-text: UPDATE_ROLLBACK_COMPLETE: ping health check",
    ],
)
def test_what_explains_a_failure_stays(text: str) -> None:
    assert masked(text) == text
