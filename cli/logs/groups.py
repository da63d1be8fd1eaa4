"""Which log groups of CloudWatch Logs a name stands for."""

import difflib
from collections.abc import Iterator, Sequence

import boto3
from botocore.exceptions import ClientError

from cli.errors import CommandError
from release.permissions import NAMED
from release.preflight.clients import client

ENDPOINTS = "/aws/sagemaker/Endpoints/"
"""Source: SageMaker's developer guide, logging-cloudwatch."""
BUILDS = "/builds"
OF_BUILDS = tuple(NAMED[it].resource for it in ("builder_log", "engines_log"))
"""Logical ids of the groups, without the CDK's hash."""
MOST = 10
"""Names that are offered instead of one that there is not."""


def groups(session: boto3.Session, name: str, stages: Sequence[str]) -> list[str]:
    """Return the groups of an endpoint, prod-text, or of a stage's builds, prod/builds.

    Raises `CommandError` with the names that there are, `ClientError` and `BotoCoreError`.
    """
    if name.endswith(BUILDS):
        found = list(_of_builds(session, name.removesuffix(BUILDS)))
    else:
        group = f"{ENDPOINTS}{name}"
        found = [it for it in _of_endpoints(session, group) if it == group]
    if not found:
        raise CommandError(f"there is no log of {name}: {_offer(session, name, stages)}")
    return found


def _of_endpoints(session: boto3.Session, prefix: str) -> Iterator[str]:
    pages = client(session, "logs").get_paginator("describe_log_groups")
    for page in pages.paginate(logGroupNamePrefix=prefix):
        yield from (it["logGroupName"] for it in page["logGroups"])


def _of_builds(session: boto3.Session, stage: str) -> Iterator[str]:
    """Yield the groups that the stage's stack of models has made; none where there is none."""
    pages = client(session, "cloudformation").get_paginator("list_stack_resources")
    try:
        for page in pages.paginate(StackName=f"{stage}-models"):
            for it in page["StackResourceSummaries"]:
                if it["LogicalResourceId"].startswith(OF_BUILDS) and "PhysicalResourceId" in it:
                    yield it["PhysicalResourceId"]
    except ClientError as error:
        if "does not exist" not in error.response["Error"]["Message"]:
            raise


def _offer(session: boto3.Session, name: str, stages: Sequence[str]) -> str:
    """Return the names that there are, the nearest first."""
    known = [it.removeprefix(ENDPOINTS) for it in _of_endpoints(session, ENDPOINTS)]
    known += [f"{it}{BUILDS}" for it in stages if any(_of_builds(session, it))]
    nearest = difflib.get_close_matches(name, known, n=MOST, cutoff=0)
    return f"there are {', '.join(nearest)}" if nearest else "there is none yet"
