"""What may be called how, and the names that the facts know."""

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, Field

import platform_facts
from platform_facts.rules import names
from stages.schema.part import obeying

STACKS = frozenset({"capture", "delivery", "models", "network"})
"""What the stacks of a stage are called that are not an endpoint's: `prod-models`."""

NAME = r"[a-z][a-z0-9-]{0,30}[a-z0-9]"
ACCOUNT_ID = "[0-9]{12}"
ECR_IMAGE = (
    r"[0-9]{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(\.cn)?"
    r"/[a-z0-9]+([._/-][a-z0-9]+)*@sha256:[0-9a-f]{64}"
)


def _known(lookup: Callable[[str], object]) -> AfterValidator:
    """Return a validator that asks the facts, whose errors name what there is."""

    def check(name: str) -> str:
        try:
            lookup(name)
        except LookupError as error:
            raise ValueError(str(error)) from None
        return name

    return AfterValidator(check)


def _written_as(pattern: str, wanted: str) -> AfterValidator:
    """Return a validator of text, whose errors say in words what `pattern` wants."""

    def check(text: str) -> str:
        if re.fullmatch(pattern, text):
            return text
        close = re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")
        suggested = f", such as {close}" if re.fullmatch(pattern, close) else ""
        raise ValueError(f"{text!r} cannot stand here: write {wanted}{suggested}")

    return AfterValidator(check)


def _pattern(pattern: str) -> Any:
    """Tell editors the pattern, too."""
    return Field(json_schema_extra={"pattern": f"^{pattern}$"})


def _no_stack(name: str) -> str:
    """Return the name of an endpoint, whose stack is called after it."""
    if name in STACKS:
        raise ValueError(f"a stage has a {name} stack already: write another name")
    return name


Name = Annotated[
    str,
    _written_as(
        NAME, "2 to 32 lowercase letters, digits and hyphens, a letter first and no hyphen last"
    ),
    _pattern(NAME),
]
EndpointName = Annotated[Name, AfterValidator(_no_stack)]
VariantName = Annotated[
    str, obeying(names.variant_name), _pattern(names.NAME), Field(max_length=names.MAX_NAME)
]
AccountId = Annotated[
    str,
    _written_as(ACCOUNT_ID, "the 12 digits of an AWS account, in quotes"),
    _pattern(ACCOUNT_ID),
]
EcrImage = Annotated[
    str,
    _written_as(
        ECR_IMAGE,
        "an image in ECR with its digest: ACCOUNT.dkr.ecr.REGION.amazonaws.com/NAME@sha256:DIGEST",
    ),
    _pattern(ECR_IMAGE),
]
ReleaseName = Annotated[str, _known(platform_facts.release)]
RegionName = Annotated[str, _known(platform_facts.region)]
InstanceTypeName = Annotated[str, _known(platform_facts.instance_type)]
