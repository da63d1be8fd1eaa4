"""Compare the account's quotas with the instances, builds and functions of a deploy."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from delivery.preflight.account import Account
from delivery.preflight.builds import archives_to_build, engines_to_build
from delivery.preflight.findings import CheckFinding, ok, refused, unknown
from release.stack_endpoints import stack_endpoints
from release.templates import Template, references

SAGEMAKER, CODEBUILD = "sagemaker", "codebuild"
ALL_INSTANCES = "Number of instances across active endpoints"
"""The quota on the instances of all endpoints, named as in CreateEndpoint's errors
(https://github.com/aws/sagemaker-python-sdk/issues/908 has the error for one type)."""
ENVIRONMENTS = {
    ("LINUX_CONTAINER", "BUILD_GENERAL1_SMALL"): "Linux/Small",
    ("LINUX_CONTAINER", "BUILD_GENERAL1_MEDIUM"): "Linux/Medium",
    ("LINUX_CONTAINER", "BUILD_GENERAL1_LARGE"): "Linux/Large",
    ("LINUX_GPU_CONTAINER", "BUILD_GENERAL1_SMALL"): "Linux GPU Small",
    ("LINUX_GPU_CONTAINER", "BUILD_GENERAL1_LARGE"): "Linux GPU Large",
}
"""Environment and compute type -> their name in a quota's name
(https://docs.aws.amazon.com/codebuild/latest/userguide/limits.html)."""
PROJECT, GPU = "AWS::CodeBuild::Project", "LINUX_GPU_CONTAINER"
BUILDS_PER_QUOTA = 6
"""Builds that CodeBuild accepts per unit of the quota: one that runs, and five in the queue
(https://docs.aws.amazon.com/codebuild/latest/userguide/builds-working.html)."""

CONCURRENCY, CONCURRENCY_QUOTA, DEFAULT_LIMIT = "Concurrent executions", "L-B99A9384", 1000
"""Lambda's quota, and its default
(https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html)."""
EXECUTIONS_PER_RESOURCE = 2
"""A custom resource runs the CDK's provider framework, which waits for the handler."""


def instances_quota(instance_type: str) -> str:
    """Return the name of an instance type's quota, as in CreateEndpoint's errors.

    Source: awsdocs/amazon-sagemaker-developer-guide#70, aws/amazon-sagemaker-examples#307.
    """
    return f"{instance_type} for endpoint usage"


def builds_quota(environment: tuple[str, str]) -> str:
    """Return the name of the quota on concurrent builds in an environment and compute type."""
    return f"Concurrently running builds for {ENVIRONMENTS[environment]} environment"


def check_instances(account: Account) -> Iterator[CheckFinding]:
    """Compare the quotas on endpoint instances with those that this deploy starts.

    Refused is what new endpoints need. The instances of an update and of scaling are only named: a
    SageMaker that refuses them (ResourceLimitExceeded) changes nothing. All instances of a variant
    count for each of its types. No source documents a quota on the number of endpoints.
    """
    running, started, maximum = Counter[str](), Counter[str](), Counter[str]()
    stage_endpoints = {
        endpoint.name: endpoint for endpoint in stack_endpoints(account.stage, account.templates)
    }
    for name, running_endpoint in account.running_endpoints.items():
        for counts in running_endpoint.variants.values():
            for instance_type, count in counts.items():
                quotas = {instances_quota(instance_type): count, ALL_INSTANCES: count}
                running.update(quotas)
                if name not in stage_endpoints:
                    maximum.update(quotas)
    of_stage = set[str]()
    for name, endpoint in stage_endpoints.items():
        own = account.running_endpoints.get(name)
        for variant in endpoint.variants:
            count = sum(own.variants.get(variant.name, {}).values()) if own else 0
            for quota in (*map(instances_quota, variant.instance_types), ALL_INSTANCES):
                of_stage.add(quota)
                maximum[quota] += max(variant.maximum, 2 * max(variant.initial, count))
                if own is None:
                    started[quota] += variant.initial
    for quota in sorted(of_stage):
        amount = running[quota] + started[quota] if started[quota] else 0
        message = f"{running[quota]} run, this deploy starts {started[quota]}"
        message += f", updates and scaling up to {maximum[quota]} in all"
        yield account.quotas.compare(SAGEMAKER, quota, amount, message, maximum=maximum[quota])
    for name, running_endpoint in account.running_endpoints.items():
        if running_endpoint.error:
            yield unknown(name, f"{running_endpoint.error}: its instances are not counted")


def check_builds(account: Account) -> Iterator[CheckFinding]:
    """Compare the quota of every project with the archives, or engines, to build."""
    archives = archives_to_build(account)
    engines = engines_to_build(account, archives)
    for _, _, project in account.resources(PROJECT):
        environment = project["Environment"]["Type"], project["Environment"]["ComputeType"]
        name, amount = "archives", len(archives)
        if environment[0] == GPU:
            name, amount = "models with engines", len(engines)
        message = f"{name} to build: {amount}"
        if environment not in ENVIRONMENTS:
            yield unknown(" ".join(environment), "no source has the name of its quota")
            continue
        yield account.quotas.compare(
            CODEBUILD, builds_quota(environment), amount, message, per_unit=BUILDS_PER_QUOTA
        )


def check_functions(account: Account) -> Iterator[CheckFinding]:
    """Compare Lambda's limit on concurrent executions with the custom resources of the stacks.

    A new account may have 10, whatever Service Quotas shows as the default. A throttled provider
    leaves CloudFormation waiting for its hour: its framework calls once more, and its handler of
    the time-out cannot parse the error (aws-cdk-lib, custom-resources/lib/provider-framework).
    Deliveries deploy so many stacks in parallel as the limit allows.
    """
    by_stack = [
        EXECUTIONS_PER_RESOURCE * _parallel_custom_resources(template)
        for template in account.templates.values()
    ]
    largest, total = max(by_stack, default=0), sum(by_stack)
    limit = account.client("lambda").get_account_settings()["AccountLimit"]["ConcurrentExecutions"]
    message = f"{limit}; one stack needs up to {largest}, all at once {total}"
    command = "aws service-quotas request-service-quota-increase --service-code lambda "
    command += f"--quota-code {CONCURRENCY_QUOTA} --desired-value {max(total, DEFAULT_LIMIT)}"
    if largest > limit:
        yield refused(CONCURRENCY, message, command)
    else:
        yield ok(CONCURRENCY, message, command if total > limit else "")


def _parallel_custom_resources(template: Template) -> int:
    """Return how many custom resources of a stack CloudFormation may create at the same time.

    One that depends on another waits for it, so that each chain counts once.
    """
    custom = {
        name: resource
        for name, resource in template.get("Resources", {}).items()
        if resource["Type"].startswith("Custom::")
    }
    return sum(not custom.keys() & {*_dependencies(resource)} for resource in custom.values())


def _dependencies(resource: Any) -> Iterator[str]:
    depends_on = resource.get("DependsOn", ())
    yield from [depends_on] if isinstance(depends_on, str) else depends_on
    yield from references(resource.get("Properties", {}))
