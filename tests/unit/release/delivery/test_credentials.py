from typing import Any

import pytest
from botocore.exceptions import ClientError, UnauthorizedSSOTokenError

from endpoint_client import EndpointError
from release.delivery.errors import expired, explained


def refused(code: str) -> ClientError:
    response: Any = {"Error": {"Code": code, "Message": "no"}}
    return ClientError(response, "DescribeStacks")


@pytest.mark.parametrize("code", ["ExpiredToken", "ExpiredTokenException", "RequestExpired"])
def test_credentials_that_have_expired_are_said_to_have(code: str) -> None:
    error = refused(code)
    assert expired(error)
    assert explained(error).startswith("the credentials have expired: get new ones (")


def test_a_session_of_single_sign_on_expires_too() -> None:
    assert expired(UnauthorizedSSOTokenError())


def test_what_the_client_raises_is_known_by_its_cause() -> None:
    wrapped = EndpointError("minilm: expired")
    wrapped.__cause__ = refused("ExpiredTokenException")
    assert expired(wrapped)
    assert not expired(EndpointError("minilm: no such tensor"))


def test_another_refusal_is_told_as_it_is() -> None:
    assert not expired(refused("AccessDenied"))
    assert explained(refused("AccessDenied")).startswith("AWS: An error occurred (AccessDenied)")
