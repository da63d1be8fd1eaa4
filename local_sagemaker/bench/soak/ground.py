"""What all that is done to endpoints needs: their servers, updates, and a way to wait."""

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from local_sagemaker import Folder
from local_sagemaker.bench.soak.asking import Asker
from local_sagemaker.bench.soak.record import Record
from local_sagemaker.bench.soak.scene import MANY, ONE, Scene
from local_sagemaker.tests.support.asking import processes

POLL_SECONDS = 0.5
UNANSWERED = "did not answer|has no healthy instance|timed out while waiting"
"""What callers are told of a server that was killed."""

Deed = Callable[[random.Random], object]
Lane = dict[str, tuple[float, Deed]]
"""What follows one another, by name, each with the mean seconds between two of its kind."""


@dataclass
class Ground:
    """A local SageMaker with its scene; `port` is its URL's. `configs` are those that serve."""

    scene: Scene
    asker: Asker
    folder: Folder
    port: int
    configs: dict[str, str] = field(default_factory=lambda: {MANY: MANY, ONE: ONE})

    def __post_init__(self) -> None:
        self._updates = dict.fromkeys(self.configs, 0)

    @property
    def record(self) -> Record:
        """What happens is told there."""
        return self.asker.record

    def described(self, endpoint: str) -> Any:
        """Return what DescribeEndpoint answers."""
        return self.scene.sagemaker.describe_endpoint(EndpointName=endpoint)

    def servers(self, endpoint: str) -> list[int]:
        """Return the servers' processes."""
        return sorted(processes(self.folder.instances / f"{endpoint}-", "tritonserver"))

    def kill_server(self, endpoint: str, chance: random.Random) -> int:
        """Kill one of them, and return which."""
        killed = chance.choice(self.servers(endpoint))
        kill(killed)
        return killed

    def update(
        self,
        endpoint: str,
        container: dict[str, Any],
        instances: int,
        deployment: dict[str, Any] | None = None,
        *,
        begin: Callable[[str], object] = lambda _: None,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> bool:
        """Update an endpoint; return whether it was, and not rolled back.

        `begin` is called with the name of the new configuration before the update begins,
        `meanwhile` again and again. What serves no more is deleted in the end.
        """
        self._updates[endpoint] += 1
        before, config = self.configs[endpoint], f"{endpoint}-{self._updates[endpoint]}"
        self.scene.configure(config, container, instances)
        begin(config)
        more = {"DeploymentConfig": deployment} if deployment else {}
        self.scene.sagemaker.update_endpoint(
            EndpointName=endpoint, EndpointConfigName=config, **more
        )
        while self.described(endpoint)["EndpointStatus"] == "Updating":
            meanwhile()
            time.sleep(POLL_SECONDS)
        self.configs[endpoint] = self.described(endpoint)["EndpointConfigName"]
        updated = self.configs[endpoint] == config
        self.scene.forget(before if updated else config)
        return updated


def until(condition: Callable[[], bool]) -> None:
    """Return when a condition holds."""
    while not condition():
        time.sleep(POLL_SECONDS)


def kill(pid: int) -> None:
    """End a process, which learns nothing of it."""
    os.kill(pid, signal.SIGKILL)
