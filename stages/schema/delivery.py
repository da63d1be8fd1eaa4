"""Who deploys a stage."""

import re
from typing import Annotated

from pydantic import AfterValidator

from stages.schema.names import Name
from stages.schema.part import Part


def _in_subject(repository: str) -> str:
    """Return a repository as GitHub's tokens name it: with both ids, or with none."""
    owner, name = r"[A-Za-z0-9][A-Za-z0-9_-]*", r"[A-Za-z0-9._-]+"
    if not re.fullmatch(rf"{owner}/{name}|{owner}@[0-9]+/{name}@[0-9]+", repository):
        raise ValueError(
            f"{repository!r} is not a repository's name in GitHub's tokens: write owner/name, or, "
            "for one created after July 15, 2026, owner@OWNER-ID/name@REPOSITORY-ID"
        )
    return repository


class DeliveryConfig(Part):
    """Which GitHub repository's workflows deploy the stage."""

    repository: Annotated[str, AfterValidator(_in_subject)]
    """As the subject of GitHub's tokens names it: owner/name, or owner@OWNER-ID/name@REPOSITORY-ID
    for repositories created, renamed or transferred after July 15, 2026."""
    provider_exists: bool = False
    """The account has GitHub's identity provider already: it can have only one."""
    promotes_from: Name | None = None
    """The stage of the same account and region whose archives a deploy copies, instead of building
    them again."""
