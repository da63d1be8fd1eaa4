"""CodeBuild's quotas, against the archives that this deploy has built."""

from collections.abc import Iterator
from math import ceil

from botocore.exceptions import ClientError

from release.plan import plan
from release.preflight.account import Account
from release.preflight.findings import CheckFinding, ok, unknown
from release.stage_resources import StackArchive, archives

SERVICE = "codebuild"
ENVIRONMENTS = {
    ("LINUX_CONTAINER", "BUILD_GENERAL1_SMALL"): "Linux/Small",
    ("LINUX_CONTAINER", "BUILD_GENERAL1_MEDIUM"): "Linux/Medium",
    ("LINUX_CONTAINER", "BUILD_GENERAL1_LARGE"): "Linux/Large",
    ("LINUX_GPU_CONTAINER", "BUILD_GENERAL1_SMALL"): "Linux GPU Small",
    ("LINUX_GPU_CONTAINER", "BUILD_GENERAL1_LARGE"): "Linux GPU Large",
}
"""Environment and compute type -> how a quota's name calls them
(https://docs.aws.amazon.com/codebuild/latest/userguide/limits.html)."""

PLACES = 6
"""Builds that CodeBuild takes for each that may run: that one, and five in the queue
(https://docs.aws.amazon.com/codebuild/latest/userguide/builds-working.html)."""

PROJECT = "AWS::CodeBuild::Project"
GPU = "LINUX_GPU_CONTAINER"


def quota_name(environment: str) -> str:
    """Return the name of the quota on builds at once."""
    return f"Concurrently running builds for {environment} environment"


def check(account: Account) -> Iterator[CheckFinding]:
    """Compare the quota of every project with the archives, or engines, that are to be built."""
    missing = [archive.key for archive in _missing(account)]
    with_engines = [key for key in missing if key not in _without_engines(account)]
    for _, _, project in account.resources(PROJECT):
        environment = project["Environment"]["Type"], project["Environment"]["ComputeType"]
        if environment not in ENVIRONMENTS:
            yield unknown(" ".join(environment), "the name of its quota is in no source")
        elif environment[0] == GPU:
            yield _compare(account, environment, len(with_engines), "models with engines")
        else:
            yield _compare(account, environment, len(missing), "archives")


def _compare(
    account: Account, environment: tuple[str, str], needed: int, what: str
) -> CheckFinding:
    name = quota_name(ENVIRONMENTS[environment])
    quota = account.quotas.of(SERVICE).get(name)
    if quota is None:
        return unknown(name, f"Service Quotas has none of this name; {what} to build: {needed}")
    message = f"{quota}; {what} to build: {needed}"
    places = PLACES * quota.value
    if needed > places:
        return quota.too_small(
            f"{message}, and CodeBuild takes {places:g} at once, those that wait included",
            ceil(needed / PLACES),
        )
    return ok(name, message)


def _missing(account: Account) -> list[StackArchive]:
    """Return the archives that are not in the bucket; all of them before it is."""
    needed = list(archives(account.templates).values())
    bucket = _bucket(account, needed[0]) if needed else None
    return [
        archive
        for archive in needed
        if bucket is None or not _is_there(account, bucket, archive.key)
    ]


def _bucket(account: Account, archive: StackArchive) -> str | None:
    """Return the name of the bucket of archives, None where it is not deployed."""
    stack, _, export = str(archive.properties["Bucket"]["Fn::ImportValue"]).partition(":")
    logical_id = account.templates[stack]["Outputs"][export]["Value"]["Ref"]
    return account.deployed(stack).get(logical_id)


def _is_there(account: Account, bucket: str, key: str) -> bool:
    """Return whether an archive is complete: its manifest is written last."""
    try:
        account.client("s3").head_object(Bucket=bucket, Key=key.removesuffix(".tar.gz") + ".json")
    except ClientError as error:
        if error.response["Error"]["Code"] in ("404", "NoSuchKey", "NotFound"):
            return False
        raise
    return True


def _without_engines(account: Account) -> set[str]:
    """Return the keys of archives for which no TensorRT engine is compiled, as far as is planned.

    The plan of an earlier commit does not say so: its archives count as those with engines.
    """
    endpoints = plan(account.assembly).get("endpoints", {}).values()
    return {
        key
        for endpoint in endpoints
        for key, engines in endpoint.get("engines", {}).items()
        if not engines
    }
