"""What is done to the endpoints while they are called: faults, updates, scaling."""

import os
import random
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

import boto3
import numpy as np

from local_sagemaker import LOOPBACK, Folder, Running
from local_sagemaker.bench.soak.calls import NOT_READY, CheckingClient, random_size, request
from local_sagemaker.bench.soak.scene import (
    ALARM,
    BROKEN,
    BUCKET,
    FAULT,
    MANY,
    MODELS,
    ONE,
    VARIANT,
    Scene,
)
from local_sagemaker.tests.support.asking import processes
from local_sagemaker.tests.support.endpoints import put_rollback_alarm

SERVER, STUB = "tritonserver", "triton_python_backend_stub"
CANARY_SECONDS, FAILING_CANARY_SECONDS = 600, 3600
"""Of AWS's, for which a canary serves beside the old instances; an alarm ends the second."""

Fault = Callable[[random.Random], object]
Lane = dict[str, tuple[float, Fault]]
"""Faults that follow one another, each with the mean seconds between two of its kind."""


class Faults:
    """The `lanes`, which are in progress at the same time."""

    def __init__(
        self, scene: Scene, caller: CheckingClient, folder: Folder, running: Running
    ) -> None:
        self._scene, self._caller, self._record = scene, caller, caller.record
        self._folder, self._running = folder, running
        self._lingering: list[socket.socket] = []
        self._instances = 1
        many: Lane = {
            "publish": (20, lambda chance: scene.publish(chance.choice(MODELS))),
            "call a broken model": (25, self._call_broken),
            "send half a request": (30, self._send_half),
            "hang up": (30, lambda chance: self._send(chance, 1.0).close()),
            "delete an archive": (100, self._delete_archive),
            "kill stubs": (150, self._kill_stubs),
            "kill the server of many": (150, lambda _: self._kill(MANY, SERVER)),
            "update many": (500, lambda _: self._update_many()),
        }
        one: Lane = {
            "scale": (90, lambda _: self._scale(3 - self._instances)),
            "update one": (200, lambda _: self._update_one()),
            "update one by a canary": (240, lambda _: self._canary()),
            "roll a canary back": (400, lambda _: self._failing_canary()),
            "kill a server of one": (200, lambda _: self._kill(ONE, SERVER)),
        }
        account: Lane = {
            "look": (10, lambda _: self._look()),
        }
        self.lanes = (many, one, account)

    def close(self) -> None:
        """Close the connections of clients that have sent half a request."""
        for connection in self._lingering:
            connection.close()

    def _call_broken(self, chance: random.Random) -> None:
        model = chance.choice(list(BROKEN))
        with self._record.fault(MANY):
            problem = self._caller.call(MANY, model) or ""
        assert BROKEN[model] in problem or NOT_READY in problem, problem

    def _send_half(self, chance: random.Random) -> None:
        self.close()
        self._lingering = [self._send(chance, 0.5)]

    def _send(self, chance: random.Random, share: float) -> socket.socket:
        """Return a connection over which a share of a request's body was sent."""
        body, content_type = request(np.ones(random_size(chance), np.float32))
        head = (
            f"POST /endpoints/{MANY}/invocations HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
            f"X-Amzn-SageMaker-Target-Model: {chance.choice(MODELS)}.tar.gz\r\n\r\n"
        )
        connection = socket.create_connection(("127.0.0.1", self._running.port))
        connection.sendall(head.encode() + body[: int(len(body) * share)])
        return connection

    def _delete_archive(self, chance: random.Random) -> None:
        model = chance.choice(MODELS)
        with self._record.fault(MANY):
            self._scene.s3.delete_object(Bucket=BUCKET, Key=f"{model}.tar.gz")
            self._caller.call(MANY, model)
            self._scene.publish(model)

    def _kill_stubs(self, _: random.Random) -> None:
        """Kill all: Triton would look for one stub for 350 s, so its server goes, too."""
        with self._record.fault(MANY):
            self._caller.call(MANY, MODELS[0])
            self._kill(MANY, STUB)
            self._kill(MANY, SERVER)

    def _kill(self, endpoint: str, program: str) -> None:
        """Kill an endpoint's processes; return when it answers again."""
        model = MODELS[0] if endpoint == MANY else ""
        with self._record.fault(endpoint):
            for process in processes(self._folder.instances / f"{endpoint}-", program):
                os.kill(process, signal.SIGKILL)
            if program == SERVER:
                until(lambda: self._caller.call(endpoint, model) is None)

    def _update_many(self) -> None:
        model = self._scene.sagemaker.describe_model(ModelName=self._scene.configs[MANY])
        config = self._scene.next_config(MANY)
        self._scene.begin_update(MANY, config, model["PrimaryContainer"], 1)
        self._wait_for_update(MANY)
        assert self._scene.end_update(MANY) == config, "an update of many was rolled back"

    def _scale(self, instances: int) -> None:
        boto3.client("application-autoscaling").register_scalable_target(
            ServiceNamespace="sagemaker",
            ResourceId=f"endpoint/{ONE}/variant/{VARIANT}",
            ScalableDimension="sagemaker:variant:DesiredInstanceCount",
            MinCapacity=instances,
            MaxCapacity=instances,
        )

        def settled() -> bool:
            described = self._scene.described(ONE)
            count = described["ProductionVariants"][0]["CurrentInstanceCount"]
            return bool(described["EndpointStatus"] == "InService" and count == instances)

        until(settled)
        self._instances = instances

    def _update_one(self, **deployment: Any) -> None:
        container = self._scene.container(self._scene.next_number())
        config = self._scene.next_config(ONE)
        self._scene.begin_update(ONE, config, container, self._instances, **deployment)
        self._wait_for_update(ONE)
        assert self._scene.end_update(ONE) == config, "an update of one was rolled back"

    def _canary(self) -> None:
        self._scale(2)
        self._update_one(DeploymentConfig=canary(CANARY_SECONDS))

    def _failing_canary(self) -> None:
        self._scale(2)
        raises = f"raise ValueError('{FAULT}')"
        container = self._scene.container(self._scene.next_number(), execute=raises)
        with self._record.fault(ONE):
            config = self._scene.next_config(ONE)
            put_rollback_alarm(ALARM, endpoint=ONE, config=config)
            deployment = canary(FAILING_CANARY_SECONDS)
            deployment["AutoRollbackConfiguration"] = {"Alarms": [{"AlarmName": ALARM}]}
            self._scene.begin_update(ONE, config, container, 2, DeploymentConfig=deployment)
            self._wait_for_update(ONE, calls=10)
        boto3.client("cloudwatch").delete_alarms(AlarmNames=[ALARM])
        assert self._scene.end_update(ONE) != config, "a canary that fails was not rolled back"

    def _wait_for_update(self, endpoint: str, calls: int = 0) -> None:
        """Return when an update has ended; calls give the alarm's metric data in each period."""

        def ended() -> bool:
            for _ in range(calls):
                self._caller.call(endpoint)
            return bool(self._scene.described(endpoint)["EndpointStatus"] != "Updating")

        until(ended)

    def _look(self) -> None:
        """Do as a console and the page do."""
        boto3.client("cloudformation").list_stacks()
        boto3.client("cloudwatch").list_metrics(Namespace="AWS/SageMaker")
        group = f"/aws/sagemaker/Endpoints/{MANY}"
        boto3.client("logs").filter_log_events(logGroupName=group, limit=50)
        with LOOPBACK.open(f"{self._running.page}state") as state:
            state.read()


def canary(wait: int) -> dict[str, Any]:
    """Return a DeploymentConfig whose canary is one instance."""
    size = {"Type": "INSTANCE_COUNT", "Value": 1}
    routing = {"Type": "CANARY", "CanarySize": size, "WaitIntervalInSeconds": wait}
    return {"BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": routing}}


def until(condition: Callable[[], bool]) -> None:
    """Return when a condition holds."""
    while not condition():
        time.sleep(0.5)
