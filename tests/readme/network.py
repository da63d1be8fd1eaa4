"""Make the VPC of docs/start.md on the local SageMaker: `network.py STAGE_FILE`."""

import sys
from pathlib import Path
from typing import Any

import boto3


def main(stage: Path) -> None:
    """Create the VPC with a route to S3, and write its ids into the stage's file."""
    ec2: Any = boto3.client("ec2", region_name="us-east-1")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    ids = {"vpc-0123456789abcdef0": vpc}
    for number in range(2):
        subnet = ec2.create_subnet(
            VpcId=vpc, CidrBlock=f"10.0.{number}.0/24", AvailabilityZone=f"us-east-1{'ab'[number]}"
        )["Subnet"]["SubnetId"]
        ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)
        ids[f"subnet-0123456789abcdef{number}"] = subnet
    ec2.create_vpc_endpoint(
        VpcId=vpc, ServiceName="com.amazonaws.us-east-1.s3", RouteTableIds=[table]
    )
    text = stage.read_text()
    for placeholder, actual in ids.items():
        text = text.replace(placeholder, actual)
    stage.write_text(text)


main(Path(sys.argv[1]))
