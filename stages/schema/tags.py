"""Tags of every resource of a stage, within what all services take.

Sources: CloudFormation API reference, Tag (of a stack: a value is not empty); CodeBuild API
reference, Tag (127 and 255 characters, the shortest of those that a stage has; EC2's keys, too);
SageMaker API reference, Tag (the characters); IAM user guide, id_tags ("keys are not case
sensitive"). 50 tags a resource, of which the CDK needs three for subnets.
"""

import unicodedata
from typing import Annotated

from pydantic import AfterValidator

MAX_TAGS = 47
MAX_KEY, MAX_VALUE = 127, 255
SIGNS = "_.:/=+-@"


def _key(key: str) -> str:
    if key.lower().startswith("aws:"):
        raise ValueError("aws: begins the keys of AWS's own tags: write another key")
    return _text(key, MAX_KEY)


def _value(value: str) -> str:
    return _text(value, MAX_VALUE)


def _text(text: str, most: int) -> str:
    if not 1 <= len(text) <= most:
        raise ValueError(f"has {len(text)} characters: write 1 to {most}")
    other = [sign for sign in text if sign not in SIGNS]
    wrong = [sign for sign in other if unicodedata.category(sign)[0] not in "LNZ"]
    if wrong:
        raise ValueError(
            f"{wrong[0]!r} cannot stand in a tag: write letters, digits, spaces and {SIGNS}"
        )
    return text


def _together(tags: dict[str, str]) -> dict[str, str]:
    if len(tags) > MAX_TAGS:
        raise ValueError(f"{len(tags)} tags: write at most {MAX_TAGS}")
    lower = [tag.lower() for tag in tags]
    if twice := [tag for tag in tags if lower.count(tag.lower()) > 1]:
        raise ValueError(f"{', '.join(twice)} are one key to IAM: keep one")
    return tags


Tags = Annotated[
    dict[Annotated[str, AfterValidator(_key)], Annotated[str, AfterValidator(_value)]],
    AfterValidator(_together),
]
