"""A remark of the review about a changed value or file."""

from typing import NamedTuple

NOTE = ""
"""In place of a rule: the change is shown, and is no danger."""


class Remark(NamedTuple):
    """A text about a change, with the rule by which it is a danger, or `NOTE`."""

    rule: str
    text: str
