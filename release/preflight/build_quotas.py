"""CodeBuild's quotas, against the archives that this deploy has built."""

from collections.abc import Iterator
from math import ceil
from pathlib import PurePosixPath
from typing import Any

import yaml
from botocore.exceptions import ClientError

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
    missing = _missing(account)
    for _, _, project in account.resources(PROJECT):
        kind = project["Environment"]["Type"], project["Environment"]["ComputeType"]
        needed = [it for it in missing if kind[0] != GPU or _has_engine(account, it)]
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


def _has_engine(account: Account, archive: Any) -> bool:
    """Whether a TensorRT engine is compiled for an archive; of a recipe that cannot be read, yes.

    An alternative's files take the place of those in the same folders. For a CPU, nothing is
    compiled (model_build/recipe.py, which is not for this room to import).
    """
    path = account.tree.models / archive["Model"] / "recipe.yaml"
    if not archive["Target"].startswith("cuda-") or not path.is_file():
        return False
    try:
        recipe = yaml.safe_load(path.read_text(encoding="utf-8"))
        files, alternative = recipe.get("files") or {}, archive["Alternative"]
        if alternative:
            chosen = recipe["alternatives"][alternative]
            replaced = {PurePosixPath(it).parent for it in chosen}
            kept = {it: files[it] for it in files if PurePosixPath(it).parent not in replaced}
            files = {**kept, **chosen}
        return any(it["to"] == "tensorrt" for it in files.values())
    except (yaml.YAMLError, AttributeError, KeyError, TypeError):
        return True
