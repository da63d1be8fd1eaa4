"""How many requests an invocation sends."""

from typing import Any

import numpy as np

from endpoint_client import EndpointClient


def test_an_invocation_reads_the_catalog_once_and_then_not_at_all(
    client: EndpointClient, aws: Any
) -> None:
    def requests() -> tuple[int, int, int]:
        return len(aws.look_ups), len(aws.listings), len(aws.requests)

    text = {"TEXT": np.array([["a"]], np.object_)}
    client.invoke("minilm", text)
    assert requests() == (1, 0, 1)
    for _ in range(3):
        client.invoke("minilm", text)
    assert requests() == (1, 0, 4)
