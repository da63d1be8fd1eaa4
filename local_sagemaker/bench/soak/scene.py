"""The endpoints under load: MANY with more models than fit into memory, ONE that is scaled."""

import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3

from local_sagemaker.bench.soak.calls import Record
from local_sagemaker.tests.support.endpoints import (
    configure,
    host,
    in_service,
    multi_model,
    single_model,
)
from local_sagemaker.tests.support.tiny_models import pack, times, write

BUCKET, MANY, ONE, ALARM = "soak", "many", "one", "one-errors"
VARIANT = "AllTraffic"
MEMORY_MIB = 180
"""Of an instance: room for some six models of 20 MiB beside Triton, of those in MODELS."""
MODELS = [f"m{number}" for number in range(9)]
FAULT = "a planned fault"
BROKEN = {
    "no-archive": "Failed to extract model data",
    "no-object": "Failed to download model data",
    "fails-in-initialize": "load failed",
    "raises": FAULT,
}
"""Models that never answer, and the message of each."""

CONFIG = """
backend: "python"
max_batch_size: 0
input [ { name: "X" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] } ]
"""


class Scene:
    """Makes, updates and deletes the endpoints, and knows which configurations serve."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.configs = {MANY: MANY, ONE: ONE}
        self.s3: Any = boto3.client("s3")
        self.sagemaker: Any = boto3.client("sagemaker")
        self._number = 0
        self._lock = threading.Lock()

    def open(self) -> None:
        """Make both endpoints; return when they are in service."""
        self.s3.create_bucket(Bucket=BUCKET)
        for model in MODELS:
            self.publish(model)
        self.put("no-archive.tar.gz", b"This is no archive.")
        raises = f"raise ValueError('{FAULT}')"
        self.put("fails-in-initialize.tar.gz", archive(times(1, initialize=raises)))
        self.put("raises.tar.gz", archive(times(1, execute=raises)))
        host(MANY, multi_model(f"s3://{BUCKET}/"))
        host(ONE, self.container(self.next_number()))

    def close(self) -> None:
        """Delete the endpoints; return when they are gone."""
        for name in (MANY, ONE):
            in_service(name)
            self.sagemaker.delete_endpoint(EndpointName=name)
            self.sagemaker.get_waiter("endpoint_deleted").wait(
                EndpointName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 600}
            )

    def next_number(self) -> int:
        """Return a number that no model has multiplied by."""
        with self._lock:
            self._number += 1
            return self._number

    def put(self, key: str, body: bytes) -> None:
        """Put an object into the bucket."""
        self.s3.put_object(Bucket=BUCKET, Key=key, Body=body)

    def publish(self, model: str) -> None:
        """Replace a model's archive: a loaded one answers until it is evicted."""
        factor = self.next_number()
        self.record.factors[MANY, model] |= {factor}
        self.put(f"{model}.tar.gz", archive(times(factor)))

    def container(self, factor: int, *, execute: str = "") -> dict[str, Any]:
        """Return the container of one model, whose archive has a key of its own."""
        self.record.factors[ONE, ""] |= {factor}
        key = f"single/{factor}.tar.gz"
        self.put(key, archive(times(factor, execute=execute)))
        return single_model(f"s3://{BUCKET}/{key}", default_model="model")

    def described(self, endpoint: str) -> Any:
        """Return what DescribeEndpoint answers."""
        return self.sagemaker.describe_endpoint(EndpointName=endpoint)

    def next_config(self, endpoint: str) -> str:
        """Return the name of an endpoint's next configuration."""
        return f"{endpoint}-{self.next_number()}"

    def begin_update(
        self, endpoint: str, config: str, container: dict[str, Any], count: int, **deployment: Any
    ) -> None:
        """Begin an update to a new configuration with so many instances."""
        configure(config, container, instances=count)
        self.sagemaker.update_endpoint(
            EndpointName=endpoint, EndpointConfigName=config, **deployment
        )

    def end_update(self, endpoint: str) -> str:
        """Delete the configuration that no longer serves; return the one that does."""
        serving = str(self.described(endpoint)["EndpointConfigName"])
        self.configs[endpoint] = serving
        configs = self.sagemaker.list_endpoint_configs(NameContains=f"{endpoint}-")
        for config in configs["EndpointConfigs"]:
            name = config["EndpointConfigName"]
            if name != serving:
                self.sagemaker.delete_endpoint_config(EndpointConfigName=name)
                self.sagemaker.delete_model(ModelName=name)
        return serving


def archive(code: str) -> bytes:
    """Return the archive of a Python model."""
    with TemporaryDirectory() as folder:
        files = {"model/config.pbtxt": CONFIG, "model/1/model.py": code}
        return pack(write(Path(folder), files))
