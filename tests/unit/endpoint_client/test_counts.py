"""The number of requests of an invocation."""

from typing import Any

from endpoint_client import EndpointClient
from tests.unit.endpoint_client.conftest import TEXT_INPUT


def test_invocations_read_the_catalog_once(client: EndpointClient, aws: Any) -> None:
    client.invoke("minilm", TEXT_INPUT)
    assert (len(aws.look_ups), len(aws.listings), len(aws.requests)) == (1, 0, 1)
    for _ in range(3):
        client.invoke("minilm", TEXT_INPUT)
    assert (len(aws.look_ups), len(aws.listings), len(aws.requests)) == (1, 0, 4)
