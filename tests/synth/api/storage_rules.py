"""What S3, Parameter Store, CloudWatch Logs and EC2 demand of several fields together."""

import ipaddress
import re
from collections.abc import Iterator
from itertools import pairwise

from tests.synth.api.calls import Calls

MOST_OF_A_PARAMETER = 4 * 1024
MOST_LEVELS, LONGEST_PARAMETER = 15, 1011
DESCRIBED = re.compile(r"[a-zA-Z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{0,255}")
"""EC2 API reference, CreateSecurityGroup, GroupDescription."""


def parameters(calls: Calls) -> Iterator[str]:
    """Standard parameters.

    "Standard parameters have a content size limit of 4 KB"; "a hierarchy can have a maximum of 15
    levels", a name 1011 characters with those of the ARN before it, and none begins with `aws` or
    `ssm` (API reference, PutParameter and its errors).
    """
    for call in calls.of("PutParameter"):
        name, value = call.parameters["Name"], call.parameters["Value"]
        if len(value.encode()) > MOST_OF_A_PARAMETER:
            yield f"{call.made_for}: a value of {len(value.encode())} bytes"
        arn = f"arn:{calls.partition}:ssm:{calls.region}:{'0' * 12}:parameter{name}"
        if name.count("/") > MOST_LEVELS or len(arn) > LONGEST_PARAMETER:
            yield f"{call.made_for}: {name} is too long"
        if re.match(r"/?(aws|ssm)", name, re.IGNORECASE):
            yield f"{call.made_for}: {name} is AWS's"


def buckets(calls: Calls) -> Iterator[str]:
    """Where access logs go, and what rules delete.

    Access logs go to a bucket with SSE-S3 (S3 user guide, enable-server-access-logging; from
    memory: its text was not at hand). A rule does something (API reference, LifecycleRule).
    """
    encrypted = {
        each.parameters["Bucket"]: rule["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"]
        for each in calls.of("PutBucketEncryption")
        for rule in each.parameters["ServerSideEncryptionConfiguration"]["Rules"]
    }
    for call in calls.of("PutBucketLogging"):
        to = call.parameters["BucketLoggingStatus"]["LoggingEnabled"]["TargetBucket"]
        if encrypted.get(to) != "AES256":
            yield f"{call.made_for}: logs to a bucket that is encrypted with {encrypted.get(to)}"
    for call in calls.of("PutBucketLifecycleConfiguration"):
        for rule in call.parameters["LifecycleConfiguration"]["Rules"]:
            if not rule.keys() - {"ID", "Filter", "Status"}:
                yield f"{call.made_for}: a rule that does nothing"


def networks(calls: Calls) -> Iterator[str]:
    """Blocks of addresses, and what groups are described with.

    A VPC's is /16 to /28, and subnets are parts of it that do not overlap (VPC user guide, VPC CIDR
    blocks, subnet sizing; from memory).
    """
    vpcs = [ipaddress.IPv4Network(each.parameters["CidrBlock"]) for each in calls.of("CreateVpc")]
    subnets = sorted(
        ipaddress.IPv4Network(each.parameters["CidrBlock"]) for each in calls.of("CreateSubnet")
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
    for call in calls.of("CreateSecurityGroup"):
        if not DESCRIBED.fullmatch(call.parameters["Description"]):
            yield f"{call.made_for}: described with characters that EC2 does not take"


RULES = (parameters, buckets, networks)
