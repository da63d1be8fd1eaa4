"""Calls of an endpoint's models, each checked: numbers go in, and come back multiplied."""

import http.client
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import boto3
import numpy as np
from botocore.exceptions import ClientError

from local_sagemaker.bench.soak.record import Call, Record
from local_sagemaker.tests.support.asking import ONCE

JSON = "application/json"
BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="
MOST_BINARY, MOST_JSON = 1_500_000, 20_000
"""Numbers of a request: of 4 bytes each, 6 MB are the most that InvokeEndpoint takes."""


@dataclass(frozen=True)
class Request:
    """A body, its type, and the numbers in it."""

    body: bytes
    kind: str
    numbers: np.ndarray[Any, Any]


@dataclass(frozen=True)
class Answer:
    """A status, the type of a body, and the body, or why there is none."""

    status: int
    kind: str
    body: bytes


Send = Callable[[str, str, Request], Answer]
"""Sends a request to an endpoint and one of its models, or to its only one, which has no name."""


def request(chance: random.Random) -> Request:
    """Return numbers, JSON or binary, of any size."""
    if chance.random() < 0.7:
        return _json(_numbers(chance, MOST_JSON))
    return _binary(_numbers(chance, MOST_BINARY))


def small_request() -> Request:
    """Return one number."""
    return _json(np.array([7], np.float32))


def kept(client: Any) -> Send:
    """Return what sends by boto3's client, which keeps its connections."""

    def send(endpoint: str, model: str, asked: Request) -> Answer:
        target = {"TargetModel": f"{model}.tar.gz"} if model else {}
        try:
            answer = client.invoke_endpoint(
                EndpointName=endpoint, ContentType=asked.kind, Body=asked.body, **target
            )
        except ClientError as error:
            response: Any = error.response
            status = response["ResponseMetadata"]["HTTPStatusCode"]
            about = response["Error"]
            return Answer(status, "", f"{about['Code']} {about['Message']}".encode())
        return Answer(200, answer["ContentType"], answer["Body"].read())

    return send


def client() -> Any:
    """Return a client of InvokeEndpoint that repeats nothing."""
    return boto3.client("sagemaker-runtime", config=ONCE)


def not_kept(port: int) -> Send:
    """Return what sends each request over a connection of its own."""

    def send(endpoint: str, model: str, asked: Request) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        target = {"X-Amzn-SageMaker-Target-Model": f"{model}.tar.gz"} if model else {}
        try:
            connection.request(
                "POST",
                f"/endpoints/{endpoint}/invocations",
                body=asked.body,
                headers={"Content-Type": asked.kind, "Connection": "close", **target},
            )
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        if answer.status == 200:
            return Answer(200, answer.getheader("Content-Type", ""), body)
        said = f"{answer.getheader('x-amzn-errortype', '')} {body.decode(errors='replace')}"
        return Answer(answer.status, "", said.encode())

    return send


@dataclass(frozen=True)
class Asker:
    """Asks, and notes what came of it. `factors` are those that a model may multiply by now."""

    record: Record
    send: Send
    factors: Callable[[str, str], set[int]]

    def ask(self, endpoint: str, model: str, asked: Request) -> bool:
        """Return whether the answer was right."""
        before, begun = self.factors(endpoint, model), self.record.now()
        try:
            answer = self.send(endpoint, model, asked)
            allowed = before | self.factors(endpoint, model)  # also what came meanwhile
            wrong = _wrong(answer, asked.numbers, allowed)
        except (OSError, http.client.HTTPException) as error:
            wrong = f"broke off: {error!r}"
        self.record.note(Call(endpoint, model, begun, self.record.now(), wrong))
        return wrong is None


def _numbers(chance: random.Random, most: int) -> np.ndarray[Any, Any]:
    count = int(most ** chance.random())
    return np.random.default_rng(chance.getrandbits(32)).integers(1, 100, count).astype(np.float32)


def _json(numbers: np.ndarray[Any, Any]) -> Request:
    tensor = {**_tensor(numbers), "data": numbers.tolist()}
    return Request(json.dumps({"inputs": [tensor]}).encode(), JSON, numbers)


def _binary(numbers: np.ndarray[Any, Any]) -> Request:
    raw = numbers.tobytes()
    tensor = {**_tensor(numbers), "parameters": {"binary_data_size": len(raw)}}
    header = {"inputs": [tensor], "parameters": {"binary_data_output": True}}
    text = json.dumps(header).encode()
    return Request(text + raw, f"{BINARY}{len(text)}", numbers)


def _tensor(numbers: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {"name": "X", "datatype": "FP32", "shape": [len(numbers)]}


def _wrong(answer: Answer, numbers: np.ndarray[Any, Any], factors: set[int]) -> str | None:
    if answer.status != 200:
        return f"{answer.status} {answer.body.decode(errors='replace')[:500]}"
    if answer.kind.startswith(BINARY):
        size = int(answer.kind.removeprefix(BINARY))
        result = np.frombuffer(answer.body[size:], np.float32)
    else:
        result = np.array(json.loads(answer.body)["outputs"][0]["data"], np.float32)
    if result.shape != numbers.shape:
        return f"{len(result)} numbers for {len(numbers)}"
    if any(np.array_equal(result, numbers * factor) for factor in factors):
        return None
    return f"times {result[0] / numbers[0]}, and not {sorted(factors)}"
