"""What a project says, what StartBuild overrides of it, and what of both is refused."""

import copy
from typing import Any

from local_sagemaker.codebuild import artifacts, sources
from local_sagemaker.errors import ApiError

Record = dict[str, Any]

DEFAULTS: Record = {
    "artifacts": {"type": "NO_ARTIFACTS"},
    "cache": {"type": "NO_CACHE"},
    "description": "",
    "encryptionKey": artifacts.S3_KEY,
    "logsConfig": {"cloudWatchLogs": {"status": "ENABLED"}, "s3Logs": {"status": "DISABLED"}},
    "queuedTimeoutInMinutes": 480,
    "secondarySources": [],
    "tags": [],
    "timeoutInMinutes": 60,
}
"""What a project has that does not say otherwise (API, CreateProject; guide, builds-working)."""

OVERRIDES = {
    "artifactsOverride": ("artifacts",),
    "buildspecOverride": ("source", "buildspec"),
    "computeTypeOverride": ("environment", "computeType"),
    "encryptionKeyOverride": ("encryptionKey",),
    "environmentTypeOverride": ("environment", "type"),
    "imageOverride": ("environment", "image"),
    "imagePullCredentialsTypeOverride": ("environment", "imagePullCredentialsType"),
    "logsConfigOverride": ("logsConfig",),
    "queuedTimeoutInMinutesOverride": ("queuedTimeoutInMinutes",),
    "secondarySourcesOverride": ("secondarySources",),
    "sourceLocationOverride": ("source", "location"),
    "sourceTypeOverride": ("source", "type"),
    "timeoutInMinutesOverride": ("timeoutInMinutes",),
}
"""Parameter of StartBuild -> what of the project it replaces, for one build."""

GPU_COMPUTE_TYPES = ("BUILD_GENERAL1_SMALL", "BUILD_GENERAL1_LARGE")


def overridden(project: Record, request: Record) -> Record:
    """Return what holds for one build. Raises `ApiError` for what cannot be."""
    settings = copy.deepcopy(project)
    for parameter, path in OVERRIDES.items():
        if parameter in request:
            *parents, last = path
            place = settings[parents[0]] if parents else settings
            place[last] = copy.deepcopy(request[parameter])
    environment = settings["environment"]
    variables = (
        *environment.get("environmentVariables", []),
        *request.get("environmentVariablesOverride", []),
    )
    environment["environmentVariables"] = list({it["name"]: it for it in variables}.values())
    check(settings)
    return settings


def check(settings: Record) -> None:
    """Raise `ApiError` for what CodeBuild, or this one, refuses in a project or a build."""
    if settings["cache"]["type"] != "NO_CACHE":
        raise _invalid("The local SageMaker has no caches: leave out cache.")
    if settings["logsConfig"].get("s3Logs", {}).get("status") == "ENABLED":
        raise _invalid("The local SageMaker writes no logs to S3: leave out s3Logs.")
    sources.check(settings["source"], settings["secondarySources"])
    artifacts.check(settings["artifacts"])
    _check_environment(settings["environment"])


def _check_environment(environment: Record) -> None:
    kind, size = environment["type"], environment["computeType"]
    if kind == "LINUX_GPU_CONTAINER" and size not in GPU_COMPUTE_TYPES:
        # guide, build-env-ref-compute-types: the rows of this type
        raise _invalid(f"{kind} has no {size}: choose one of {', '.join(GPU_COMPUTE_TYPES)}.")
    for variable in environment.get("environmentVariables", []):
        if variable.get("type", "PLAINTEXT") != "PLAINTEXT":
            raise _invalid(
                f"The local SageMaker has no {variable['type']} variables: "
                f"give {variable['name']} as PLAINTEXT."
            )


def _invalid(message: str) -> ApiError:
    return ApiError("InvalidInputException", message)
