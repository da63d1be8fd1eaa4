"""What IAM Access Analyzer says of the policies that a change alters, beside the review's words."""

from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from release.preflight.account import NoCredentials, caller
from release.preflight.answers import DENIED, why
from release.preflight.clients import client
from release.preflight.policies import Policy, changed_policies, new_access
from release.tree import Template

ASKED = "IAM Access Analyzer"
NOT_ASKED = f"not asked: {ASKED}, whether access is new"


def access_said(
    session: boto3.Session, before: dict[str, Template], after: dict[str, Template]
) -> list[str]:
    """Return a line for each policy that a stack has in both templates, and that differs.

    Each is one check, which is charged. Where it may not be asked, one line says so: the review's
    own words of access stand without it. A policy that is new has nothing to be checked against,
    and is in the review's words alone.
    """
    said: list[str] = []
    try:
        analyzer = client(session, "accessanalyzer")
        for old, new in _changed(session, before, after):
            said.append(f"{ASKED}, {new.subject}: {_said(analyzer, old, new)}")
    except NoCredentials as error:
        said.append(f"{NOT_ASKED}: {error}")
    except (ClientError, BotoCoreError) as error:
        said.append(f"{NOT_ASKED}: {why(error)}")
    return said


def _changed(
    session: boto3.Session, before: dict[str, Template], after: dict[str, Template]
) -> list[tuple[Policy, Policy]]:
    both = sorted(it for it in before.keys() & after.keys() if before[it] != after[it])
    if not both:
        return []
    known = caller(session).pseudo_parameters(str(session.region_name))
    return [pair for it in both for pair in changed_policies(it, before[it], after[it], known)]


def _said(analyzer: Any, old: Policy, new: Policy) -> str:
    """Return what it says of one policy, which may be that it cannot read it."""
    try:
        return new_access(analyzer, old, new)
    except ClientError as error:
        if error.response["Error"]["Code"] in DENIED:
            raise
        return why(error)
