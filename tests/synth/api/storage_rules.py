"""Constraints of S3, Parameter Store and EC2 that involve several request fields."""

import ipaddress
import re
from collections.abc import Iterator
from itertools import pairwise

from tests.synth.api.calls import Calls

MAX_PARAMETER_BYTES = 4 * 1024
MAX_LEVELS, MAX_PARAMETER_ARN = 15, 1011
GROUP_DESCRIPTION = re.compile(r"[a-zA-Z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{0,255}")
"""EC2 API reference, CreateSecurityGroup, GroupDescription."""


def parameters(calls: Calls) -> Iterator[str]:
    """Yield invalid standard parameters.

    "Standard parameters have a content size limit of 4 KB"; "a hierarchy can have a maximum of 15
    levels", a name 1011 characters with those of the ARN before it, and none begins with `aws` or
    `ssm` (API reference, PutParameter and its errors).
    """
    for call in calls.by_operation("PutParameter"):
        name, value = call.parameters["Name"], call.parameters["Value"]
        if len(value.encode()) > MAX_PARAMETER_BYTES:
            yield f"{call.resource_id}: a value of {len(value.encode())} bytes"
        arn = f"arn:{calls.partition}:ssm:{calls.region}:{'0' * 12}:parameter{name}"
        if name.count("/") > MAX_LEVELS or len(arn) > MAX_PARAMETER_ARN:
            yield f"{call.resource_id}: {name} is too long"
        if re.match(r"/?(aws|ssm)", name, re.IGNORECASE):
            yield f"{call.resource_id}: {name} has a reserved prefix"


def buckets(calls: Calls) -> Iterator[str]:
    """Yield invalid targets of access logs, and empty lifecycle rules.

    Access logs go to a bucket with SSE-S3 (S3 user guide, enable-server-access-logging; from
    memory: its text was not at hand). A rule does something (API reference, LifecycleRule).
    """
    encrypted = {
        call.parameters["Bucket"]: rule["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"]
        for call in calls.by_operation("PutBucketEncryption")
        for rule in call.parameters["ServerSideEncryptionConfiguration"]["Rules"]
    }
    for call in calls.by_operation("PutBucketLogging"):
        target = call.parameters["BucketLoggingStatus"]["LoggingEnabled"]["TargetBucket"]
        if encrypted.get(target) != "AES256":
            encryption = encrypted.get(target)
            yield f"{call.resource_id}: access logs to a bucket encrypted with {encryption}"
    for call in calls.by_operation("PutBucketLifecycleConfiguration"):
        for rule in call.parameters["LifecycleConfiguration"]["Rules"]:
            if not rule.keys() - {"ID", "Filter", "Status"}:
                yield f"{call.resource_id}: a lifecycle rule without action"


def networks(calls: Calls) -> Iterator[str]:
    """Yield invalid address blocks and group descriptions.

    A VPC's is /16 to /28, and subnets are parts of it that do not overlap (VPC user guide, VPC CIDR
    blocks, subnet sizing; from memory).
    """
    vpcs = [
        ipaddress.IPv4Network(call.parameters["CidrBlock"])
        for call in calls.by_operation("CreateVpc")
    ]
    subnets = sorted(
        ipaddress.IPv4Network(call.parameters["CidrBlock"])
        for call in calls.by_operation("CreateSubnet")
    )
    for block in [*vpcs, *subnets]:
        if not 16 <= block.prefixlen <= 28:
            yield f"{block} is not /16 to /28"
    for block in subnets:
        if not any(block.subnet_of(vpc) for vpc in vpcs):
            yield f"{block} is in no VPC"
    for block, other in pairwise(subnets):
        if block.overlaps(other):
            yield f"{block} overlaps {other}"
    for call in calls.by_operation("CreateSecurityGroup"):
        if not GROUP_DESCRIPTION.fullmatch(call.parameters["Description"]):
            yield f"{call.resource_id}: the description has characters that EC2 rejects"


RULES = (parameters, buckets, networks)
