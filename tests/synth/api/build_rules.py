"""What CodeBuild, Lambda and Step Functions demand of several fields together."""

import json
import re
from collections.abc import Iterator

from platform_facts import region
from tests.synth.api.calls import Calls

GPU_SIZES = ("BUILD_GENERAL1_SMALL", "BUILD_GENERAL1_LARGE")
"""CodeBuild API reference, ProjectEnvironment, computeType: those with LINUX_GPU_CONTAINER."""
MOST_VARIABLES = 4 * 1024
"""Bytes of a function's variables, names included (Lambda developer guide, quotas; from memory)."""


def build_projects(calls: Calls) -> Iterator[str]:
    """Images, machines and sources of builds.

    "When you use a cross-account or private registry image, you must use SERVICE_ROLE credentials.
    When you use an CodeBuild curated image, you must use CODEBUILD credentials." GPUs come in two
    sizes, in some regions. A source in S3 is `bucket/path.zip` (API reference, ProjectEnvironment
    and ProjectSource).
    """
    for call in calls.of("CreateProject"):
        machine, source = call.parameters["environment"], call.parameters["source"]
        curated = machine["image"].startswith("aws/codebuild/")
        if machine["imagePullCredentialsType"] != ("CODEBUILD" if curated else "SERVICE_ROLE"):
            yield f"{call.made_for}: {machine['imagePullCredentialsType']} for {machine['image']}"
        if machine["type"] == "LINUX_GPU_CONTAINER":
            if machine["computeType"] not in GPU_SIZES:
                yield f"{call.made_for}: no {machine['computeType']} has a GPU"
            if not region(calls.region).codebuild_gpu:
                yield f"{call.made_for}: no GPU in {calls.region}"
        if source["type"] == "S3" and not re.fullmatch(r"[^/:]+/.+\.zip", source["location"]):
            yield f"{call.made_for}: no archive at {source['location']}"


def functions(calls: Calls) -> Iterator[str]:
    """Functions' variables."""
    for call in calls.of("CreateFunction"):
        variables = call.parameters.get("Environment", {}).get("Variables", {})
        size = sum(len(name.encode()) + len(each.encode()) for name, each in variables.items())
        if size > MOST_VARIABLES:
            yield f"{call.made_for}: variables of {size} bytes"


def state_machines(calls: Calls) -> Iterator[str]:
    """The states that a machine names are there (Amazon States Language, "Top-level fields")."""
    for call in calls.of("CreateStateMachine"):
        machine = json.loads(call.parameters["definition"])
        named = {machine["StartAt"]}
        for state in machine["States"].values():
            named |= {each["Next"] for each in [state, *state.get("Catch", ())] if "Next" in each}
        if missing := named - machine["States"].keys():
            yield f"{call.made_for}: no state {', '.join(sorted(missing))}"


RULES = (build_projects, functions, state_machines)
