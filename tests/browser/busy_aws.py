"""A real local SageMaker with an endpoint under load: scaling, evictions and alarms."""

import json
import os
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import boto3

import local_sagemaker
from local_sagemaker import LOOPBACK_OPENER, Folder, client_environment
from local_sagemaker.settings import INSTANCES, MEMORY, SPEED
from local_sagemaker.tests.support.endpoints import create_endpoint, multi_model
from local_sagemaker.tests.support.tiny_models import pack_python, times

ENDPOINT, VARIANT, BUCKET = "prod-text", "AllTraffic", "models"
MODELS = ("minilm", "bert", "reranker", "clip")
HELD_MIB, MEMORY_MIB = 60, 350
"""Memory of a model without its process, and of an instance, which fits three models."""

MAX_CONCURRENT_CALLS = 16
KEY = {
    "ServiceNamespace": "sagemaker",
    "ResourceId": f"endpoint/{ENDPOINT}/variant/{VARIANT}",
    "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
}


class Load:
    """A generator of calls with a rate per second for each model."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/endpoints/{ENDPOINT}/invocations"
        self.rates: dict[str, float] = {}
        self.invalid_rate = 0.0  # invalid calls of the first model per second
        self.stopping = threading.Event()

    def call(self, model: str, *, invalid: bool = False) -> int:
        """Call a model once; return the HTTP status."""
        name = "Y" if invalid else "X"
        tensor = {"name": name, "shape": [1, 1], "datatype": "FP32", "data": [1]}
        headers = {
            "Content-Type": "application/json",
            "X-Amzn-SageMaker-Target-Model": archive(model),
        }
        body = json.dumps({"inputs": [tensor]}).encode()
        request = urllib.request.Request(self._url, body, headers)
        try:
            with LOOPBACK_OPENER.open(request) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            return error.code

    def run(self) -> None:
        """Call the models with the current rates until `stopping` is set."""
        due: dict[tuple[str, bool], float] = {}
        step = 0.05
        with ThreadPoolExecutor(MAX_CONCURRENT_CALLS) as pool:
            while not self.stopping.wait(step):
                rates = {(model, False): rate for model, rate in self.rates.items()}
                rates[MODELS[0], True] = self.invalid_rate
                for (model, invalid), rate in rates.items():
                    due_calls = min(4.0, due.get((model, invalid), 0.0) + rate * step)
                    while due_calls >= 1:
                        pool.submit(self.call, model, invalid=invalid)
                        due_calls -= 1
                    due[model, invalid] = due_calls


def archive(model: str) -> str:
    """Return a model's TargetModel in the form of published archives."""
    return f"{model}-0123456789ab.tar.gz"


@contextmanager
def busy_aws(folder: Path) -> Iterator[tuple[str, Load]]:
    """Yield the dashboard's URL and the load of an endpoint with one to three instances."""
    sagemaker_folder = Folder(folder / ".local_sagemaker")
    values = {MEMORY: str(MEMORY_MIB), INSTANCES: "3", SPEED: "60"}
    with patch.dict(os.environ, values):
        running = local_sagemaker.up(sagemaker_folder, ends_with_caller=True)
        try:
            os.environ.update(client_environment(running, sagemaker_folder))
            _create_endpoint(folder / "archives")
            _put_scaling_policy()
            _put_alarm()
            load = Load(running.url)
            thread = threading.Thread(target=load.run)
            thread.start()
            try:
                yield running.page, load
            finally:
                load.stopping.set()
                thread.join()
        finally:
            local_sagemaker.down(sagemaker_folder)


def _create_endpoint(archives: Path) -> None:
    s3: Any = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    hold = f"self.held = bytearray(b'x') * ({HELD_MIB} << 20)"
    code = times(2, initialize=hold, execute="import time; time.sleep(0.02)")
    for model in MODELS:
        body = pack_python(archives / model, code)
        s3.put_object(Bucket=BUCKET, Key=f"text/{archive(model)}", Body=body)
    create_endpoint(ENDPOINT, multi_model(f"s3://{BUCKET}/text/"))


def _put_scaling_policy() -> None:
    scaling: Any = boto3.client("application-autoscaling")
    scaling.register_scalable_target(**KEY, MinCapacity=1, MaxCapacity=3)
    metric = {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"}
    scaling.put_scaling_policy(
        **KEY,
        PolicyName="calls",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={
            "TargetValue": 10.0,
            "PredefinedMetricSpecification": metric,
        },
    )


def _put_alarm() -> None:
    cloudwatch: Any = boto3.client("cloudwatch")
    names = {"EndpointName": ENDPOINT, "VariantName": VARIANT}
    cloudwatch.put_metric_alarm(
        AlarmName=f"{ENDPOINT}-client-errors",
        Namespace="AWS/SageMaker",
        MetricName="Invocation4XXErrors",
        Dimensions=[{"Name": name, "Value": value} for name, value in names.items()],
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1.0,
        ComparisonOperator="GreaterThanOrEqualToThreshold",
        TreatMissingData="notBreaching",
    )
