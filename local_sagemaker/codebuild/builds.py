"""Builds: the service CodeBuild, and the run of a build."""

import copy
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from zipfile import BadZipFile

import yaml
from boto3.exceptions import Boto3Error
from botocore.exceptions import BotoCoreError, ClientError

from local_sagemaker.api import JsonService
from local_sagemaker.codebuild.projects import S3_KEY, Projects, invalid_input, with_overrides
from local_sagemaker.codebuild.sources import artifacts_key, download, matching_files
from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.errors import ApiError
from local_sagemaker.log_stream import LogStream
from local_sagemaker.prerequisites import search_path

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Record = dict[str, Any]

STOP_SECONDS = 10
POLL_SECONDS = 0.01
TOKEN_SECONDS = 300
"""Validity of an idempotencyToken in seconds (guide, run-build-cli)."""
_log = logging.getLogger(__name__)
CONSOLE = f"https://console.aws.amazon.com/cloudwatch/home?region={REGION}"
COPIED_MEMBERS = (
    "cache", "encryptionKey", "environment", "queuedTimeoutInMinutes", "secondarySources",
    "serviceRole", "source", "timeoutInMinutes",
)  # fmt: skip
"""Members of a build that are copied from the project, with the overrides of StartBuild."""


class CodeBuild:
    """Projects and builds.

    `clients` returns clients of S3 and CloudWatch Logs that act as a role.
    """

    def __init__(
        self,
        *,
        clients: Callable[[str], tuple["S3Client", Any]],
        folder: Path,
        environment: dict[str, str],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clients = cache(clients)  # each client takes 0.3 MB, and builds are never deleted
        self._folder, self._environment, self._clock = folder, environment, clock
        self._lock = threading.Lock()
        self._records: dict[str, Record] = {}  # of all builds, the newest last
        self._builds: dict[str, ProjectBuild] = {}  # not of builds before a restart
        self._tokens: dict[
            str, tuple[ProjectBuild, Record, float]
        ] = {}  # with request, and its time
        self._projects = Projects(clock)
        self.service = JsonService("codebuild", self, self._projects)

    def start_build(self, request: Record) -> Record:
        """StartBuild. A repeated idempotencyToken returns the build of the first request."""
        project = self._projects.get(request["projectName"])
        with self._lock:
            token, now = request.get("idempotencyToken", ""), self._clock()
            build, first_request, start_time = self._tokens.get(token, (None, request, 0.0))
            if build and now - start_time < TOKEN_SECONDS:
                if first_request != request:  # observed on AWS by junioryono/billet, 2026-08-31
                    message = f"Request parameter mismatch for idempotency token {token}"
                    raise invalid_input(message)
                return {"build": copy.deepcopy(build.record)}
            build = self._new_build(with_overrides(project, request))
            if token:
                self._tokens[token] = build, request, now
            response = {"build": copy.deepcopy(build.record)}
        threading.Thread(target=build.run, daemon=True).start()
        return response

    def batch_get_builds(self, request: Record) -> Record:
        """BatchGetBuilds."""
        with self._lock:
            existing = [name for name in request["ids"] if name in self._records]
            return {
                "builds": [self._records[name] for name in existing],
                "buildsNotFound": [name for name in request["ids"] if name not in existing],
            }

    def stop_build(self, request: Record) -> Record:
        """StopBuild."""
        with self._lock:
            record, build = self._records.get(request["id"]), self._builds.get(request["id"])
        if record is None:
            raise ApiError("ResourceNotFoundException", f"Build cannot be found: {request['id']}")
        if build:
            build.stopping.set()
        return {"build": record}

    def list_builds(self, _: Record) -> Record:
        """ListBuilds, the newest first."""
        return {"ids": self._ids()}

    def list_builds_for_project(self, request: Record) -> Record:
        """ListBuildsForProject, the newest first."""
        name = self._projects.get(request["projectName"])["name"]
        return {"ids": [build for build in self._ids() if build.partition(":")[0] == name]}

    def records(self) -> Record:
        """Return what `restore` needs: the projects and the completed builds."""
        with self._lock:
            builds = [build for build in self._records.values() if build["buildComplete"]]
            return copy.deepcopy({"projects": self._projects.by_name, "builds": builds})

    def restore(self, records: Record) -> None:
        """Restore projects and builds."""
        self._projects.by_name.update(records["projects"])
        self._records.update((build["id"], build) for build in records["builds"])

    def stop(self) -> None:
        """Stop all builds, and wait for the end of their processes."""
        with self._lock:
            builds = list(self._builds.values())
        for build in builds:
            build.stopping.set()
        for build in builds:
            build.ended.wait(STOP_SECONDS)

    def _ids(self) -> list[str]:
        with self._lock:
            return list(reversed(self._records))

    def _new_build(self, settings: Record) -> "ProjectBuild":
        uuid, role = str(uuid4()), settings["serviceRole"]
        s3, logs = self._clients(role)
        environment = {**self._environment, "AWS_SESSION_TOKEN": role}  # identifies the caller
        build = ProjectBuild(
            settings,
            uuid,
            folder=self._folder / uuid,
            environment=environment,
            s3=s3,
            logs=logs,
            clock=self._clock,
        )
        self._builds[build.record["id"]] = build
        self._records[build.record["id"]] = build.record
        return build


class BuildFailed(Exception):
    """The end of a phase that did not succeed, and of the build (API, BuildPhase and PhaseContext).

    Without a `code`, the phase has no context.
    """

    def __init__(self, code: str = "", message: str = "", *, status: str = "FAILED") -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status


class ProjectBuild:
    """A build; the run updates `record`, which BatchGetBuilds returns."""

    def __init__(
        self,
        settings: Record,
        uuid: str,
        *,
        folder: Path,
        environment: dict[str, str],
        s3: "S3Client",
        logs: Any,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings, self._uuid, self._folder, self._s3 = settings, uuid, folder, s3
        self._clock, self._deadline = clock, float("inf")
        self.stopping, self.ended = threading.Event(), threading.Event()
        name = f"{settings['name']}:{uuid}"
        arn = f"arn:aws:codebuild:{REGION}:{ACCOUNT}:build/{name}"
        artifacts = settings["artifacts"]
        output: Record = {"location": ""}
        if artifacts["type"] == "S3":  # the AWS CLI's example of stop-build
            key = f"{artifacts['location']}/{artifacts_key(artifacts, uuid)}"
            output = {"location": f"arn:aws:s3:::{key}", "encryptionDisabled": False}
        names = settings["logsConfig"]["cloudWatchLogs"]
        group = names.get("groupName") or f"/aws/codebuild/{settings['name']}"
        stream = "/".join(filter(None, [names.get("streamName"), uuid]))  # a prefix (API)
        self.record: Record = {
            **{member: settings[member] for member in COPIED_MEMBERS},
            "id": name,
            "arn": arn,
            "artifacts": output,
            "buildStatus": "IN_PROGRESS",
            "buildComplete": False,
            "logs": {
                "groupName": group,
                "streamName": stream,
                "deepLink": f"{CONSOLE}#logEvent:group={group};stream={stream}",
                **settings["logsConfig"],
            },
            "phases": [],
            "projectName": settings["name"],
            "startTime": clock(),
        }
        variables = settings["environment"]["environmentVariables"]
        self._environment = {
            **_host_environment(),
            **environment,
            "CI": "true",
            "CODEBUILD_BUILD_ID": name,
            **{
                variable["name"]: variable["value"]
                for variable in variables
                # PIP_* is inherited from this machine, which selects the package index.
                if not variable["name"].startswith("PIP_")
            },
        }
        folder.mkdir(parents=True)
        self._log = LogStream(folder / "build.log", logs, clock)
        self._log.file.touch()
        with self._phase("SUBMITTED"):
            pass
        self._begin_phase("QUEUED")

    def run(self) -> None:
        """Run the build until it ends."""
        status = "SUCCEEDED"
        try:
            self._run_phases()
        except BuildFailed as failure:
            # TIMED_OUT is FAILED: observed on AWS on 2026-08-31 by junioryono/billet.
            status = {"TIMED_OUT": "FAILED"}.get(failure.status, failure.status)
        finally:  # set buildComplete last: the log has been sent
            self._begin_phase("COMPLETED")
            self._send_log()
            self.record.update(buildStatus=status, buildComplete=True, endTime=self._clock())
            self.ended.set()

    def _run_phases(self) -> None:
        """Run the phases. After a failed command, only the phase FINALIZING follows."""
        with self._phase("QUEUED"):
            pass
        with self._phase("PROVISIONING"):
            self._deadline = self._clock() + 60 * self.record["timeoutInMinutes"]
            self._log.open(self.record["logs"]["groupName"], self.record["logs"]["streamName"])
        with self._phase("DOWNLOAD_SOURCE"):
            spec = self._download()
        try:
            for name in ("INSTALL", "PRE_BUILD", "BUILD", "POST_BUILD"):
                with self._phase(name):
                    self._run_commands(spec["phases"].get(name.lower(), {}).get("commands", []))
            with self._phase("UPLOAD_ARTIFACTS"):
                self._upload(spec.get("artifacts"))
        except BuildFailed as failure:
            if failure.status == "FAILED":
                self._finalize()
            raise
        self._finalize()

    def _finalize(self) -> None:
        with self._phase("FINALIZING"):
            pass

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        """Record the `with` block as a phase. Raise `BuildFailed`."""
        phase = self.record["phases"][-1] if name == "QUEUED" else self._begin_phase(name)
        failure: BuildFailed | None = None
        try:
            self._check_can_continue()
            yield
        except BuildFailed as error:
            failure = error
        except Exception as error:  # an error of the local SageMaker
            message = f"Internal Service Error: {type(error).__name__}: {error}"
            failure = BuildFailed("INTERNAL_SERVICE_ERROR", message, status="FAULT")
        phase["endTime"] = self._clock()
        phase["durationInSeconds"] = int(phase["endTime"] - phase["startTime"])
        phase["phaseStatus"] = failure.status if failure else "SUCCEEDED"
        code, message = (failure.code, failure.message) if failure else ("", "")
        if name not in ("SUBMITTED", "QUEUED") and (failure is None or code):
            # Empty strings if the phase succeeded: the AWS CLI's example of batch-get-builds.
            phase["contexts"] = [{"statusCode": code, "message": message}]
        self._send_log()
        if failure:
            raise failure

    def _begin_phase(self, name: str) -> Record:
        phase: Record = {"phaseType": name, "startTime": self._clock()}
        self.record["phases"].append(phase)
        self.record["currentPhase"] = name
        return phase

    def _check_can_continue(self) -> None:
        """Raise `BuildFailed` after StopBuild or the timeout."""
        if self.stopping.is_set():
            raise BuildFailed(status="STOPPED")
        if self._clock() >= self._deadline:
            raise BuildFailed("BUILD_TIMED_OUT", "Build has timed out.", status="TIMED_OUT")

    def _download(self) -> Record:
        """Download the sources, set their variables, and parse the buildspec.

        Source of the variables: guide, build-env-ref-env-vars.
        """
        primary = self.record["source"]
        folders = {"": primary}
        for source in self.record["secondarySources"]:
            folders[f"_{source['sourceIdentifier']}"] = source
        for suffix, source in folders.items():
            folder = self._folder / f"src{suffix}"
            self._environment[f"CODEBUILD_SRC_DIR{suffix}"] = str(folder)
            try:
                download(source, folder, self._s3)
            except (ClientError, BotoCoreError, OSError, ValueError, BadZipFile) as error:
                raise BuildFailed(
                    "CLIENT_ERROR",
                    f"{error} for {suffix.removeprefix('_') or 'primary'} source and source "
                    f"version arn:aws:s3:::{source['location'].removeprefix('arn:aws:s3:::')}",
                ) from error
        try:
            return parse_buildspec(primary.get("buildspec", ""))
        except ValueError as error:
            raise BuildFailed("YAML_FILE_ERROR", str(error)) from error

    def _run_commands(self, commands: list[str]) -> None:
        for command in commands:
            if status := self._run_command(command):
                self._check_can_continue()
                message = f"{command}. Reason: exit status {status}"
                raise BuildFailed(
                    "COMMAND_EXECUTION_ERROR", f"Error while executing command: {message}"
                )

    def _run_command(self, command: str) -> int:
        """Run a command with its output in the log; return the exit status.

        Its background processes are killed when it ends.
        """
        with self._log.file.open("ab") as output:
            process = subprocess.Popen(
                ["sh", "-c", command],
                cwd=self._folder / "src",
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        ended = os.WEXITED | os.WNOHANG | os.WNOWAIT  # without reaping it
        try:
            while not os.waitid(os.P_PID, process.pid, ended):
                if self.stopping.wait(POLL_SECONDS) or self._clock() >= self._deadline:
                    break
        finally:  # before `wait` frees the process group id for reuse
            os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
        return status

    def _upload(self, artifacts: Record | None) -> None:
        """Upload the artifacts."""
        settings, key = self._settings["artifacts"], self._settings["encryptionKey"]
        if settings["type"] == "NO_ARTIFACTS":
            return
        extra: Record = {
            "ServerSideEncryption": "aws:kms",
            **({} if key == S3_KEY else {"SSEKMSKeyId": key}),
        }
        try:
            for name, file in matching_files(artifacts, self._folder / "src").items():
                target = artifacts_key(settings, self._uuid, name)
                self._s3.upload_file(str(file), settings["location"], target, ExtraArgs=extra)
        except ValueError as error:
            raise BuildFailed("CLIENT_ERROR", str(error)) from error
        except (ClientError, BotoCoreError, Boto3Error) as error:
            raise BuildFailed("CLIENT_ERROR", f"Failed to upload artifacts: {error}") from error

    def _send_log(self) -> None:
        if error := self._log.send():
            _log.warning("build %s cannot write to CloudWatch Logs: %s", self.record["id"], error)


def parse_buildspec(text: str) -> Record:
    """Parse a buildspec. Raise `ValueError` if it is invalid or not emulated (build-spec-ref).

    Each command runs in a shell of its own, so that a phase needs one command.
    """
    try:
        spec = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
    # Version 0.1 runs each command in a separate shell.
    if not isinstance(spec, dict) or str(spec.get("version")) != "0.2":
        raise ValueError("only buildspec version 0.2 is supported: write version: 0.2")
    phases = spec.get("phases") or {}
    unsupported = [
        *(key for key in spec if key not in ("artifacts", "phases", "version")),
        *(key for key in phases if key not in ("install", "pre_build", "build", "post_build")),
        *(f"{name}.{key}" for name, phase in phases.items() for key in phase if key != "commands"),
        *(key for key in spec.get("artifacts", {}) if key not in ("base-directory", "files")),
    ]
    if unsupported or not phases:
        keys = ", ".join(unsupported) or "a buildspec without phases"
        raise ValueError(f"the local SageMaker does not support {keys}")
    for name, phase in phases.items():
        if len(phase.get("commands", [])) != 1:
            raise ValueError(f"phase {name} needs one command: join its commands into one")
    return spec


def _host_environment() -> dict[str, str]:
    """Return the variables that a command inherits: pip, locale, and a PATH with this Python."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name in ("HOME", "LANG", "TMPDIR", "PYTHONPYCACHEPREFIX")
        or name.startswith(("PIP_", "LC_", "SSL_"))
    }
    return {
        **inherited,
        "PATH": search_path(),
        "PIP_NO_DEPS": "1",  # lock files are complete, and resolving dependencies takes seconds
        "PYTHONDONTWRITEBYTECODE": "1",  # sources of a build are in a temporary folder
    }
