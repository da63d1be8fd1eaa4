"""Resources of the account that exist already, by their IDs."""

from typing import Annotated

from platform_facts.rules import existing, stage
from stages.schema.section import Section, TextPattern, rule_validator

NAME = "[A-Za-z0-9_+=,.@-]"
PATH = f"({NAME}+/)*"
"""Characters of names of IAM, and a path of such names (IAM API reference, CreateRole)."""


def _id(prefix: str, kind: str) -> TextPattern:
    return TextPattern(
        rf"{prefix}-[0-9a-f]{{8}}([0-9a-f]{{9}})?",  # EC2 user guide, resource-ids: 8 or 17 digits
        f"is not the ID of a {kind}: write {prefix}-0123456789abcdef0, as the VPC console shows it",
    )


SubnetId = Annotated[str, _id("subnet", "subnet")]
GroupId = Annotated[str, _id("sg", "security group")]


class ExistingConfig(Section):
    """Resources that the stage uses instead of creating them. Nothing is looked up at synthesis;
    `tritonsm preflight` verifies them."""

    vpc_id: Annotated[str, _id("vpc", "VPC")] | None = None
    """VPC of the instances. It needs a route to S3."""
    subnet_ids: Annotated[
        list[SubnetId],
        rule_validator(existing.check_subnet_count),
        rule_validator(stage.check_no_duplicates),
    ] = []
    """Private subnets of the VPC, in two or more Availability Zones."""
    security_group_ids: Annotated[
        list[GroupId],
        rule_validator(existing.check_group_count),
        rule_validator(stage.check_no_duplicates),
    ] = []
    """Security groups of the instances, which allow traffic to S3. Default: a group of each
    endpoint that allows all outbound traffic."""
    kms_key_arn: (
        Annotated[
            str,
            TextPattern(
                r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/"
                r"([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|mrk-[0-9a-f]{32})",
                "is not the ARN of a KMS key: write arn:aws:kms:REGION:ACCOUNT:key/ID, no alias",
            ),
        ]
        | None
    ) = None
    """KMS key for archives, records and the volumes of instances. Default: keys of the stage. Set
    it before the first deploy: it does not decrypt archives of another key."""
    execution_role_arn: (
        Annotated[
            str,
            TextPattern(
                rf"arn:aws[a-z-]*:iam::[0-9]{{12}}:role/{PATH}{NAME}{{1,64}}",
                "is not the ARN of a role: write arn:aws:iam::ACCOUNT:role/NAME, with a name of at "
                "most 64 characters",
            ),
        ]
        | None
    ) = None
    """Execution role of all endpoints. It is not changed, and needs the permissions in
    delivery/permissions/principals/endpoint.yaml. Default: a role of each endpoint."""
    permissions_boundary: (
        Annotated[
            str,
            TextPattern(
                f"{PATH}{NAME}{{1,128}}",
                "is not the name of a managed policy: write its name in the stage's account, after "
                "its path if it has one, such as teams/boundary; no ARN",
            ),
        ]
        | None
    ) = None
    """Managed policy that is the permissions boundary of every role of the stage, by its name."""
    bootstrap_qualifier: (
        Annotated[
            str,
            TextPattern(
                "[a-z0-9]{1,10}",
                "is not a qualifier: write the 1 to 10 lowercase letters and digits of cdk "
                "bootstrap --qualifier",
            ),
        ]
        | None
    ) = None
    """Qualifier of the bootstrap stack that deploys the stage. Default: hnb659fds, the CDK's."""
    capture_bucket: (
        Annotated[
            str,
            TextPattern(
                # S3 user guide, bucketnamingrules
                r"(?!xn--|sthree-|amzn-s3-demo-|.*\.\.|[0-9]+(\.[0-9]+){3}$)"
                r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"
                r"(?<!-s3alias)(?<!--ol-s3)(?<!\.mrap)(?<!--x-s3)(?<!--table-s3)",
                "is not the name of a bucket: write 3 to 63 lowercase letters, digits, hyphens and "
                "single dots, no IP address, and none of the prefixes and suffixes that S3 "
                "reserves",
            ),
        ]
        | None
    ) = None
    """Bucket for data capture, below STAGE/ENDPOINT/. Records are encrypted with kms_key_arn, or
    with the bucket's default if that needs no KMS key. Default: a bucket of the stage."""
