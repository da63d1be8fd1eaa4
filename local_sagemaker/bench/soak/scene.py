"""What is load and fault tested: two endpoints, their models in a bucket, and a build project."""

import json
import threading
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3

from local_sagemaker.tests.support.endpoints import (
    configure,
    host,
    in_service,
    multi_model,
    single_model,
)
from local_sagemaker.tests.support.tiny_models import pack, times, write

BUCKET, CAPTURED = "soak", "captured"
MANY, ONE, PROJECT, ALARM = "many", "one", "soak", "one-errors"
VARIANT = "AllTraffic"
MEMORY_MIB = 180
"""Of an instance: room for some six models of 20 MiB beside Triton, of 14 that are asked for.
"""

MODELS = [f"m{number}" for number in range(9)]
SLOW = "slow"
FAULT = "a fault that was planned"
BROKEN = {
    "no-archive": "400 ValidationError Failed to extract model data",
    "no-object": "400 ValidationError Failed to download model data",
    "fails-in-initialize": "424 ModelError .*load failed",
    "raises": f"424 ModelError .*{FAULT}",
}
"""Models that never answer, and what their callers are told."""

CONFIG = """
backend: "python"
max_batch_size: 0
input [ { name: "X" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] } ]
"""
CAPTURE = {
    "InitialSamplingPercentage": 20,
    "DestinationS3Uri": f"s3://{BUCKET}/{CAPTURED}",
    "CaptureOptions": [{"CaptureMode": "Input"}, {"CaptureMode": "Output"}],
    "CaptureContentTypeHeader": {"JsonContentTypes": ["application/json"]},
}
BUILDSPEC = {
    "version": "0.2",
    "phases": {"build": {"commands": ["for n in $(seq 100); do echo line $n; done"]}},
}


class Scene:
    """Knows by which factors each model may multiply now: those it was published with."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._factors: dict[tuple[str, str], set[int]] = defaultdict(set)
        self._numbers: dict[str, int] = defaultdict(int)
        self.s3: Any = boto3.client("s3")
        self.sagemaker: Any = boto3.client("sagemaker")

    def open(self) -> None:
        """Make all of it; return when both endpoints are in service."""
        self.s3.create_bucket(Bucket=BUCKET)
        for model in MODELS:
            self.publish(model)
        self.put(SLOW, times(3, execute="import time; time.sleep(1.5)"))
        self.allow(MANY, SLOW, 3)
        self.put_bytes("no-archive", b"This is no archive.")
        raises = f"raise ValueError('{FAULT}')"
        self.put("fails-in-initialize", times(1, initialize=raises))
        self.put("raises", times(1, execute=raises))
        host(MANY, multi_model(f"s3://{BUCKET}/"))
        factor = self.next_factor()
        self.allow(ONE, "", factor)
        one = self.container_of(f"one-{factor}", times(factor))
        host(ONE, one, instances=1, DataCaptureConfig=CAPTURE)
        self._make_project()
        self.limit(1)

    def close(self) -> None:
        """Delete the endpoints once nothing changes them; return when they are gone."""
        for name in (MANY, ONE):
            in_service(name)
            self.sagemaker.delete_endpoint(EndpointName=name)
            self.sagemaker.get_waiter("endpoint_deleted").wait(
                EndpointName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 600}
            )

    def limit(self, instances: int) -> None:
        """Have Application Auto Scaling give the single model so many instances."""
        boto3.client("application-autoscaling").register_scalable_target(
            ServiceNamespace="sagemaker",
            ResourceId=f"endpoint/{ONE}/variant/{VARIANT}",
            ScalableDimension="sagemaker:variant:DesiredInstanceCount",
            MinCapacity=instances,
            MaxCapacity=instances,
        )

    def factors(self, endpoint: str, model: str) -> set[int]:
        """Return by what a model may multiply."""
        with self._lock:
            return set(self._factors[endpoint, model])

    def allow(self, endpoint: str, model: str, *factors: int) -> None:
        """From now on, a model may multiply by these, too."""
        with self._lock:
            self._factors[endpoint, model] |= set(factors)

    def only(self, endpoint: str, model: str, *factors: int) -> None:
        """From now on, a model must multiply by one of these."""
        with self._lock:
            self._factors[endpoint, model] = set(factors)

    def publish(self, model: str) -> None:
        """Put an archive in the place of a model's last one: what is loaded goes on for a while."""
        self._numbers[model] += 1
        factor = 10 * self._numbers[model] + int(model[1:])
        self.allow(MANY, model, factor)
        self.put(model, times(factor))

    def put(self, key: str, code: str) -> None:
        """Put the archive of a Python model below the prefix of the models."""
        self.put_bytes(key, _archive(code))

    def put_bytes(self, key: str, archive: bytes) -> None:
        """Put an object where a model's archive is looked for."""
        self.s3.put_object(Bucket=BUCKET, Key=f"{key}.tar.gz", Body=archive)

    def next_factor(self) -> int:
        """Return by what the single model multiplies next."""
        self._numbers[ONE] += 1
        return self._numbers[ONE] + 1

    def container_of(self, key: str, code: str) -> dict[str, Any]:
        """Return the container of one model, whose archive is put below a prefix of its own."""
        self.s3.put_object(Bucket=BUCKET, Key=f"single/{key}.tar.gz", Body=_archive(code))
        return single_model(f"s3://{BUCKET}/single/{key}.tar.gz", default_model="model")

    def configure(self, name: str, container: dict[str, Any], instances: int) -> None:
        """Make a model and a configuration of that name."""
        more = {"DataCaptureConfig": CAPTURE} if name.startswith(ONE) else {}
        configure(name, container, instances=instances, **more)

    def forget(self, config: str) -> None:
        """Delete a configuration, its model and the archive of a single one."""
        found = self.sagemaker.describe_model(ModelName=config)["PrimaryContainer"]
        self.sagemaker.delete_endpoint_config(EndpointConfigName=config)
        self.sagemaker.delete_model(ModelName=config)
        if found["Mode"] == "SingleModel":
            _, _, key = found["ModelDataUrl"].removeprefix("s3://").partition("/")
            self.s3.delete_object(Bucket=BUCKET, Key=key)

    def delete_captured(self) -> None:
        """Delete what was captured until now, as a bucket's lifecycle rule does."""
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=CAPTURED)
        for found in pages:
            if keys := [{"Key": it["Key"]} for it in found.get("Contents", [])]:
                self.s3.delete_objects(Bucket=BUCKET, Delete={"Objects": keys})

    def _make_project(self) -> None:
        boto3.client("codebuild").create_project(
            name=PROJECT,
            source={"type": "NO_SOURCE", "buildspec": json.dumps(BUILDSPEC)},
            artifacts={"type": "NO_ARTIFACTS"},
            environment={
                "type": "LINUX_CONTAINER",
                "computeType": "BUILD_GENERAL1_SMALL",
                "image": "aws/codebuild/standard:7.0",
            },
            serviceRole="arn:aws:iam::000000000000:role/soak",
        )


def _archive(code: str) -> bytes:
    with TemporaryDirectory() as folder:
        files = {"model/config.pbtxt": CONFIG, "model/1/model.py": code}
        return pack(write(Path(folder), files))
