"""A real local SageMaker with an endpoint that scales, evicts and alarms under a real load."""

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
from local_sagemaker import LOOPBACK, Folder, client_environment
from local_sagemaker.settings import INSTANCES, MEMORY, SPEED
from local_sagemaker.tests.support.endpoints import host, multi_model
from local_sagemaker.tests.support.tiny_models import pack_python, times

ENDPOINT, VARIANT, BUCKET = "prod-text", "AllTraffic", "models"
MODELS = ("minilm", "bert", "reranker", "clip")
HELD_MIB, MEMORY_MIB = 60, 300
"""What each model takes beside its process, and an instance has: room for three models."""

AT_ONCE = 16
KEY = {
    "ServiceNamespace": "sagemaker",
    "ResourceId": f"endpoint/{ENDPOINT}/variant/{VARIANT}",
    "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
}


class Load:
    """Calls of models, so many a second of each, for as long as the `with` block of `load`."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/endpoints/{ENDPOINT}/invocations"
        self.rates: dict[str, float] = {}
        self.wrong = 0.0  # calls a second of the first model that it refuses
        self.stopping = threading.Event()

    def ask(self, model: str, *, wrong: bool = False) -> int:
        """Ask a model once, and return the status of the answer."""
        name = "Y" if wrong else "X"
        tensor = {"name": name, "shape": [1, 1], "datatype": "FP32", "data": [1]}
        headers = {
            "Content-Type": "application/json",
            "X-Amzn-SageMaker-Target-Model": archive(model),
        }
        body = json.dumps({"inputs": [tensor]}).encode()
        request = urllib.request.Request(self._url, body, headers)
        try:
            with LOOPBACK.open(request) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as refused:
            return refused.code

    def run(self) -> None:
        """Call until it is stopped, as often as the rates say, at most `AT_ONCE` at a time."""
        due: dict[tuple[str, bool], float] = {}
        step = 0.05
        with ThreadPoolExecutor(AT_ONCE) as pool:
            while not self.stopping.wait(step):
                expected = {(each, False): rate for each, rate in self.rates.items()}
                expected[MODELS[0], True] = self.wrong
                for (model, wrong), rate in expected.items():
                    left = min(4.0, due.get((model, wrong), 0.0) + rate * step)
                    while left >= 1:
                        pool.submit(self.ask, model, wrong=wrong)
                        left -= 1
                    due[model, wrong] = left


def archive(model: str) -> str:
    """Return a model's TargetModel, named as publishing names archives."""
    return f"{model}-0123456789ab.tar.gz"


@contextmanager
def busy_aws(folder: Path) -> Iterator[tuple[str, Load]]:
    """Give the page's URL, and the load of an endpoint that has one instance, and three at most."""
    here = Folder(folder / ".local_sagemaker")
    values = {MEMORY: str(MEMORY_MIB), INSTANCES: "3", SPEED: "60"}
    with patch.dict(os.environ, values):
        running = local_sagemaker.up(here)
        try:
            os.environ.update(client_environment(running, here))
            _host(folder / "written")
            _scale()
            _watch()
            load = Load(running.url)
            thread = threading.Thread(target=load.run)
            thread.start()
            try:
                yield running.page, load
            finally:
                load.stopping.set()
                thread.join()
        finally:
            local_sagemaker.down(here)


def _host(written: Path) -> None:
    s3: Any = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    hold = f"self.held = bytearray(b'x') * ({HELD_MIB} << 20)"
    code = times(2, initialize=hold, execute="import time; time.sleep(0.02)")
    for model in MODELS:
        body = pack_python(written / model, code)
        s3.put_object(Bucket=BUCKET, Key=f"text/{archive(model)}", Body=body)
    host(ENDPOINT, multi_model(f"s3://{BUCKET}/text/"))


def _scale() -> None:
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


def _watch() -> None:
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
