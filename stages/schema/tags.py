"""Tags of all resources of a stage, within the limits of all services.

Sources: CloudFormation API reference, Tag (of a stack: a value is not empty); CodeBuild API
reference, Tag (127 and 255 characters, the lowest limits of all services; also EC2's limit for
keys); SageMaker API reference, Tag (the characters); IAM user guide, id_tags ("keys are not case
sensitive"). A resource has at most 50 tags; the CDK needs three of them for subnets.
"""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from stages.schema.section import TextPattern

MAX_TAGS = 47


def _check_characters(text: str) -> str:
    # \w matches letters and digits of any language, and _
    if invalid := re.search(r"[^\w .:/=+@-]", text):
        raise ValueError(
            f"{invalid[0]!r} is not allowed in a tag: write letters, digits, spaces and _.:/=+-@"
        )
    return text


def _check_all(tags: dict[str, str]) -> dict[str, str]:
    if len(tags) > MAX_TAGS:
        raise ValueError(f"{len(tags)} tags: write at most {MAX_TAGS}")
    lower = [tag.lower() for tag in tags]
    if duplicates := [tag for tag in tags if lower.count(tag.lower()) > 1]:
        raise ValueError(
            f"{', '.join(duplicates)} differ only in case, which IAM ignores: keep one"
        )
    return tags


Key = Annotated[
    str,
    Field(min_length=1, max_length=127),
    TextPattern("(?![aA][wW][sS]:).*", "begins like AWS's own tags: write another key"),
    AfterValidator(_check_characters),
]
Value = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(_check_characters)]
Tags = Annotated[dict[Key, Value], AfterValidator(_check_all)]
