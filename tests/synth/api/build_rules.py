"""Constraints of CodeBuild that involve several request fields."""

import re
from collections.abc import Iterator

from platform_facts import region
from tests.synth.api.calls import Calls

GPU_SIZES = ("BUILD_GENERAL1_SMALL", "BUILD_GENERAL1_LARGE")
"""CodeBuild API reference, ProjectEnvironment, computeType: sizes of LINUX_GPU_CONTAINER."""


def build_projects(calls: Calls) -> Iterator[str]:
    """Yield invalid images, machines and sources of builds.

    "When you use a cross-account or private registry image, you must use SERVICE_ROLE credentials.
    When you use an CodeBuild curated image, you must use CODEBUILD credentials." GPUs come in two
    sizes, in some regions. A source in S3 is `bucket/path.zip` (API reference, ProjectEnvironment
    and ProjectSource).
    """
    for call in calls.by_operation("CreateProject"):
        machine, source = call.parameters["environment"], call.parameters["source"]
        curated = machine["image"].startswith("aws/codebuild/")
        if machine["imagePullCredentialsType"] != ("CODEBUILD" if curated else "SERVICE_ROLE"):
            credentials = machine["imagePullCredentialsType"]
            yield f"{call.resource_id}: credentials {credentials} for {machine['image']}"
        if machine["type"] == "LINUX_GPU_CONTAINER":
            if machine["computeType"] not in GPU_SIZES:
                yield f"{call.resource_id}: {machine['computeType']} has no GPU"
            if not region(calls.region).codebuild_gpu:
                yield f"{call.resource_id}: CodeBuild has no GPU in {calls.region}"
        if source["type"] == "S3" and not re.fullmatch(r"[^/:]+/.+\.zip", source["location"]):
            yield f"{call.resource_id}: source {source['location']} is not a .zip"


RULES = (build_projects,)
