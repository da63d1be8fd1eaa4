"""Calls of models that multiply: each answer is checked, and each failure must have a cause."""

import json
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import numpy as np
from botocore.exceptions import BotoCoreError, ClientError

from local_sagemaker.tests.support.asking import ONCE

BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="
MOST_NUMBERS = 1_500_000
"""Of 4 bytes each: 6 MB are the most that InvokeEndpoint takes."""
NOT_READY = "ModelNotReadyException"
"""Allowed at any time: loads take long on a busy machine, and the caller retries."""


class Record:
    """Counts of calls and faults; `factors` are those by which a model may multiply now."""

    def __init__(self) -> None:
        self.calls, self.faults = Counter[str](), Counter[str]()
        self.unexplained: list[str] = []
        self.factors: dict[tuple[str, str], set[int]] = defaultdict(set)
        self._in_progress: Counter[str] = Counter()
        self._last_fault: dict[str, float] = {}
        self._lock = threading.Lock()

    @contextmanager
    def fault(self, endpoint: str) -> Iterator[None]:
        """Explain each failure of an endpoint's calls that overlap with the block."""
        with self._lock:
            self._in_progress[endpoint] += 1
        try:
            yield
        finally:
            with self._lock:
                self._in_progress[endpoint] -= 1
                self._last_fault[endpoint] = time.monotonic()

    def count(self, endpoint: str, began: float, problem: str | None) -> None:
        """Count a call that has ended; a failure without a cause is kept."""
        with self._lock:
            fault = self._in_progress[endpoint] or self._last_fault.get(endpoint, 0.0) > began
            if problem is None:
                self.calls["answered"] += 1
            elif NOT_READY in problem:
                self.calls["not ready yet"] += 1
            elif fault:
                self.calls["failed by a fault"] += 1
            else:
                self.unexplained.append(f"{endpoint}: {problem}")


class CheckingClient:
    """Calls models, and records what comes of it; may be used by several threads."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self._runtime: Any = boto3.client("sagemaker-runtime", config=ONCE)

    def call(self, endpoint: str, model: str = "", *, numbers: int = 1) -> str | None:
        """Send numbers; return the problem with the answer, if there is one."""
        array = np.random.default_rng().integers(1, 100, numbers).astype(np.float32)
        body, content_type = request(array)
        target = {"TargetModel": f"{model}.tar.gz"} if model else {}
        allowed, began = set(self.record.factors[endpoint, model]), time.monotonic()
        try:
            response = self._runtime.invoke_endpoint(
                EndpointName=endpoint, ContentType=content_type, Body=body, **target
            )
            content = response["Body"].read()
            header = int(response["ContentType"].removeprefix(BINARY))
            answer = np.frombuffer(content[header:], np.float32)
            allowed |= self.record.factors[endpoint, model]  # an archive replaced meanwhile
            right = any(np.array_equal(answer, array * factor) for factor in allowed)
            problem = None if right else f"{model} multiplied by {answer[:1] / array[:1]}"
        except (BotoCoreError, ClientError) as error:
            problem = f"{model}: {error}"
        self.record.count(endpoint, began, problem)
        return problem

    def close(self) -> None:
        """Close the kept connections."""
        self._runtime.close()


def request(array: Any) -> tuple[bytes, str]:
    """Return the body and the content type of a binary request."""
    tensor = {"name": "X", "datatype": "FP32", "shape": [len(array)]}
    parameters = {"binary_data_size": array.nbytes}
    content = {
        "inputs": [{**tensor, "parameters": parameters}],
        "parameters": {"binary_data_output": True},
    }
    header = json.dumps(content).encode()
    return header + array.tobytes(), f"{BINARY}{len(header)}"


def random_size(chance: random.Random) -> int:
    """Return how many numbers a request has: as often some as millions."""
    return int(MOST_NUMBERS ** chance.random())
