"""Security groups and subnets that network interfaces use, which EC2 does not delete.

ministack's EC2 deletes them, and shows every interface whatever the filter. These are private names
of the pinned version: its stores, how it answers, and what CloudFormation's resource types call.
"""

from collections.abc import Callable, Iterator
from typing import Any

from ministack.services import ec2
from ministack.services.cloudformation import provisioners

Parameters = dict[str, Any]
Answer = tuple[int, dict[str, str], bytes]

REFUSALS = {
    "SecurityGroup": ("GroupId", "resource {} has a dependent object"),
    "Subnet": ("SubnetId", "The subnet '{}' has dependencies and cannot be deleted."),
}
"""Kind -> its member in requests, and what EC2 answers (aws-cloudformation/
cloudformation-coverage-roadmap#1327)."""


def install() -> None:
    """Have ministack refuse to delete what is used, through EC2 and through CloudFormation.

    CloudFormation tries for 15 minutes before it fails (the same issue); here it fails at once.
    """
    for kind, (member, message) in REFUSALS.items():
        action = f"Delete{kind}"
        ec2._ACTION_MAP[action] = _through_ec2(ec2._ACTION_MAP[action], member, message)
        handlers = provisioners._RESOURCE_HANDLERS[f"AWS::EC2::{kind}"]
        handlers["delete"] = _through_cloudformation(handlers["delete"], message)
    ec2._ACTION_MAP["DescribeNetworkInterfaces"] = _describe(ec2._describe_network_interfaces)


def _through_ec2(
    delete: Callable[[Parameters], Answer], member: str, message: str
) -> Callable[[Parameters], Answer]:
    def answer(parameters: Parameters) -> Answer:
        name = ec2._p(parameters, member)
        if any(_interfaces_in(name)):
            refused: Answer = ec2._error("DependencyViolation", message.format(name), 400)
            return refused
        return delete(parameters)

    return answer


def _through_cloudformation(delete: Callable[..., None], message: str) -> Callable[..., None]:
    def deleted(physical_id: str, properties: Parameters) -> None:
        if any(_interfaces_in(physical_id)):
            raise ValueError(message.format(physical_id))
        delete(physical_id, properties)

    return deleted


def _describe(describe: Callable[[Parameters], Answer]) -> Callable[[Parameters], Answer]:
    """Return DescribeNetworkInterfaces with the filter `group-id`."""

    def answer(parameters: Parameters) -> Answer:
        filters = ec2._parse_filters(parameters)
        if "group-id" not in filters:
            return describe(parameters)
        interfaces = {id_: it for group in filters["group-id"] for id_, it in _interfaces_in(group)}
        items = "".join(map(ec2._eni_fields_xml, interfaces.values()))
        body = f"<networkInterfaceSet>{items}</networkInterfaceSet>"
        described: Answer = ec2._xml(200, "DescribeNetworkInterfacesResponse", body)
        return described

    return answer


def _interfaces_in(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the interfaces in a security group or subnet, by their ids."""
    for interface_id, interface in ec2._network_interfaces.items():
        groups = [group["GroupId"] for group in interface["Groups"]]
        if name in (*groups, interface["SubnetId"]):
            yield interface_id, interface
