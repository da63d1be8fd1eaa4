"""Network interfaces of instances in a VPC, which SageMaker deletes some time after the instances.

"You might still see these resources in your account for a few minutes after deleting your endpoint.
Do not delete or revoke the permissions for your ExecutionRoleArn, otherwise SageMaker cannot delete
these resources" (API reference, DeleteEndpoint). That interfaces are among them is said by
aws-cloudformation/cloudformation-coverage-roadmap#1327 and hashicorp/terraform-provider-aws#34397.
"""

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from botocore.exceptions import ClientError

from local_sagemaker.hosting.fleet import Fleet

KEPT_SECONDS = 180
"""How long an interface stays after its instance: "a few minutes"."""
EVERY_SECONDS = 15
"""Between two looks for interfaces to delete."""

log = logging.getLogger(__name__)


class NetworkInterfaces:
    """The interfaces of all instances. Every method is safe to call from any thread.

    `ec2` is boto3's client, `assumable` says whether SageMaker may assume the role of an ARN. At a
    `speed`, interfaces are deleted so much sooner.
    """

    def __init__(self, ec2: Any, *, assumable: Callable[[str], bool], speed: float) -> None:
        self._ec2, self._assumable = ec2, assumable
        self._kept_seconds = KEPT_SECONDS / speed
        self._left: list[tuple[float, str, str]] = []  # when to delete it, its id, as which role

    def create(self, vpc: Mapping[str, list[str]]) -> str:
        """Return the id of a new interface in the first subnet of a VpcConfig."""
        answer = self._ec2.create_network_interface(
            Description="Instances of a SageMaker endpoint",
            Groups=vpc["SecurityGroupIds"],
            SubnetId=vpc["Subnets"][0],
        )
        return str(answer["NetworkInterface"]["NetworkInterfaceId"])

    def leave(self, interface: str, role: str) -> None:
        """Delete an interface after a while."""
        self._left.append((time.monotonic() + self._kept_seconds, interface, role))

    def tick(self) -> None:
        """Delete the interfaces whose time is up, and whose role is still there."""
        now = time.monotonic()
        for left in [left for left in self._left if left[0] <= now]:
            self._left.remove(left)
            _, interface, role = left
            if not self._assumable(role):
                log.warning("%s stays: SageMaker cannot assume %s", interface, role)
                continue
            with suppress(ClientError):  # somebody has deleted it
                self._ec2.delete_network_interface(NetworkInterfaceId=interface)


class PrivateFleet(Fleet):
    """A fleet with a network interface for each Model that has a VpcConfig.

    That it is not one for each instance has no source.
    """

    def __init__(self, interfaces: NetworkInterfaces) -> None:
        super().__init__()
        self._interfaces = interfaces
        self._attached: list[tuple[str, str]] = []

    def start(self, *arguments: Any) -> None:
        """Start as a `Fleet` does."""
        _, _, _, models, _ = arguments
        for model in models.values():
            if (vpc := model.get("VpcConfig")) and "ExecutionRoleArn" in model:
                self._attached.append((self._interfaces.create(vpc), model["ExecutionRoleArn"]))
        super().start(*arguments)

    def stop(self) -> None:
        """Stop as a `Fleet` does."""
        super().stop()
        while self._attached:
            self._interfaces.leave(*self._attached.pop())
