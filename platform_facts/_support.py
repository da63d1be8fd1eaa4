from enum import StrEnum


class Support(StrEnum):
    """Whether sources confirm a capability, exclude it, or do not mention it."""

    YES = "yes"
    NO = "no"
    UNDOCUMENTED = "undocumented"
