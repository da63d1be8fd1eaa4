"""Errors of look-ups in the tables."""


class UnknownFact(LookupError):
    """A name that is in no table: a release, region, instance type, GPU, backend or AMI.

    The message says what was looked for and which names exist, the closest ones first.
    """


class UnsupportedCombination(ValueError):
    """Two facts that exist, but not together: a release in a region that does not have it."""
