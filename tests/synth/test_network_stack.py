"""NetworkStack."""

from aws_cdk.assertions import Template

from tests.synth.conftest import Templates


def test_instances_in_every_subnet_reach_s3_without_the_internet(templates: Templates) -> None:
    network = Template.from_json(templates("prod")["prod-network"])
    (endpoint,) = network.find_resources("AWS::EC2::VPCEndpoint").values()
    assert endpoint["Properties"]["VpcEndpointType"] == "Gateway"
    assert endpoint["Properties"]["ServiceName"]["Fn::Join"][1][-1] == ".s3"
    tables = network.find_resources("AWS::EC2::RouteTable")
    assert sorted(it["Ref"] for it in endpoint["Properties"]["RouteTableIds"]) == sorted(tables)
    network.resource_count_is("AWS::EC2::InternetGateway", 0)
