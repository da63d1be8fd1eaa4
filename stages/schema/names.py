"""Types of names in a stage file."""

from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, Field

import platform_facts
from platform_facts.rules import names
from stages.schema.section import TextPattern, rule_validator

STACKS = frozenset({"capture", "catalog", "delivery", "models", "network"})
"""Suffixes of the names of stacks other than endpoint stacks, as in `prod-models`."""


def _lookup_validator(lookup: Callable[[str], object]) -> AfterValidator:
    """Return a validator that looks a name up; its error lists valid names."""

    def check(name: str) -> str:
        try:
            lookup(name)
        except LookupError as error:
            raise ValueError(str(error)) from None
        return name

    return AfterValidator(check)


def _reject_stack_name(name: str) -> str:
    """Return an endpoint name. Raise `ValueError` if another stack has that name."""
    if name in STACKS:
        raise ValueError(f"{name} is the name of another stack of the stage: write another name")
    return name


Name = Annotated[
    str,
    TextPattern(
        r"[a-z][a-z0-9-]{0,30}[a-z0-9]",
        "is not allowed here: write 2 to 32 lowercase letters, digits and hyphens, a letter first "
        "and no hyphen last",
    ),
]
EndpointName = Annotated[Name, AfterValidator(_reject_stack_name)]
VariantName = Annotated[
    str,
    rule_validator(names.check_variant_name),
    Field(json_schema_extra={"pattern": f"^{names.NAME}$"}, max_length=names.MAX_NAME),
]
AccountId = Annotated[
    str,
    TextPattern(
        "[0-9]{12}", "is not allowed here: write the 12 digits of an AWS account, in quotes"
    ),
]
EcrImage = Annotated[
    str,
    TextPattern(
        r"[0-9]{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(\.cn)?"
        r"/[a-z0-9]+([._/-][a-z0-9]+)*@sha256:[0-9a-f]{64}",
        "is not allowed here: write an image in ECR with its digest: "
        "ACCOUNT.dkr.ecr.REGION.amazonaws.com/NAME@sha256:DIGEST",
    ),
]
BackendName = Annotated[
    str, TextPattern(r"[a-z][a-z0-9_]*", "is not allowed here: write the name in config.pbtxt")
]
ReleaseName = Annotated[str, _lookup_validator(platform_facts.release)]
RegionName = Annotated[str, _lookup_validator(platform_facts.region)]
InstanceTypeName = Annotated[str, _lookup_validator(platform_facts.instance_type)]
