"""A Lambda function that may write its own log, and what it is given."""

from collections.abc import Mapping
from pathlib import Path

from aws_cdk import Duration, Stack, custom_resources
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from triton_sagemaker.build_project import build_log
from triton_sagemaker.nag import acknowledge, acknowledge_wildcards
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
    name: str | None = None,
) -> lambda_.Function:
    """Return the function `handler` of `folder`/index.py, in Python 3.13."""
    log = build_log(scope, f"{construct_id}Log")
    function = lambda_.Function(
        scope,
        construct_id,
        code=lambda_.Code.from_asset(str(folder), exclude=["__pycache__"]),
        description=description,
        environment=environment,
        function_name=name,
        handler=f"index.{handler}",
        log_group=log,
        role=function_role(scope, f"{construct_id}Role", log),
        runtime=lambda_.Runtime.PYTHON_3_13,
        timeout=timeout,
    )
    reason = "Python 3.13 is chosen on purpose: a new runtime is a change to review."
    acknowledge(function, reason, "L1")
    return function


def function_role(scope: Construct, construct_id: str, log: logs.LogGroup) -> iam.Role:
    """Return a role for functions that write `log`.

    The one that the CDK makes by default may write every log of the account, and make new ones
    (AWS managed policy reference, AWSLambdaBasicExecutionRole).
    """
    trusted = trusted_service("lambda.amazonaws.com", account=Stack.of(scope).account)
    role = iam.Role(scope, construct_id, assumed_by=trusted)
    log.grant_write(role)
    return role


def acknowledge_framework(
    scope: Construct, provider: custom_resources.Provider, *handlers: lambda_.Function
) -> None:
    """Acknowledge what a provider, with roles in `scope`, does with functions of its own."""
    own = [child for child in provider.node.find_all() if isinstance(child, lambda_.Function)]
    versions = [f"{function.function_arn}:*" for function in (*handlers, *own)]
    reason = "The CDK's provider framework may invoke every version of its functions."
    acknowledge_wildcards(scope, {reason: versions})
    reason = "State machines of the CDK's provider framework only poll functions, which log."
    acknowledge(provider, reason, "SF1", "SF2")
