"""ministack's EC2 and CloudFormation, asked to delete what network interfaces use."""

import asyncio
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from ministack.services import ec2
from ministack.services.cloudformation import provisioners

from local_sagemaker import used_networks

KINDS = {"SecurityGroup": "GroupId", "Subnet": "SubnetId"}


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """A security group and a subnet, by their kinds; ministack is as it was afterwards."""
    monkeypatch.setattr(ec2, "_ACTION_MAP", dict(ec2._ACTION_MAP))
    handlers = {name: dict(it) for name, it in provisioners._RESOURCE_HANDLERS.items()}
    monkeypatch.setattr(provisioners, "_RESOURCE_HANDLERS", handlers)
    used_networks.install()
    group, _ = provisioners._provision_resource("AWS::EC2::SecurityGroup", "Group", {}, "stack")
    subnet, _ = provisioners._provision_resource("AWS::EC2::Subnet", "Subnet", {}, "stack")
    yield {"SecurityGroup": group, "Subnet": subnet}
    ec2.reset()


def call(action: str, **parameters: str) -> tuple[int, str]:
    """Return the status and body that EC2 answers."""
    body = urlencode({"Action": action, **parameters}).encode()
    status, _, answer = asyncio.run(ec2.handle_request("POST", "/", {}, body, {}))
    return status, answer if isinstance(answer, str) else answer.decode()


def interface(network: dict[str, str]) -> str:
    """Return the id of an interface that is new."""
    group = {"SecurityGroupId.1": network["SecurityGroup"]}
    _, body = call("CreateNetworkInterface", SubnetId=network["Subnet"], **group)
    return next(
        it.text or "" for it in ElementTree.fromstring(body).iter() if "InterfaceId" in it.tag
    )


@pytest.mark.parametrize("kind", KINDS)
def test_ec2_deletes_nothing_that_an_interface_is_in(network: dict[str, str], kind: str) -> None:
    used = interface(network)
    member = {KINDS[kind]: network[kind]}
    status, body = call(f"Delete{kind}", **member)
    assert (status, "DependencyViolation" in body) == (400, True)
    call("DeleteNetworkInterface", NetworkInterfaceId=used)
    assert call(f"Delete{kind}", **member)[0] == 200


@pytest.mark.parametrize("kind", KINDS)
def test_cloudformation_deletes_nothing_that_an_interface_is_in(
    network: dict[str, str], kind: str
) -> None:
    used = interface(network)
    with pytest.raises(ValueError, match=network[kind]):
        provisioners._delete_resource(f"AWS::EC2::{kind}", network[kind], {})
    call("DeleteNetworkInterface", NetworkInterfaceId=used)
    provisioners._delete_resource(f"AWS::EC2::{kind}", network[kind], {})
    assert network[kind] not in {**ec2._security_groups, **ec2._subnets}


def test_interfaces_are_found_by_their_groups(network: dict[str, str]) -> None:
    used = interface(network)
    by_group = {"Filter.1.Name": "group-id", "Filter.1.Value.1": network["SecurityGroup"]}
    assert used in call("DescribeNetworkInterfaces", **by_group)[1]
    by_group["Filter.1.Value.1"] = "sg-other"
    assert used not in call("DescribeNetworkInterfaces", **by_group)[1]
    assert used in call("DescribeNetworkInterfaces")[1]
