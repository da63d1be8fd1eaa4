"""Rules about resources that a stage uses and that exist already."""

from collections.abc import Collection, Sequence

from platform_facts.rules.ranges import API
from platform_facts.rules.rule import rule
from platform_facts.rules.variants import GUIDE

MAX_SUBNETS, MAX_GROUPS = 16, 4
"""SageMaker accepts five security groups; the endpoint's own group is one of them."""


@rule("existing.subnet_ids", f"{GUIDE}host-vpc.html; {API}VpcConfig.html")
def check_subnet_count(subnets: Sequence[str]) -> str | None:
    """A VPC has 2 to 16 subnets."""
    if len(subnets) in (0, *range(2, MAX_SUBNETS + 1)):
        return None
    return (
        f"{len(subnets)} subnet(s): SageMaker needs 2 to {MAX_SUBNETS}, in two or more "
        "availability zones"
    )


@rule("existing.security_group_ids", f"{API}VpcConfig.html: five, with the endpoint's own")
def check_group_count(groups: Sequence[str]) -> str | None:
    """A stage names at most four security groups."""
    if len(groups) <= MAX_GROUPS:
        return None
    return f"{len(groups)} security groups: write at most {MAX_GROUPS}"


@rule("existing.vpc_id", "our choice: without a look-up, a subnet does not tell its VPC")
def check_vpc_keys(vpc: str | None, subnets: Sequence[str], groups: Sequence[str]) -> str | None:
    """`vpc_id` and `subnet_ids` need each other; `security_group_ids` needs both."""
    if vpc and not subnets:
        return "missing subnet_ids: write two or more private subnets of the VPC"
    if not vpc and (subnets or groups):
        return "missing: write the VPC of subnet_ids and security_group_ids"
    return None


@rule("private_network", "our choice: instances are in one VPC")
def check_one_network(private_network: bool, vpc: str | None) -> str | None:
    """`private_network` and `existing.vpc_id` exclude each other."""
    if not (private_network and vpc):
        return None
    return "existing.vpc_id is a VPC already: remove one of them"


@rule("existing.kms_key_arn", f"{API}CreateEndpointConfig.html, KmsKeyId: a key of the region")
def check_key_region(arn: str | None, region: str) -> str | None:
    """The KMS key is in the stage's region."""
    if arn is None or arn.split(":")[3] == region:
        return None
    return f"the key is not in {region}: write a key of the stage's region"


@rule("existing.execution_role_arn", f"{GUIDE}sagemaker-roles.html: iam:PassRole")
def check_role_account(arn: str | None, account: str | None) -> str | None:
    """The execution role is in the stage's account."""
    if arn is None or account is None or arn.split(":")[4] == account:
        return None
    return f"the role is not in the stage's account {account}: write a role of that account"


@rule("existing.kms_key_arn", "our choice: without account, nothing tells which one is meant")
def check_one_account(key: str | None, role: str | None, account: str | None) -> str | None:
    """Without `account`, `kms_key_arn` and `execution_role_arn` are of one account."""
    if account or not (key and role) or key.split(":")[4] == role.split(":")[4]:
        return None
    return (
        f"the key is of the account {key.split(':')[4]}, the role of {role.split(':')[4]}: write "
        "account, or a key of the role's account"
    )


@rule("existing.capture_bucket", "our choice: an unused key is a mistake")
def check_bucket_is_used(bucket: str | None, captures: Collection[str]) -> str | None:
    """`capture_bucket` requires an endpoint with `data_capture`."""
    if bucket is None or captures:
        return None
    return "no endpoint has data_capture: remove it, or write data_capture: {}"


@rule("data_capture.keep_days", "our choice: a stage changes no bucket that it does not own")
def check_no_retention(bucket: str | None, is_set: bool) -> str | None:
    """`data_capture.keep_days` excludes `existing.capture_bucket`."""
    if bucket is None or not is_set:
        return None
    return f"the lifecycle rules of {bucket} decide about deletion: remove it"
