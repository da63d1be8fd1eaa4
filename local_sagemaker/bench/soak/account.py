"""What goes on beside the endpoints: somebody looks at them, builds run, captured data goes."""

import time
from typing import Any

import boto3

from local_sagemaker import LOOPBACK
from local_sagemaker.bench.soak.ground import Ground, Lane, until
from local_sagemaker.bench.soak.scene import MANY, PROJECT, VARIANT


class Account:
    """Its `lane` is what follows one another."""

    def __init__(self, ground: Ground) -> None:
        self._scene, self._record = ground.scene, ground.record
        self._state = f"http://127.0.0.1:{ground.port}/_local_sagemaker/state"
        services = ("cloudformation", "cloudwatch", "codebuild", "logs")
        session: Any = boto3.Session()
        self._clients = {it: session.client(it) for it in services}
        self.lane: Lane = {
            "poll": (10, lambda _: self._poll()),
            "build": (120, lambda _: self._build()),
            "delete what was captured": (60, lambda _: self._scene.delete_captured()),
        }

    def _poll(self) -> None:
        """Look at what a console and the page show."""
        now = time.time()
        cloudwatch, place = self._clients["cloudwatch"], {"EndpointName": MANY}
        self._scene.sagemaker.list_endpoints()
        self._clients["cloudformation"].list_stacks()
        cloudwatch.describe_alarms()
        cloudwatch.list_metrics(Namespace="AWS/SageMaker")
        cloudwatch.get_metric_statistics(
            Namespace="AWS/SageMaker",
            MetricName="ModelLatency",
            Dimensions=[
                {"Name": name, "Value": value}
                for name, value in {**place, "VariantName": VARIANT}.items()
            ],
            StartTime=now - 60,
            EndTime=now,
            Period=60,
            Statistics=["Average", "SampleCount"],
        )
        self._clients["logs"].filter_log_events(
            logGroupName=f"/aws/sagemaker/Endpoints/{MANY}",
            startTime=int(now - 10) * 1000,
            limit=50,
        )
        with LOOPBACK.open(self._state) as state:
            state.read()

    def _build(self) -> None:
        codebuild = self._clients["codebuild"]
        build = codebuild.start_build(projectName=PROJECT)["build"]["id"]

        def found() -> Any:
            return codebuild.batch_get_builds(ids=[build])["builds"][0]

        until(lambda: bool(found()["buildComplete"]))
        if found()["buildStatus"] != "SUCCEEDED":
            self._record.surprise(f"a build ended as {found()['buildStatus']}")
