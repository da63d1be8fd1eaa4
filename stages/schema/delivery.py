"""Delivery of a stage from a GitHub repository."""

from typing import Annotated

from stages.schema.names import Name
from stages.schema.section import Section, TextPattern

Repository = Annotated[
    str,
    TextPattern(
        r"([A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9._-]+"
        r"|[A-Za-z0-9][A-Za-z0-9_-]*@[0-9]+/[A-Za-z0-9._-]+@[0-9]+)",
        "is not a repository's name in GitHub's tokens: write owner/name, or, for one created "
        "after July 15, 2026, owner@OWNER-ID/name@REPOSITORY-ID",
    ),
]


class DeliveryConfig(Section):
    """The GitHub repository whose workflows deploy the stage."""

    repository: Repository
    """Repository name as in the subject of GitHub's tokens: owner/name, or
    owner@OWNER-ID/name@REPOSITORY-ID if created, renamed or transferred after July 15, 2026."""
    provider_exists: bool = False
    """Set to true if the account already has an identity provider for GitHub: only one is
    possible."""
    promotes_from: Name | None = None
    """Stage in the same account and region whose model archives are copied instead of built
    again."""
