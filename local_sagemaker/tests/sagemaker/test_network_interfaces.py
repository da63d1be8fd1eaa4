"""Network interfaces of fleets that start no instances."""

import time
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_sagemaker.hosting.fleet import Fleet
from local_sagemaker.sagemaker import network_interfaces
from local_sagemaker.sagemaker.network_interfaces import (
    KEPT_SECONDS,
    NetworkInterfaces,
    PrivateFleet,
)

ROLE = "arn:aws:iam::000000000000:role/one"
VPC = {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1", "subnet-2"]}
PRIVATE = {"ModelName": "private", "VpcConfig": VPC, "ExecutionRoleArn": ROLE}
PUBLIC = {"ModelName": "public", "ExecutionRoleArn": ROLE}


class Ec2:
    """What is asked of boto3's client."""

    def __init__(self) -> None:
        self.interfaces: dict[str, dict[str, Any]] = {}

    def create_network_interface(self, **request: Any) -> dict[str, Any]:
        name = f"eni-{len(self.interfaces)}"
        self.interfaces[name] = request
        return {"NetworkInterface": {"NetworkInterfaceId": name}}

    def delete_network_interface(self, **request: str) -> None:
        if request["NetworkInterfaceId"] not in self.interfaces:
            error: Any = {"Error": {"Code": "InvalidNetworkInterfaceID.NotFound"}}
            raise ClientError(error, "DeleteNetworkInterface")
        del self.interfaces[request["NetworkInterfaceId"]]


@pytest.fixture
def ec2() -> Ec2:
    return Ec2()


@pytest.fixture
def roles() -> set[str]:
    """The roles that exist."""
    return {ROLE}


@pytest.fixture
def interfaces(ec2: Ec2, roles: set[str], monkeypatch: pytest.MonkeyPatch) -> NetworkInterfaces:
    """Interfaces that are kept for no time."""
    monkeypatch.setattr(Fleet, "start", lambda *_: None)
    monkeypatch.setattr(Fleet, "stop", lambda *_: None)
    return NetworkInterfaces(ec2, assumable=roles.__contains__, speed=float("inf"))


def started(interfaces: NetworkInterfaces, *models: dict[str, Any]) -> PrivateFleet:
    fleet = PrivateFleet(interfaces)
    host: Any = None
    fleet.start(host, "text", {}, {it["ModelName"]: it for it in models}, {})
    return fleet


def test_only_a_model_in_a_vpc_has_an_interface(interfaces: NetworkInterfaces, ec2: Ec2) -> None:
    started(interfaces, PRIVATE, PUBLIC)
    (created,) = ec2.interfaces.values()
    assert (created["Groups"], created["SubnetId"]) == (["sg-1"], "subnet-1")


def test_an_interface_stays_for_a_while_after_its_fleet(
    interfaces: NetworkInterfaces, ec2: Ec2, monkeypatch: pytest.MonkeyPatch
) -> None:
    interfaces = NetworkInterfaces(ec2, assumable=lambda _: True, speed=1)
    fleet = started(interfaces, PRIVATE)
    interfaces.tick()
    fleet.stop()
    interfaces.tick()
    assert ec2.interfaces
    later = SimpleNamespace(monotonic=lambda: time.monotonic() + KEPT_SECONDS)
    monkeypatch.setattr(network_interfaces, "time", later)
    interfaces.tick()
    assert not ec2.interfaces


def test_without_its_role_an_interface_stays_for_good(
    interfaces: NetworkInterfaces, ec2: Ec2, roles: set[str]
) -> None:
    fleet = started(interfaces, PRIVATE)
    fleet.stop()
    roles.clear()
    interfaces.tick()
    roles.add(ROLE)
    interfaces.tick()
    assert ec2.interfaces
