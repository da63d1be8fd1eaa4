"""What is done to the endpoint of one model: it is scaled, updated, rolled back."""

import random
from typing import Any

import boto3

from local_sagemaker.bench.soak.asking import small_request
from local_sagemaker.bench.soak.ground import UNANSWERED, Ground, Lane, until
from local_sagemaker.bench.soak.scene import ALARM, FAULT, ONE
from local_sagemaker.tests.support.endpoints import put_rollback_alarm
from local_sagemaker.tests.support.tiny_models import times

CANARY_SECONDS, FAILING_CANARY_SECONDS = 600, 3600
"""Of AWS's, for which a canary serves beside the old instances; the second ends by its alarm."""

RAISES = f"raise ValueError('{FAULT}')"


class One:
    """Its `lane` is what follows one another."""

    def __init__(self, ground: Ground) -> None:
        self._ground, self._scene, self._record = ground, ground.scene, ground.record
        self._instances = 1
        self.lane: Lane = {
            "scale": (90, lambda _: self._scale_to(3 - self._instances)),
            "update one": (200, lambda _: self._update()),
            "update one by a canary": (240, lambda _: self._update_by_canary()),
            "update one by a canary that fails": (400, lambda _: self._fail_a_canary()),
            "kill a server of one": (200, self._kill_server),
        }

    def _scale_to(self, instances: int) -> None:
        def settled() -> bool:
            found = self._ground.described(ONE)
            now = found["ProductionVariants"][0]["CurrentInstanceCount"]
            return bool(found["EndpointStatus"] == "InService" and now == instances)

        self._scene.limit(instances)
        until(settled)
        self._instances = instances

    def _update(self, deployment: dict[str, Any] | None = None) -> None:
        factor = self._scene.next_factor()
        self._scene.allow(ONE, "", factor)
        container = self._scene.container_of(f"one-{factor}", times(factor))
        if self._ground.update(ONE, container, self._instances, deployment, begin=_watch):
            self._scene.only(ONE, "", factor)
        else:
            self._record.surprise("an update of one was rolled back")

    def _update_by_canary(self) -> None:
        self._scale_to(2)
        self._update(_canary(CANARY_SECONDS))

    def _fail_a_canary(self) -> None:
        self._scale_to(2)
        factor = self._scene.next_factor()
        code = times(factor, execute=RAISES)
        container = self._scene.container_of(f"one-{factor}", code)
        canary = _canary(FAILING_CANARY_SECONDS)
        with self._record.excused(ONE, None, FAULT):
            updated = self._ground.update(
                ONE, container, self._instances, canary, begin=_watch, meanwhile=self._ask_often
            )
        if updated:
            self._record.surprise("a canary that fails was not rolled back")

    def _kill_server(self, chance: random.Random) -> None:
        before = len(self._ground.servers(ONE))

        def replaced() -> bool:
            found = self._ground.servers(ONE)
            return len(found) == before and killed not in found

        with self._record.excused(ONE, None, UNANSWERED):
            killed = self._ground.kill_server(ONE, chance)
            until(replaced)
            until(self._ask)

    def _ask(self) -> bool:
        return self._ground.asker.ask(ONE, "", small_request())

    def _ask_often(self) -> None:
        """Have the alarm's metric have data in every period."""
        for _ in range(10):
            self._ask()


def _canary(wait: int) -> dict[str, Any]:
    size = {"Type": "INSTANCE_COUNT", "Value": 1}
    routing = {"Type": "CANARY", "CanarySize": size, "WaitIntervalInSeconds": wait}
    return {
        "BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": routing},
        "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": ALARM}]},
    }


def _watch(config: str) -> None:
    """Have an alarm on the errors of a configuration's instances, as the app's template has one.

    It begins in the state that it had of the last configuration, which would roll the update back.
    """
    put_rollback_alarm(ALARM, endpoint=ONE, config=config)
    cloudwatch: Any = boto3.client("cloudwatch")

    def alarmed() -> bool:
        (alarm,) = cloudwatch.describe_alarms(AlarmNames=[ALARM])["MetricAlarms"]
        return bool(alarm["StateValue"] == "ALARM")

    until(lambda: not alarmed())
