"""Tests of errors about credentials."""

from typing import Any

import pytest
from botocore.exceptions import ClientError, UnauthorizedSSOTokenError

from delivery.errors import explain_error
from endpoint_client import EndpointError


def client_error(code: str) -> ClientError:
    response: Any = {"Error": {"Code": code, "Message": "no"}}
    return ClientError(response, "DescribeStacks")


def endpoint_error(code: str) -> EndpointError:
    error = EndpointError("minilm: no")
    error.__cause__ = client_error(code)
    return error


@pytest.mark.parametrize(
    "error",
    [
        client_error("ExpiredToken"),
        client_error("ExpiredTokenException"),
        client_error("RequestExpired"),
        endpoint_error("ExpiredTokenException"),
        UnauthorizedSSOTokenError(),
    ],
    ids=repr,
)
def test_expired_credentials_are_explained(error: Exception) -> None:
    assert explain_error(error).startswith("the credentials have expired: get new ones (")


def test_other_errors_keep_their_text() -> None:
    error = client_error("AccessDenied")
    assert explain_error(error) == f"AWS: {error}"
