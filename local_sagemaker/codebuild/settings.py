"""The settings of a project: defaults, checks, and the overrides of StartBuild."""

import copy
from typing import Any

from local_sagemaker.codebuild import artifacts, sources

Record = dict[str, Any]

DEFAULTS: Record = {
    "artifacts": {"type": "NO_ARTIFACTS"},
    "cache": {"type": "NO_CACHE"},
    "description": "",
    "encryptionKey": artifacts.S3_KEY,
    "logsConfig": {},
    "queuedTimeoutInMinutes": 480,
    "secondarySources": [],
    "tags": [],
    "timeoutInMinutes": 60,
}
"""Default values of CreateProject (API reference; guide, builds-working)."""

_NESTED_DEFAULTS: dict[str, Record] = {
    "environment": {
        "environmentVariables": [],
        "imagePullCredentialsType": "CODEBUILD",
        "privilegedMode": False,
    },
    "logsConfig": {
        "cloudWatchLogs": {"status": "ENABLED"},
        "s3Logs": {"status": "DISABLED", "encryptionDisabled": False},
    },
    "source": {"insecureSsl": False},
}
_S3_ARTIFACTS = {"encryptionDisabled": False, "namespaceType": "NONE", "packaging": "NONE"}
"""Defaults of nested members. Source: cloud-custodian/cloud-custodian, tests/data/placebo,
test_codebuild_config and test_codebuild."""

GPU_COMPUTE_TYPES = ("BUILD_GENERAL1_SMALL", "BUILD_GENERAL1_LARGE")


def with_defaults(project: Record) -> Record:
    """Return settings with defaults. Raise `ApiError` if they are invalid or not emulated."""
    settings = copy.deepcopy({**DEFAULTS, **project})
    for name, defaults in _NESTED_DEFAULTS.items():
        settings[name] = {**copy.deepcopy(defaults), **settings[name]}
    s3_defaults = _S3_ARTIFACTS if settings["artifacts"]["type"] == "S3" else {}
    settings["artifacts"] = {**s3_defaults, "overrideArtifactName": False, **settings["artifacts"]}
    variables = settings["environment"]["environmentVariables"]
    by_name = {variable["name"]: {"type": "PLAINTEXT", **variable} for variable in variables}
    settings["environment"]["environmentVariables"] = list(by_name.values())
    _check_settings(settings)
    return settings


def with_overrides(project: Record, request: Record) -> Record:
    """Return a project's settings with the overrides of StartBuild. Raise `ApiError`."""
    settings = copy.deepcopy(project)
    settings["artifacts"] = request.get("artifactsOverride", settings["artifacts"])
    settings["secondarySources"] = request.get(
        "secondarySourcesOverride", settings["secondarySources"]
    )
    environment = settings["environment"]
    environment["image"] = request.get("imageOverride", environment["image"])
    environment["environmentVariables"] += request.get("environmentVariablesOverride", [])
    return with_defaults(settings)


def _check_settings(settings: Record) -> None:
    environment = settings["environment"]
    not_emulated = {
        "cache": settings["cache"]["type"] != "NO_CACHE",
        "logsConfig.s3Logs": settings["logsConfig"]["s3Logs"]["status"] == "ENABLED",
        "environment.environmentVariables of other types than PLAINTEXT": any(
            variable["type"] != "PLAINTEXT" for variable in environment["environmentVariables"]
        ),
    }
    if members := [name for name, is_used in not_emulated.items() if is_used]:
        raise sources.invalid_input(
            f"The local SageMaker does not support {', '.join(members)}: leave it out."
        )
    sources.check_sources(settings["source"], settings["secondarySources"])
    artifacts.check_artifacts(settings["artifacts"])
    environment_type, compute_type = environment["type"], environment["computeType"]
    if environment_type == "LINUX_GPU_CONTAINER" and compute_type not in GPU_COMPUTE_TYPES:
        # Source: guide, build-env-ref-compute-types.
        raise sources.invalid_input(
            f"{environment_type} does not support {compute_type}: choose one of "
            f"{', '.join(GPU_COMPUTE_TYPES)}."
        )
