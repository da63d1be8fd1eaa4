"""NetworkStack: zones of subnets, and access to S3 without internet."""

import pytest
from aws_cdk import App, Environment
from aws_cdk.assertions import Template

from stacks.network_stack import NetworkStack
from tests.synth.conftest import Templates


def test_every_subnet_has_the_s3_gateway_endpoint(templates: Templates) -> None:
    network = Template.from_json(templates("prod")["prod-network"])
    (endpoint,) = network.find_resources("AWS::EC2::VPCEndpoint").values()
    assert endpoint["Properties"]["VpcEndpointType"] == "Gateway"
    assert endpoint["Properties"]["ServiceName"]["Fn::Join"][1][-1] == ".s3"
    tables = network.find_resources("AWS::EC2::RouteTable")
    assert sorted(
        route_table_id["Ref"] for route_table_id in endpoint["Properties"]["RouteTableIds"]
    ) == sorted(tables)
    network.resource_count_is("AWS::EC2::InternetGateway", 0)


DEFAULT_ZONES = [{"Fn::Select": [number, {"Fn::GetAZs": ""}]} for number in range(2)]
ZONES = ["us-east-1c", "us-east-1a", "us-east-1d"]


@pytest.mark.parametrize(("zones", "subnets"), [(None, DEFAULT_ZONES), (ZONES, ZONES)])
def test_subnets_are_in_the_configured_zones_or_in_two(
    zones: list[str] | None, subnets: list[object]
) -> None:
    env = Environment(region="us-east-1")
    stack = NetworkStack(App(), "a-network", env=env, zones=zones)
    resources = Template.from_stack(stack).find_resources("AWS::EC2::Subnet").values()
    assert [subnet["Properties"]["AvailabilityZone"] for subnet in resources] == subnets
    assert len(stack.vpc.isolated_subnets) == len(subnets)
