"""Tests of the retries of a preflight's clients."""

from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ClientError, ConnectTimeoutError, EndpointConnectionError
from botocore.httpsession import URLLib3Session

from delivery.aws import client
from tests.unit.delivery.preflight.conftest import REGION


class FakeBody:
    """The body of a throttled response."""

    def stream(self, **_: object) -> list[bytes]:
        return [b'{"__type": "ThrottlingException", "message": "Rate exceeded"}']


def fake_network(monkeypatch: pytest.MonkeyPatch, answer: Exception | AWSResponse) -> list[object]:
    """Answer every request with `answer`; return the list of requests."""
    requests: list[object] = []

    def send(_: object, request: object) -> AWSResponse:
        requests.append(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(URLLib3Session, "send", send)
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)
    return requests


def sagemaker() -> Any:
    return client(boto3.Session("key", "secret", region_name=REGION), "sagemaker")


@pytest.mark.parametrize("kind", [ConnectTimeoutError, EndpointConnectionError])
def test_connection_is_tried_twice(
    monkeypatch: pytest.MonkeyPatch, kind: type[ConnectTimeoutError | EndpointConnectionError]
) -> None:
    requests = fake_network(monkeypatch, kind(endpoint_url="https://nowhere"))
    with pytest.raises(kind):
        sagemaker().list_endpoints()
    assert len(requests) == 2
    assert sagemaker().meta.config.connect_timeout == 5


def test_throttled_request_is_tried_ten_times(monkeypatch: pytest.MonkeyPatch) -> None:
    throttled = AWSResponse("https://here", 400, HTTPHeaders(), FakeBody())
    requests = fake_network(monkeypatch, throttled)
    with pytest.raises(ClientError, match="Rate exceeded"):
        sagemaker().list_endpoints()
    assert len(requests) == 10
