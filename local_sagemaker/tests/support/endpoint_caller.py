"""A client that invokes the models of an endpoint."""

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
"""Configuration of a client without retries and with a long timeout."""

INPUT = 7
"""The input of all invocations."""


@dataclass(frozen=True)
class Failure:
    """The error of a failed invocation."""

    status: int
    code: str
    message: str

    @classmethod
    def of(cls, error: ClientError) -> "Failure":
        """Return the failure in an exception of boto3."""
        response: Any = error.response
        status = response["ResponseMetadata"]["HTTPStatusCode"]
        return cls(status, response["Error"]["Code"], response["Error"]["Message"])


class EndpointCaller:
    """A thread-safe client of one endpoint, whose models multiply their input."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self._runtime: Any = boto3.client("sagemaker-runtime", config=ONCE)

    def predict(self, model: str = "", **members: Any) -> float:
        """Return the output of a model for `INPUT`. Raise `ClientError`."""
        return float(
            json.loads(self.invoke(model, **members)["Body"].read())["outputs"][0]["data"][0]
        )

    def invoke(self, model: str = "", **members: Any) -> Any:
        """Return the response of a model to `INPUT`. Raise `ClientError`."""
        tensor = {"name": "X", "shape": [1, 1], "datatype": "FP32", "data": [INPUT]}
        target = {"TargetModel": f"{model}.tar.gz"} if model else {}
        request = {
            "ContentType": "application/json",
            "Body": json.dumps({"inputs": [tensor]}),
            **target,
            **members,
        }
        return self._runtime.invoke_endpoint(EndpointName=self.endpoint, **request)

    def failure(self, model: str = "", **members: Any) -> Failure:
        """Return the failure of an invocation that must fail."""
        with pytest.raises(ClientError) as raised:
            self.predict(model, **members)
        return Failure.of(raised.value)

    def predict_or_failure(self, model: str = "") -> float | Failure:
        """Return the output of a model for `INPUT`, or the failure."""
        try:
            return self.predict(model)
        except ClientError as error:
            return Failure.of(error)


@contextmanager
def run_in_threads(*calls: Callable[[], Any]) -> Iterator[list["Future[Any]"]]:
    """Run calls on threads; the end of the with block waits for them."""
    with ThreadPoolExecutor(len(calls)) as threads:
        yield [threads.submit(call) for call in calls]


def processes(folder: Path, program: str = "") -> list[int]:
    """Return the processes with a working directory below `folder`, of one program or of all."""
    result = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            directory, executable = (process / "cwd").readlink(), (process / "exe").readlink()
        except OSError:  # the process has ended, or belongs to another user
            continue
        if str(directory).startswith(str(folder)) and program in ("", executable.name):
            result.append(int(process.name))
    return result
