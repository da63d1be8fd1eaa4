"""CodeBuild's quotas, against the archives that this deploy has built."""

from collections.abc import Iterator
from math import ceil
from typing import Any

from botocore.exceptions import ClientError

from release.plan import plan
from release.preflight.account import Account, NotDeployed
from release.preflight.rows import Row, Topic
from release.preflight.service_quotas import Quota

TOPIC = Topic("builds")
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

ARCHIVE, PROJECT = "Custom::TritonModel", "AWS::CodeBuild::Project"
GPU = "LINUX_GPU_CONTAINER"


def quota_name(environment: str) -> str:
    """Return the name of the quota on builds at once."""
    return f"Concurrently running builds for {environment} environment"


def ask(account: Account) -> Iterator[Row]:
    """Compare the quota of every project with the archives, or engines, that are to be built."""
    missing, without_engines = _missing(account), _without_engines(account)
    for _, _, project in account.resources(PROJECT):
        kind = project["Environment"]["Type"], project["Environment"]["ComputeType"]
        needed = [
            archive
            for archive in missing
            if kind[0] != GPU or archive["Key"] not in without_engines
        ]
        if kind not in ENVIRONMENTS:
            yield TOPIC.unknown(" ".join(kind), "the name of its quota is in no source")
            continue
        name = quota_name(ENVIRONMENTS[kind])
        quota = account.quotas.of(SERVICE).get(name)
        what = "models with engines" if kind[0] == GPU else "archives"
        if quota is None:
            yield TOPIC.unknown(
                name, f"Service Quotas has none of this name; {what} to build: {len(needed)}"
            )
        else:
            yield _row(name, quota, len(needed), what)


def _row(name: str, quota: Quota, needed: int, what: str) -> Row:
    counted = f"{quota}; {what} to build: {needed}"
    places = PLACES * quota.value
    if needed > places:
        return quota.too_small(
            TOPIC,
            f"{counted}, and CodeBuild takes {places:g} at once, those that wait included",
            ceil(needed / PLACES),
        )
    rounds = f", {quota.value:g} at a time" if needed > quota.value else ""
    return TOPIC.ok(name, counted + rounds)


def _missing(account: Account) -> list[Any]:
    """Return the properties of the archives that are not in the bucket; all of them before it is.

    An archive's manifest is written last: where it is, the archive is complete.
    """
    found = [it for _, _, it in account.resources(ARCHIVE)]
    if not found:
        return []
    try:
        bucket = _bucket(account, found[0])
    except NotDeployed:
        return found
    return [it for it in found if not _is_there(account, bucket, it["Key"])]


def _bucket(account: Account, archive: Any) -> str:
    """Return the name of the bucket that an archive is in. Raises `NotDeployed`."""
    stack, _, export = str(archive["Bucket"]["Fn::ImportValue"]).partition(":")
    outputs = account.templates[stack]["Outputs"]
    logical_id = outputs[export]["Value"]["Ref"]
    deployed = account.deployed(stack)
    if logical_id not in deployed:
        raise NotDeployed(stack)
    return deployed[logical_id]


def _is_there(account: Account, bucket: str, key: str) -> bool:
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
