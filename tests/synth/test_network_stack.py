"""NetworkStack: zones of subnets, and access to S3 without internet."""

from typing import Any

import pytest
from aws_cdk import App, Environment
from aws_cdk.assertions import Template

from stacks.network_stack import NetworkStack
from tests.synth.conftest import templates_of
from tests.synth.deployed import Deployed
from tests.synth.endpoints import model_stack, trial_stage
from tests.synth.statements import allows


def test_instances_reach_https_and_the_buckets_of_the_stage_only() -> None:
    deployed = Deployed(templates_of("all"), region="eu-west-1", account="111122223333")
    (endpoint,) = deployed.of_type("AWS::EC2::VPCEndpoint")
    policy = deployed.statements(endpoint.properties["PolicyDocument"], endpoint.stack)
    models, captured = (
        next(
            deployed.arn(bucket)
            for bucket in deployed.of_type("AWS::S3::Bucket")
            if name in bucket.id
        )
        for name in ("ModelsBucket", "CapturedBucket")
    )

    def is_allowed(action: str, resource: str) -> bool:
        return allows(policy, action, resource=resource, principal="*")

    assert is_allowed("s3:GetObject", f"{models}/text/a.tar.gz")
    assert is_allowed("s3:ListBucket", models)
    assert is_allowed("s3:PutObject", f"{captured}/text/a.jsonl")
    layers = "arn:aws:s3:::prod-eu-west-1-starport-layer-bucket/layer"
    assert is_allowed("s3:GetObject", layers)
    for action, resource in (
        ("s3:PutObject", f"{models}/text/a.tar.gz"),
        ("s3:PutObject", layers),
        ("s3:PutObject", "arn:aws:s3:::somebody-else/secret"),
        ("s3:GetObject", "arn:aws:s3:::somebody-else/program"),
    ):
        assert not is_allowed(action, resource)
    groups: list[dict[str, Any]] = [
        group.properties for group in deployed.of_type("AWS::EC2::SecurityGroup")
    ]
    (egress,) = (
        rule
        for group in groups
        if "no inbound" in group["GroupDescription"]
        for rule in group["SecurityGroupEgress"]
    )
    assert (egress["IpProtocol"], egress["FromPort"], egress["ToPort"]) == ("tcp", 443, 443)


DEFAULT_ZONES = [{"Fn::Select": [number, {"Fn::GetAZs": ""}]} for number in range(2)]
ZONES = ["us-east-1c", "us-east-1a", "us-east-1d"]


@pytest.mark.parametrize(("zones", "subnets"), [(None, DEFAULT_ZONES), (ZONES, ZONES)])
def test_subnets_are_in_the_configured_zones_or_in_two(
    zones: list[str] | None, subnets: list[object]
) -> None:
    app = App()
    models = model_stack(app, trial_stage()).bucket
    env = Environment(region="us-east-1")
    stack = NetworkStack(app, "a-network", env=env, zones=zones, models=models)
    resources = Template.from_stack(stack).find_resources("AWS::EC2::Subnet").values()
    assert [subnet["Properties"]["AvailabilityZone"] for subnet in resources] == subnets
    assert len(stack.vpc.isolated_subnets) == len(subnets)
