"""Lambda functions and providers of custom resources, whose roles only write their own logs."""

from collections.abc import Mapping
from pathlib import Path

from aws_cdk import Duration, Stack, custom_resources
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from triton_sagemaker.build_project import build_log
from triton_sagemaker.nag import acknowledge, acknowledge_wildcards
from triton_sagemaker.service_trust import narrow_trust, trusted_service

TOTAL_TIMEOUT = Duration.minutes(55)
"""Less than the hour after which CloudFormation stops waiting for a custom resource."""


def handler_function(
    scope: Construct,
    construct_id: str,
    *,
    folder: str,
    handler: str,
    description: str,
    timeout: Duration,
    environment: Mapping[str, str] | None = None,
    name: str | None = None,
) -> lambda_.Function:
    """Return the Lambda function `handler` in `folder`/index.py, with Python 3.13."""
    log = build_log(scope, f"{construct_id}Log")
    function = lambda_.Function(
        scope,
        construct_id,
        code=lambda_.Code.from_asset(str(Path(__file__).parent / folder), exclude=["__pycache__"]),
        description=description,
        environment=environment,
        function_name=name,
        handler=f"index.{handler}",
        log_group=log,
        role=_role(scope, f"{construct_id}Role", log),
        runtime=lambda_.Runtime.PYTHON_3_13,
        timeout=timeout,
    )
    reason = "Python 3.13 is chosen on purpose: a new runtime is a change to review."
    acknowledge(function, reason, "L1")
    return function


def polled_provider(
    scope: Construct, *, on_event: lambda_.Function, is_complete: lambda_.Function
) -> custom_resources.Provider:
    """Return a provider of custom resources that polls `is_complete`, with its own log group."""
    log = build_log(scope, "ProviderLog")
    provider = custom_resources.Provider(
        scope,
        "Provider",
        framework_complete_and_timeout_role=_role(scope, "ProviderWaitRole", log),
        framework_on_event_role=_role(scope, "ProviderRole", log),
        is_complete_handler=is_complete,
        log_group=log,
        on_event_handler=on_event,
        query_interval=Duration.seconds(15),
        total_timeout=TOTAL_TIMEOUT,
    )
    narrow_trust(provider)
    own = [child for child in provider.node.find_all() if isinstance(child, lambda_.Function)]
    versions = [f"{function.function_arn}:*" for function in (on_event, is_complete, *own)]
    reason = "The CDK's provider framework may invoke every version of its functions."
    acknowledge_wildcards(scope, {reason: versions})
    reason = "State machines of the CDK's provider framework only poll functions, which log."
    acknowledge(provider, reason, "SF1", "SF2")
    return provider


def _role(scope: Construct, construct_id: str, log: logs.LogGroup) -> iam.Role:
    """Return a role for functions that write to `log`.

    The CDK's default role may write to all log groups of the account, and create new ones (AWS
    managed policy reference, AWSLambdaBasicExecutionRole).
    """
    trusted = trusted_service("lambda.amazonaws.com", account=Stack.of(scope).account)
    role = iam.Role(scope, construct_id, assumed_by=trusted)
    log.grant_write(role)
    return role
