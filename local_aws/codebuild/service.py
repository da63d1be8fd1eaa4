"""CodeBuild's build operations; projects stay ministack's."""

import itertools
import threading
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_aws.api import Answer, JsonService, Operation
from local_aws.codebuild.runner import GRACE_SECONDS, Build
from local_aws.environment import ACCOUNT, REGION
from local_aws.errors import ApiError

if TYPE_CHECKING:
    from mypy_boto3_codebuild import CodeBuildClient
    from mypy_boto3_s3 import S3Client

Record = dict[str, Any]
Handler = Callable[..., Awaitable[Answer]]


class CodeBuild:
    """Answers what concerns builds, and hands the rest to ministack's own handler."""

    def __init__(
        self,
        projects: Handler,
        *,
        client: "CodeBuildClient",
        s3: "S3Client",
        folder: Path,
        environment: dict[str, str],
    ) -> None:
        self._projects, self._client, self._s3 = projects, client, s3
        self._folder, self._environment = folder, environment
        self._lock = threading.Lock()
        self._builds: dict[str, Build] = {}
        self._tokens: dict[str, str] = {}
        self._numbers = itertools.count(1)
        self._operations: dict[str, Operation] = {
            "StartBuild": self.start,
            "BatchGetBuilds": self.batch_get,
            "StopBuild": self.stop_build,
            "ListBuilds": self.list_builds,
            "ListBuildsForProject": self.list_builds,
        }
        self._service = JsonService("codebuild", self._operations)

    async def __call__(
        self, method: str, path: str, headers: dict[str, str], body: bytes, query: Any
    ) -> Answer:
        """Answer one request."""
        lowered = {name.lower(): value for name, value in headers.items()}
        if lowered.get("x-amz-target", "").rpartition(".")[2] in self._operations:
            return await self._service(method, path, headers, body, query)
        return await self._projects(method, path, headers, body, query)

    def start(self, request: Record) -> Record:
        """StartBuild. A repeated idempotencyToken answers with the build that it started."""
        found = self._client.batch_get_projects(names=[request["projectName"]])["projects"]
        if not found:
            raise ApiError(
                "ResourceNotFoundException", f"Project cannot be found: {request['projectName']}"
            )
        with self._lock:
            token = request.get("idempotencyToken", uuid.uuid4().hex)
            if token in self._tokens:
                return {"build": self._builds[self._tokens[token]].record}
            build = self._new(dict(found[0]), request)
            self._tokens[token] = build.record["id"]
            self._builds[build.record["id"]] = build
        threading.Thread(target=build.run, daemon=True).start()
        return {"build": build.record}

    def batch_get(self, request: Record) -> Record:
        """BatchGetBuilds."""
        with self._lock:
            known = [name for name in request["ids"] if name in self._builds]
            return {
                "builds": [self._builds[name].record for name in known],
                "buildsNotFound": [name for name in request["ids"] if name not in known],
            }

    def stop_build(self, request: Record) -> Record:
        """StopBuild."""
        with self._lock:
            build = self._builds.get(request["id"])
        if build is None:
            raise ApiError("ResourceNotFoundException", f"Build cannot be found: {request['id']}")
        build.stop()
        return {"build": build.record}

    def list_builds(self, request: Record) -> Record:
        """ListBuilds and ListBuildsForProject, newest first."""
        with self._lock:
            return {
                "ids": [
                    name
                    for name, build in reversed(self._builds.items())
                    if request.get("projectName") in (None, build.record["projectName"])
                ]
            }

    def stop(self) -> None:
        """End every build; return when none of their processes is left."""
        with self._lock:
            builds = list(self._builds.values())
        for build in builds:
            build.stop()
        for build in builds:
            build.wait(2 * GRACE_SECONDS)

    def _new(self, project: Record, request: Record) -> Build:
        environment = _environment(project["environment"], request)
        identifier = f"{project['name']}:{uuid.uuid4()}"
        arn = f"arn:aws:codebuild:{REGION}:{ACCOUNT}:build/{identifier}"
        folder = self._folder / identifier.partition(":")[2]
        folder.mkdir(parents=True)
        record = {
            "id": identifier,
            "arn": arn,
            "buildNumber": next(self._numbers),
            "buildStatus": "IN_PROGRESS",
            "buildComplete": False,
            "currentPhase": "SUBMITTED",
            "environment": environment,
            "logs": {"deepLink": str(folder / "build.log")},
            "phases": [],
            "projectName": project["name"],
            "secondarySources": request.get(
                "secondarySourcesOverride", project.get("secondarySources", [])
            ),
            "source": _overridden(project["source"], request, _OF_THE_SOURCE),
            "startTime": time.time(),
            "timeoutInMinutes": request.get(
                "timeoutInMinutesOverride", project.get("timeoutInMinutes", 60)
            ),
        }
        return Build(
            record,
            folder,
            self._s3,
            {
                **self._environment,
                "CI": "true",
                "CODEBUILD_BUILD_ARN": arn,
                "CODEBUILD_BUILD_ID": identifier,
                **{it["name"]: it["value"] for it in environment["environmentVariables"]},
            },
        )


_OF_THE_SOURCE = {
    "buildspec": "buildspecOverride",
    "location": "sourceLocationOverride",
    "type": "sourceTypeOverride",
}
_OF_THE_ENVIRONMENT = {
    "computeType": "computeTypeOverride",
    "image": "imageOverride",
    "type": "environmentTypeOverride",
}
"""What of a project StartBuild may override, and by which parameter."""


def _overridden(described: Record, request: Record, parameters: dict[str, str]) -> Record:
    wanted = {name: request[it] for name, it in parameters.items() if it in request}
    return {**described, **wanted}


def _environment(described: Record, request: Record) -> Record:
    """The project's environment with what a request overrides; a variable by its name."""
    variables = {
        variable["name"]: variable
        for variable in (
            *described.get("environmentVariables", []),
            *request.get("environmentVariablesOverride", []),
        )
    }
    for name, variable in variables.items():
        if variable.get("type", "PLAINTEXT") != "PLAINTEXT":
            raise ApiError(
                "InvalidInputException",
                f"The local AWS has no {variable['type']} variables: give {name} as PLAINTEXT.",
            )
    return {
        **_overridden(described, request, _OF_THE_ENVIRONMENT),
        "environmentVariables": list(variables.values()),
    }
