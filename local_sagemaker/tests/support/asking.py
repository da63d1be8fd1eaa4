"""Asking an endpoint, and what it answers: a number, or why not."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

ONCE = Config(
    retries={"total_max_attempts": 1}, read_timeout=600, max_pool_connections=300, proxies={}
)
"""Of a client that repeats nothing, and waits longer than SageMaker does."""


@dataclass(frozen=True)
class Failure:
    """What a client learns from an invocation that is not answered."""

    status: int
    code: str
    message: str

    @classmethod
    def of(cls, error: ClientError) -> "Failure":
        """Read it from what boto3 raised."""
        response: Any = error.response
        about = response["Error"]
        return cls(response["ResponseMetadata"]["HTTPStatusCode"], about["Code"], about["Message"])


class Asker:
    """Asks one endpoint of models that multiply; may be used by several threads."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self._runtime: Any = boto3.client("sagemaker-runtime", config=ONCE)

    def ask(self, model: str = "", **more: Any) -> float:
        """Return what a model makes of 7. Raises `ClientError`."""
        return float(json.loads(self.answer(model, **more)["Body"].read())["outputs"][0]["data"][0])

    def answer(self, model: str = "", **more: Any) -> Any:
        """Return the whole answer to 7. Raises `ClientError`."""
        tensor = {"name": "X", "shape": [1, 1], "datatype": "FP32", "data": [7]}
        target = {"TargetModel": f"{model}.tar.gz"} if model else {}
        request = {
            "ContentType": "application/json",
            "Body": json.dumps({"inputs": [tensor]}),
            **target,
            **more,
        }
        return self._runtime.invoke_endpoint(EndpointName=self.endpoint, **request)

    def failure(self, model: str = "", **more: Any) -> Failure:
        """Return why a model does not answer, which it must not."""
        with pytest.raises(ClientError) as raised:
            self.ask(model, **more)
        return Failure.of(raised.value)

    def answer_or_failure(self, model: str = "") -> float | Failure:
        """Return what a model makes of 7, or why not."""
        try:
            return self.ask(model)
        except ClientError as error:
            return Failure.of(error)


@contextmanager
def meanwhile(*calls: Callable[[], Any]) -> Iterator[list["Future[Any]"]]:
    """Make calls on threads of their own; the block ends when all of them have."""
    with ThreadPoolExecutor(len(calls)) as threads:
        yield [threads.submit(call) for call in calls]


def processes(folder: Path, program: str = "") -> list[int]:
    """Return what was started in folders whose paths begin so: of one program, or all."""
    result = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            place, running = (process / "cwd").readlink(), (process / "exe").readlink()
        except OSError:  # it has ended, or is not ours
            continue
        if str(place).startswith(str(folder)) and program in ("", running.name):
            result.append(int(process.name))
    return result
