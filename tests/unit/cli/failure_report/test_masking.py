"""Tests of the masking of secrets and payloads in reports."""

import json

import pytest

from cli.failure_report.masking import masked, variable_values

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
        ('{"data": ["he said \\"]\\", then a secret text"], "x": 1}', "secret text"),
        ('{"data": ["a\\\\"], "prompt": "a secret text"}', "secret text"),
        (json.dumps([json.dumps(json.dumps({"data": ['"], "', "a secret text"]}))]), "secret text"),
        ("ValueError: {'data': ['it\\'s', 'a secret text']}", "secret text"),
        ('{"text_input": "a \\"quoted\\" secret text"}', "secret text"),
        ('{"fp32_contents": [1.25], "shape": [1]}', "1.25"),
        ('{"data": {"b": 1.25}}', "1.25"),
        ('{"data": 1.25}', "1.25"),
        ('{"data": [[1.25, 2.5', "1.25"),
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


def test_text_after_a_payload_stays() -> None:
    text = '{"data": ["a\\"]"], "shape": [1, 7]}\nfailed to load'
    assert masked(f"in {text}") == 'in {"data": "<masked>", "shape": [1, 7]}\nfailed to load'
    assert masked('{"data": [1, 2\nfailed to load') == '{"data": "<masked>"\nfailed to load'


VARIABLES = {
    "PHRASE": 'correct "horse"\nbattery staple',
    "PLACE": "Zürich/See 7",
    "WORKERS": "16",
    "VERBOSE": "True",
    "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME": "minilm",
}


@pytest.mark.parametrize("place", ["environment", "Environment", "EnvironmentVariables"])
def test_values_of_variables_are_known(place: str) -> None:
    description = json.dumps({"Containers": [{place: VARIABLES, "Image": "triton"}]})
    assert variable_values([description, "a log"]) == {
        *(VARIABLES["PHRASE"], *VARIABLES["PHRASE"].splitlines()),
        VARIABLES["PLACE"],
    }


@pytest.mark.parametrize(
    "text",
    [
        "the model logs battery staple",
        json.dumps({"message": VARIABLES["PHRASE"]}),
        json.dumps([json.dumps(VARIABLES["PHRASE"])]),
        "https://host/?place=Z%C3%BCrich%2FSee+7&x=1",
        json.dumps({"message": VARIABLES["PLACE"]}),
        f"PLACE={VARIABLES['PLACE']}",
    ],
)
def test_values_of_variables_are_masked_everywhere(text: str) -> None:
    hidden = masked(text, variable_values([json.dumps({"Environment": VARIABLES})]))
    for part in ("horse", "staple", "rich", "See"):
        assert part not in hidden
