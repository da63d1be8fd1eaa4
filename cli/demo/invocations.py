"""Invoke the deployed model as an application does."""

import statistics
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from endpoint_client import CatalogEntry, EndpointClient

SENTENCES = [
    "That is a happy person",
    "That is a very happy person",
    "Today is a sunny day",
    "Der Himmel ist heute blau ☀",
]
WARM_CALLS = 20

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Embeddings:
    """Embeddings of `SENTENCES`; latencies in seconds, `warm` is a median."""

    entry: CatalogEntry
    values: Array
    cold: float
    warm: float


def invoke(*, stage: str, endpoint: str, model: str) -> Embeddings:
    """Resolve the model in the catalog and invoke it."""
    with EndpointClient(stage=stage, endpoint=endpoint) as client:
        entry, seconds, values = client.resolve(model), [], np.empty(0)
        for _ in range(1 + WARM_CALLS):
            start = time.perf_counter()
            values = client.invoke(model, {"TEXT": SENTENCES})["EMBEDDING"]
            seconds.append(time.perf_counter() - start)
    cold, *warm = seconds
    return Embeddings(entry, values, cold, statistics.median(warm))
