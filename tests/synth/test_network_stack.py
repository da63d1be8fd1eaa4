"""NetworkStack: zones of subnets, and access to S3 without internet."""

from typing import Any

from tests.synth.conftest import templates_of
from tests.synth.deployed import Deployed
from tests.synth.endpoints import properties_of
from tests.synth.every_stage import EVERY_STAGE
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


def test_subnets_are_in_the_configured_zones() -> None:
    # Without zones in two, as the snapshot of prod has it.
    subnets = properties_of(templates_of("all")["all-network"], "AWS::EC2::Subnet")
    assert [subnet["AvailabilityZone"] for subnet in subnets] == EVERY_STAGE["all"]["zones"]
