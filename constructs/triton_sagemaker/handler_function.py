"""A Lambda function that may write its own log, and what it is given."""

from collections.abc import Mapping
from pathlib import Path

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from triton_sagemaker.build_project import build_log
from triton_sagemaker.service_trust import trusted_service


def handler_function(
    scope: Construct,
    construct_id: str,
    *,
    folder: Path,
    handler: str,
    description: str,
    timeout: Duration,
    environment: Mapping[str, str] | None = None,
) -> lambda_.Function:
    """Return the function `handler` of `folder`/index.py, in Python 3.13."""
    log = build_log(scope, f"{construct_id}Log")
    return lambda_.Function(
        scope,
        construct_id,
        code=lambda_.Code.from_asset(str(folder), exclude=["__pycache__"]),
        description=description,
        environment=environment,
        handler=f"index.{handler}",
        log_group=log,
        role=function_role(scope, f"{construct_id}Role", log),
        runtime=lambda_.Runtime.PYTHON_3_13,
        timeout=timeout,
    )


def function_role(scope: Construct, construct_id: str, log: logs.LogGroup) -> iam.Role:
    """Return a role for functions that write `log`.

    The one that the CDK makes by default may write every log of the account, and make new ones
    (AWS managed policy reference, AWSLambdaBasicExecutionRole).
    """
    role = iam.Role(scope, construct_id, assumed_by=trusted_service(scope, "lambda.amazonaws.com"))
    log.grant_write(role)
    return role
