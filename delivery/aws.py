"""Clients of AWS, readable reasons of failed calls, and the contents of stacks."""

import json
import re
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.exceptions import ConnectionError as NotConnected

from release.templates import Template

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

CONFIG = Config(
    retries={"mode": "standard", "total_max_attempts": 10},
    connect_timeout=5,
    read_timeout=150,  # the poll function of builds takes up to 120 s: a retry would run beside it
)
"""Ten attempts for throttling, because a preflight makes many calls at once.

A connection may take five seconds; botocore's default is 60.
"""
MAX_CONNECTION_ATTEMPTS = 2
"""A choice of this project: more attempts do not help against a firewall."""
DENIED = (
    *("AccessDenied", "AccessDeniedException", "AuthorizationError"),
    *("AuthorizationErrorException", "UnauthorizedOperation", "403"),
)
"""Error codes for a caller without the permission."""

_ACTION = re.compile(r"not authorized to perform: ([\w-]+:\w+)")


def client(session: boto3.Session, service: str, region: str | None = None) -> Any:
    """Return a client of a service, by default in the session's region.

    It has many attempts for throttling, and few for connection errors.
    """
    untyped: Any = session  # its stubs accept only literal service names
    aws_client = untyped.client(service, region_name=region, config=CONFIG)
    aws_client.meta.events.register_first("needs-retry", _stop_connecting)
    return aws_client


def _stop_connecting(attempts: int, caught_exception: Exception | None, **_: Any) -> None:
    """Raise a connection error before botocore's own handler retries it."""
    if isinstance(caught_exception, NotConnected) and attempts >= MAX_CONNECTION_ATTEMPTS:
        raise caught_exception


def failure_reason(error: ClientError | BotoCoreError) -> str:
    """Return why an AWS call failed, with the missing permission if there is one."""
    if not isinstance(error, ClientError):
        return f"AWS: {error}"
    details = error.response["Error"]
    if details.get("Code") in DENIED:
        match = _ACTION.search(details.get("Message", ""))
        return f"no permission ({match[1] if match else error.operation_name})"
    message = details.get("Message") or details.get("Code")
    return f"AWS: {error.operation_name} failed: {message}"


def stack_template(cloudformation: "CloudFormationClient", stack: str) -> Template | None:
    """Return the template that a stack was last deployed with, None if there is no stack.

    Raise `ValueError` if it is not JSON, so not written by a CDK app.
    """
    try:
        response = cloudformation.get_template(StackName=stack, TemplateStage="Original")
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
        return None
    body: Any = response["TemplateBody"]  # a dictionary, although the type stubs say str
    template: Template = json.loads(body) if isinstance(body, str) else dict(body)
    return template


def physical_ids(cloudformation: "CloudFormationClient", stack: str) -> dict[str, str]:
    """Return logical id -> physical id of the resources of a stack; empty without a stack."""
    pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
    try:
        return {
            summary["LogicalResourceId"]: summary["PhysicalResourceId"]
            for page in pages
            for summary in page["StackResourceSummaries"]
            if summary.get("PhysicalResourceId") and summary["ResourceStatus"] != "DELETE_COMPLETE"
        }
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
        return {}
