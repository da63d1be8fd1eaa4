"""Errors of look-ups in the tables."""


class UnknownFact(LookupError):
    """An unknown name of a release, region, instance type, GPU, backend or AMI.

    The message has the kind of name and the known names, closest matches first.
    """


class UnsupportedCombination(ValueError):
    """A combination that does not exist, such as a release that a region does not have."""
