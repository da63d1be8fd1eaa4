"""What every part of a stage's file is."""

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict

import checked_yaml

Found = Iterator[tuple[checked_yaml.Keys, str]]
"""What does not fit together: the keys of where it is written, and what to write."""


MAX_INTEGER = 2**31 - 1
"""Of `integer` in AWS's models, and of C's int, as which Triton reads its options."""


class Part(BaseModel):
    """Keys that the file may have in one place; no others, and none is ever changed.

    Strict: "2" is no number and "off" is no false, but 2 is a float.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )


def refuse(found: list[tuple[checked_yaml.Keys, str]]) -> None:
    """Raise all that was found, if anything was."""
    if found:
        raise checked_yaml.Misfits(found)
