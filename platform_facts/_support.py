from enum import StrEnum


class Support(StrEnum):
    """Whether the sources confirm a capability, rule it out, or do not mention it."""

    YES = "yes"
    NO = "no"
    UNDOCUMENTED = "undocumented"
