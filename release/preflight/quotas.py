"""Compare the account's quotas with the instances and builds of a deploy."""

from collections.abc import Iterator

from release.preflight.account import Account
from release.preflight.builds import archives_to_build, engines_to_build
from release.preflight.findings import CheckFinding, unknown
from release.preflight.fleets import Peak, instance_types, peaks

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


def instances_quota(instance_type: str) -> str:
    """Return the name of an instance type's quota, as in CreateEndpoint's errors.

    Source: awsdocs/amazon-sagemaker-developer-guide#70, aws/amazon-sagemaker-examples#307.
    """
    return f"{instance_type} for endpoint usage"


def builds_quota(environment: tuple[str, str]) -> str:
    """Return the name of the quota on concurrent builds in an environment and compute type."""
    return f"Concurrently running builds for {ENVIRONMENTS[environment]} environment"


def check_instances(account: Account) -> Iterator[CheckFinding]:
    """Compare the quotas on endpoint instances with the peak of this deploy.

    No source documents a quota on the number of endpoints.
    """
    by_type = peaks(account)
    names = sorted(instance_types(account))
    for name in names:
        yield _compare(account, instances_quota(name), by_type[name])
    if names:
        preferred = peaks(account, only_preferred=True).values()
        total = Peak(
            sum(peak.running for peak in preferred),
            sum(peak.needed for peak in preferred),
            sum(peak.maximum for peak in preferred),
        )
        yield _compare(account, ALL_INSTANCES, total)
    for name, endpoint in account.running_endpoints.items():
        if endpoint.error:
            yield unknown(name, f"{endpoint.error}: its instances are not counted")


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


def _compare(account: Account, quota: str, peak: Peak) -> CheckFinding:
    message = f"{peak.running} run, {peak.needed} at the peak of this deploy"
    if peak.maximum > peak.needed:
        message += f", {peak.maximum} at the maximum of scaling"
    amount = peak.needed if peak.needed > peak.running else 0
    return account.quotas.compare(SAGEMAKER, quota, amount, message, maximum=peak.maximum)
