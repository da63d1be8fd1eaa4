"""CodeBuild's projects."""

import copy
import threading
import time
from collections.abc import Callable
from typing import Any

from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.errors import ApiError

Record = dict[str, Any]

S3_KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:alias/aws/s3"
"""The default encryption key of a project; uploads with this key need no SSEKMSKeyId."""

DEFAULTS: Record = {
    "artifacts": {"type": "NO_ARTIFACTS"},
    "cache": {"type": "NO_CACHE"},
    "description": "",
    "encryptionKey": S3_KEY,
    "logsConfig": {},
    "queuedTimeoutInMinutes": 480,
    "secondarySources": [],
    "tags": [],
    "timeoutInMinutes": 60,
}
"""Default values of CreateProject (API reference; guide, builds-working)."""

_NESTED_DEFAULTS: dict[str, Record] = {
    "artifacts": {"overrideArtifactName": False},
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


class Projects:
    """The projects by name, with their defaults."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self.by_name: dict[str, Record] = {}

    def get(self, name: str) -> Record:
        """Return a project's settings. Raise `ApiError` if it does not exist."""
        with self._lock:
            if name not in self.by_name:
                raise ApiError("ResourceNotFoundException", f"Project cannot be found: {arn(name)}")
            return copy.deepcopy(self.by_name[name])

    def list_projects(self, _: Record) -> Record:
        """ListProjects."""
        return {"projects": sorted(self.by_name)}

    def create_project(self, request: Record) -> Record:
        """CreateProject."""
        name, now = request["name"], self._clock()
        with self._lock:
            if name in self.by_name:
                message = f"Project already exists: {arn(name)}"
                raise ApiError("ResourceAlreadyExistsException", message)
            members = {"arn": arn(name), "badge": {"badgeEnabled": False}, "created": now}
            members["projectVisibility"] = "PRIVATE"
            return self._store({**request, **members, "lastModified": now})

    def update_project(self, request: Record) -> Record:
        """UpdateProject."""
        project = self.get(request["name"])
        with self._lock:
            return self._store({**project, **request, "lastModified": self._clock()})

    def _store(self, project: Record) -> Record:
        project = with_defaults(project)
        self.by_name[project["name"]] = project
        return {"project": copy.deepcopy(project)}

    def delete_project(self, request: Record) -> Record:
        """DeleteProject; the builds of the project remain (API, DeleteProject)."""
        with self._lock:
            self.by_name.pop(request["name"], None)
        return {}

    def batch_get_projects(self, request: Record) -> Record:
        """BatchGetProjects."""
        names = [name.rpartition("/")[2] for name in request["names"]]  # ARNs are accepted too
        with self._lock:
            existing = [self.by_name[name] for name in names if name in self.by_name]
            missing = [name for name in names if name not in self.by_name]
        return {"projects": copy.deepcopy(existing), "projectsNotFound": missing}


def arn(name: str) -> str:
    """Return a project's ARN."""
    return f"arn:aws:codebuild:{REGION}:{ACCOUNT}:project/{name}"


def with_defaults(project: Record) -> Record:
    """Return settings with defaults."""
    settings = copy.deepcopy({**DEFAULTS, **project})
    nested = copy.deepcopy(_NESTED_DEFAULTS)
    if settings["artifacts"]["type"] == "S3":
        nested["artifacts"] |= _S3_ARTIFACTS
    for name, defaults in nested.items():
        settings[name] = {**defaults, **settings[name]}
    variables = settings["environment"]["environmentVariables"]
    by_name = {variable["name"]: {"type": "PLAINTEXT", **variable} for variable in variables}
    settings["environment"]["environmentVariables"] = list(by_name.values())
    return settings


def with_overrides(project: Record, request: Record) -> Record:
    """Return a project's settings with the overrides of StartBuild."""
    settings = copy.deepcopy(project)
    overrides = {
        "artifactsOverride": "artifacts", "secondarySourcesOverride": "secondarySources"
    }  # fmt: skip
    settings |= {overrides[name]: request[name] for name in overrides if name in request}
    environment = settings["environment"]
    environment["image"] = request.get("imageOverride", environment["image"])
    environment["environmentVariables"] += request.get("environmentVariablesOverride", [])
    return with_defaults(settings)


def invalid_input(message: str) -> ApiError:
    """Return an InvalidInputException."""
    return ApiError("InvalidInputException", message)
