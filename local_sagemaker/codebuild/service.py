"""CodeBuild's operations."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from local_sagemaker.api import JsonService
from local_sagemaker.codebuild import log, settings
from local_sagemaker.codebuild.artifacts import BuildOutput
from local_sagemaker.codebuild.projects import Projects
from local_sagemaker.codebuild.quota import BuildQuota
from local_sagemaker.codebuild.runner import RunningBuild
from local_sagemaker.codebuild.sources import invalid_input
from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.errors import ApiError
from local_sagemaker.quotas.account import CONCURRENT_BUILDS

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Record = dict[str, Any]

STOP_SECONDS = 10
TOKEN_SECONDS = 300
TOKEN_LENGTH = 64
"""Validity in seconds and maximum length of an idempotencyToken (guide, run-build-cli)."""


PROJECT_MEMBERS = (
    "cache", "encryptionKey", "environment", "queuedTimeoutInMinutes", "secondarySources",
    "serviceRole", "source", "timeoutInMinutes",
)  # fmt: skip
"""Members of a build that are copied from the project, with the overrides of StartBuild."""


class CodeBuild:
    """Projects and builds.

    `clients` returns clients of S3 and CloudWatch Logs that act as a role. `quotas` maps
    environment type and compute type to the maximum number of concurrent builds; `max_queued` is
    the maximum number of queued builds.
    """

    def __init__(
        self,
        *,
        clients: Callable[[str], tuple["S3Client", Any]],
        folder: Path,
        environment: dict[str, str],
        quotas: Mapping[tuple[str, str], int] | None = None,
        max_queued: int | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clients = cache(clients)  # each client takes 0.3 MB, and builds are never deleted
        self._folder, self._environment, self._clock = folder, environment, clock
        self._quotas = {key: BuildQuota(limit, max_queued) for key, limit in (quotas or {}).items()}
        self._lock = threading.Lock()
        self._builds: dict[str, RunningBuild] = {}
        # Token -> build, request, and time of the request.
        self._tokens: dict[str, tuple[RunningBuild, Record, float]] = {}
        self._build_numbers: Counter[str] = Counter()
        self._projects = Projects(clock)
        self.service = JsonService(
            "codebuild",
            {
                **self._projects.operations,
                "StartBuild": self.start,
                "BatchGetBuilds": self.batch_get,
                "StopBuild": self.stop_build,
                "ListBuilds": self.list_builds,
                "ListBuildsForProject": self.list_builds_for_project,
            },
        )

    def start(self, request: Record) -> Record:
        """StartBuild. A repeated idempotencyToken returns the build of the first request."""
        project = self._projects.get(request["projectName"])
        with self._lock:
            token = request.get("idempotencyToken", "")
            if build := self._find_by_token(token, request):
                return {"build": build.record}
            build = self._enqueue_build(settings.with_overrides(project, request))
            self._builds[build.record["id"]] = build
            if token:
                self._tokens[token] = build, request, self._clock()
        threading.Thread(target=build.run, daemon=True).start()
        return {"build": build.record}

    def batch_get(self, request: Record) -> Record:
        """BatchGetBuilds."""
        with self._lock:
            existing = [name for name in request["ids"] if name in self._builds]
            return {
                "builds": [self._builds[name].record for name in existing],
                "buildsNotFound": [name for name in request["ids"] if name not in existing],
            }

    def stop_build(self, request: Record) -> Record:
        """StopBuild."""
        with self._lock:
            build = self._builds.get(request["id"])
        if build is None:
            raise ApiError("ResourceNotFoundException", f"Build cannot be found: {request['id']}")
        build.stop()
        return {"build": build.record}

    def list_builds(self, _request: Record) -> Record:
        """ListBuilds, the newest first."""
        with self._lock:
            return {"ids": list(reversed(self._builds))}

    def list_builds_for_project(self, request: Record) -> Record:
        """ListBuildsForProject, the newest first."""
        name = self._projects.get(request["projectName"])["name"]
        ids: list[str] = self.list_builds({})["ids"]
        return {"ids": [build for build in ids if build.partition(":")[0] == name]}

    def stop(self) -> None:
        """Stop all builds, and wait for the end of their processes."""
        with self._lock:
            builds = list(self._builds.values())
        for build in builds:
            build.stop()
        for build in builds:
            build.wait(STOP_SECONDS)

    def _find_by_token(self, token: str, request: Record) -> RunningBuild | None:
        """Return the build of an earlier request with this token, if the token is still valid."""
        if len(token) > TOKEN_LENGTH:
            raise invalid_input(
                f"idempotencyToken has {len(token)} characters; at most {TOKEN_LENGTH} are allowed"
            )
        build, first_request, start_time = self._tokens.get(token, (None, request, 0.0))
        if self._clock() - start_time >= TOKEN_SECONDS:
            return None
        if first_request != request:  # message observed on AWS by junioryono/billet, 2026-08-31
            raise invalid_input(f"Request parameter mismatch for idempotency token {token}")
        return build

    def _enqueue_build(self, settings: Record) -> RunningBuild:
        """Return a new, queued build. Raise `ApiError` if the queue is full."""
        project, environment = settings["name"], settings["environment"]
        uuid = str(uuid4())
        name = f"{project}:{uuid}"
        arn = f"arn:aws:codebuild:{REGION}:{ACCOUNT}:build/{name}"
        types = environment["type"], environment["computeType"]
        quota = self._quotas.setdefault(types, BuildQuota(CONCURRENT_BUILDS))
        quota.add(name)
        self._build_numbers[project] += 1
        folder, config = self._folder / uuid, settings["logsConfig"]
        folder.mkdir(parents=True)
        s3, logs = self._clients(settings["serviceRole"])
        output = BuildOutput(settings["artifacts"], arn, settings["encryptionKey"], s3)
        record = {
            **{member: settings[member] for member in PROJECT_MEMBERS},
            "id": name,
            "arn": arn,
            "artifacts": output.record,
            "buildNumber": self._build_numbers[project],
            "buildStatus": "IN_PROGRESS",
            "buildComplete": False,
            "logs": log.logs_member(config, None),
            "phases": [],
            "projectName": project,
            "startTime": self._clock(),
        }
        variables = {
            **self._environment,
            "AWS_SESSION_TOKEN": settings["serviceRole"],  # identifies the caller of recorded calls
            "CI": "true",
            "CODEBUILD_BUILD_ARN": arn,
            "CODEBUILD_BUILD_ID": name,
            "CODEBUILD_BUILD_IMAGE": environment["image"],
            "CODEBUILD_BUILD_NUMBER": str(self._build_numbers[project]),
            **{
                variable["name"]: variable["value"]
                for variable in environment["environmentVariables"]
            },
        }
        file = log.Log(folder / "build.log", logs, self._clock)
        logs_member = log.logs_member(config, log.stream_name(config, project, uuid))
        return RunningBuild(
            record, folder, file, logs_member, output, quota, s3, variables, self._clock
        )
