"""Tests of errors about credentials."""

import pytest
from botocore.exceptions import UnauthorizedSSOTokenError

from delivery.errors import explain_error
from endpoint_client import EndpointError
from tests.unit.model_build.fakes import client_error


def endpoint_error(code: str) -> EndpointError:
    error = EndpointError("minilm: no")
    error.__cause__ = client_error("DescribeStacks", code)
    return error


@pytest.mark.parametrize(
    "error",
    [
        client_error("DescribeStacks", "ExpiredToken"),
        client_error("DescribeStacks", "ExpiredTokenException"),
        client_error("DescribeStacks", "RequestExpired"),
        endpoint_error("ExpiredTokenException"),
        UnauthorizedSSOTokenError(),
    ],
    ids=repr,
)
def test_expired_credentials_are_explained(error: Exception) -> None:
    assert explain_error(error).startswith("the credentials have expired: get new ones (")


def test_other_errors_keep_their_text() -> None:
    error = client_error("DescribeStacks", "AccessDenied")
    assert explain_error(error) == f"AWS: {error}"
