"""Errors of look-ups in the tables."""


class UnknownFact(LookupError):
    """An unknown name of a release, region, instance type, GPU or backend.

    The message lists known names, closest matches first.
    """


class UnsupportedCombination(ValueError):
    """A combination that does not exist, such as a release that a region does not have."""
