"""The GitHub repository that deploys a stage."""

from typing import Annotated

from stages.schema.names import Name
from stages.schema.part import Part, WrittenAs

Repository = Annotated[
    str,
    WrittenAs(
        r"([A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9._-]+"
        r"|[A-Za-z0-9][A-Za-z0-9_-]*@[0-9]+/[A-Za-z0-9._-]+@[0-9]+)",
        "is not a repository's name in GitHub's tokens: write owner/name, or, for one created "
        "after July 15, 2026, owner@OWNER-ID/name@REPOSITORY-ID",
    ),
]


class DeliveryConfig(Part):
    """Which GitHub repository's workflows deploy the stage."""

    repository: Repository
    """As the subject of GitHub's tokens names it: owner/name, or owner@OWNER-ID/name@REPOSITORY-ID
    for repositories created, renamed or transferred after July 15, 2026."""
    provider_exists: bool = False
    """The account has GitHub's identity provider already: it can have only one."""
    promotes_from: Name | None = None
    """The stage of the same account and region whose archives a deploy copies, instead of building
    them again."""
