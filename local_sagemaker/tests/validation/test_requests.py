"""Requests to all services: what AWS refuses is refused with its code and message."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_sagemaker.api import refusal
from local_sagemaker.emulator import SERVICES
from local_sagemaker.tests.recorded.account import Account
from local_sagemaker.validation import model
from local_sagemaker.validation.documented import CALCULATED, rules
from local_sagemaker.validation.protocols import SERVICE_NAMES, service_model

Record = dict[str, Any]
TABLE = yaml.safe_load(Path(__file__).with_name("requests.yaml").read_text())
OWN_SERVICES = ("application-autoscaling", "codebuild", "ecr", "sagemaker", "service-quotas")
ABSENT = object()
INVALID_VALUES: tuple[Any, ...] = (
    ABSENT, None, True, -1, 2**62, 1e300, "", "../x", "m" * 5000, [], [[]], {}, {"x": 1}, [None],
)  # fmt: skip
VALIDATION_ERROR = re.compile(
    r"\d+ validation errors? detected|The parameter|Invalid|Serialization|must|does not support"
)


def expand(value: Any) -> Any:
    """Return a request of the table, without nulls; "65 s" is a text of 65 letters s."""
    if isinstance(value, dict):
        return {name: expand(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [expand(inner) for inner in value]
    match = re.fullmatch(r"(\d{2,}) (\w)", value) if isinstance(value, str) else None
    return match[2] * int(match[1]) if match else value


def largest_requests() -> dict[str, Record]:
    """Return a request of the table for each operation of this package's own services."""
    rows = [row for name in ("given", "accepted", "refused") for row in TABLE[name]]
    rows.sort(key=lambda row: len(str(row[1])))
    return {row[0]: expand(row[1]) for row in rows if row[0].partition(":")[0] in OWN_SERVICES}


def mutations(value: Any) -> Iterator[Any]:
    """Yield copies of a request, each with one part replaced by an invalid value."""
    parts = list(value.items() if isinstance(value, dict) else enumerate(value))
    for key, part in parts:
        inner = mutations(part) if isinstance(part, dict | list) else ()
        for bad in (*INVALID_VALUES, *inner):
            changed = {k: v for k, v in {**dict(parts), key: bad}.items() if v is not ABSENT}
            yield changed if isinstance(value, dict) else list(changed.values())


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    account = Account(tmp_path_factory.mktemp("account"))
    for operation, request, *until in TABLE["given"]:
        assert account.call(operation, request, *until).get("Code") is None, operation
    yield account
    account.close()


@pytest.mark.parametrize(("operation", "request_"), TABLE["accepted"])
def test_valid_request_is_no_validation_error(
    operation: str, request_: Record, account: Account
) -> None:
    answer = account.call(operation, expand(request_))
    assert not VALIDATION_ERROR.search(answer.get("Message", "")), answer


@pytest.mark.parametrize(("operation", "request_", "error", "source"), TABLE["refused"])
def test_invalid_request_is_refused_as_by_aws(
    operation: str, request_: Record, error: str, source: str, account: Account
) -> None:
    assert source in ("local", "reference") or source.startswith("https://")
    code, _, message = error.partition(": ")
    answer = account.call(operation, expand(request_))
    assert answer["Code"] == code, answer["Message"]
    assert message in answer["Message"]


@pytest.mark.parametrize(("operation", "request_"), largest_requests().items())
def test_invalid_request_is_no_internal_error(
    operation: str, request_: Record, account: Account
) -> None:
    for mutation in mutations(request_):
        assert account.status(operation, json.dumps(mutation)) in (200, 400), mutation


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "SerializationException"),
        (b'{"Name": NaN}', "SerializationException"),
        (b"\xff", "SerializationException"),
        (b"[]", "SerializationException"),
        (b'{"Name": 5}', "SerializationException"),
        (b'{"Name": null}', "ValidationException"),
        (b'{"Name": "a", "Any": 1}', "ValidationException"),
    ],
)
def test_body_that_is_no_request_is_refused(body: bytes, code: str) -> None:
    headers = {
        "x-amz-target": "AmazonSSM.GetParameter",
        "authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/ssm/aws4_request",
    }
    response = refusal("/", headers, body)
    assert response
    assert response[1]["x-amzn-ErrorType"] == code


@pytest.mark.parametrize("target", ["AmazonSSM.None", "None.GetParameter", ""])
def test_unknown_operation_reaches_ministack(target: str) -> None:
    credential = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/none/aws4_request"
    assert refusal("/", {"x-amz-target": target, "authorization": credential}, b"{}") is None


def test_rules_are_of_existing_operations() -> None:
    for key in (*CALCULATED, *(key for rule in rules() for key in rule["operations"])):
        service, _, operation = key.partition(":")
        assert service_model(service).operation_model(operation)


@pytest.mark.parametrize("service", [*SERVICES.split(","), "sagemaker", "codebuild"])
def test_patterns_compile(service: str) -> None:
    models = service_model(SERVICE_NAMES.get(service, service))
    patterns = {models.shape_for(name).metadata.get("pattern") for name in models.shape_names}
    uncompiled = [pattern for pattern in patterns if pattern and not model._compile(pattern)]
    assert len(uncompiled) <= 6, uncompiled  # SageMaker's have classes that Python lacks
