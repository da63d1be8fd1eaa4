"""Lambda functions and custom-resource providers with minimal roles."""

from collections.abc import Mapping
from pathlib import Path

from aws_cdk import Duration, Stack, custom_resources
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from triton_sagemaker.build_project import create_log_group
from triton_sagemaker.nag import acknowledge, acknowledge_wildcards
from triton_sagemaker.service_trust import restrict_trust, trusted_service

TOTAL_TIMEOUT = Duration.minutes(55)
"""Timeout of a custom resource, below CloudFormation's limit of one hour."""
LISTS_MB = 1024
"""Memory of functions that compare lists of models with the objects of a bucket: half a CPU, and
space for 10,000 models with several versions."""


def handler_function(
    scope: Construct,
    construct_id: str,
    *,
    folder: str,
    handler: str,
    description: str,
    timeout: Duration,
    environment: Mapping[str, str] | None = None,
    memory_mb: int | None = None,
    name: str | None = None,
) -> lambda_.Function:
    """Return the Lambda function `handler` in `folder`/index.py, with Python 3.13."""
    log = create_log_group(scope, f"{construct_id}Log")
    function = lambda_.Function(
        scope,
        construct_id,
        code=lambda_.Code.from_asset(str(Path(__file__).parent / folder), exclude=["__pycache__"]),
        description=description,
        environment=environment,
        function_name=name,
        handler=f"index.{handler}",
        log_group=log,
        memory_size=memory_mb,
        role=_role(scope, f"{construct_id}Role", log),
        runtime=lambda_.Runtime.PYTHON_3_13,
        timeout=timeout,
    )
    acknowledge(function, "The runtime is fixed, because a new one needs a review.", "L1")
    return function


def provider(scope: Construct, *, on_event: lambda_.Function) -> custom_resources.Provider:
    """Return a custom-resource provider that waits for `on_event`, with its own log group."""
    log = create_log_group(scope, "ProviderLog")
    provider = custom_resources.Provider(
        scope,
        "Provider",
        framework_on_event_role=_role(scope, "ProviderRole", log),
        log_group=log,
        on_event_handler=on_event,
    )
    _restrict(scope, provider, on_event)
    return provider


def polled_provider(
    scope: Construct, *, on_event: lambda_.Function, is_complete: lambda_.Function
) -> custom_resources.Provider:
    """Return a custom-resource provider that polls `is_complete`, with its own log group."""
    log = create_log_group(scope, "ProviderLog")
    provider = custom_resources.Provider(
        scope,
        "Provider",
        framework_complete_and_timeout_role=_role(scope, "ProviderWaitRole", log),
        framework_on_event_role=_role(scope, "ProviderRole", log),
        is_complete_handler=is_complete,
        log_group=log,
        on_event_handler=on_event,
        query_interval=Duration.seconds(5),
        total_timeout=TOTAL_TIMEOUT,
    )
    _restrict(scope, provider, on_event, is_complete)
    reason = "State machines of the provider framework only poll functions, which write logs."
    acknowledge(provider, reason, "SF1", "SF2")
    return provider


def _restrict(
    scope: Construct, provider: custom_resources.Provider, *handlers: lambda_.Function
) -> None:
    """Restrict who assumes the roles of a provider, and acknowledge its wildcards."""
    restrict_trust(provider)
    created = (child for child in provider.node.find_all() if isinstance(child, lambda_.Function))
    versions = [f"{function.function_arn}:*" for function in (*handlers, *created)]
    reason = "The CDK's provider framework may invoke every version of its functions."
    acknowledge_wildcards(scope, {reason: versions})


def _role(scope: Construct, construct_id: str, log: logs.LogGroup) -> iam.Role:
    """Return a role for functions that write to `log`.

    The CDK's default role may write to all log groups of the account, and create new ones (AWS
    managed policy reference, AWSLambdaBasicExecutionRole).
    """
    trusted = trusted_service("lambda.amazonaws.com", account=Stack.of(scope).account)
    role = iam.Role(scope, construct_id, assumed_by=trusted)
    log.grant_write(role)
    return role
