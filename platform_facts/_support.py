from enum import StrEnum


class Support(StrEnum):
    """What the sources say about a capability: they confirm it, rule it out, or are silent."""

    YES = "yes"
    NO = "no"
    UNDOCUMENTED = "undocumented"
