"""Fake CloudWatch Logs, and builds without the CodeBuild service."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_sagemaker.codebuild import log
from local_sagemaker.codebuild.artifacts import S3_KEY, BuildOutput
from local_sagemaker.codebuild.quota import BuildQuota
from local_sagemaker.codebuild.runner import RunningBuild

MakeBuild = Callable[..., RunningBuild]
UUID = "0b1c2d3e-0000-4000-8000-000000000001"


class FakeLogs:
    """A fake client of CloudWatch Logs: batches of events by group and stream."""

    def __init__(self) -> None:
        self.groups: set[str] = set()
        self.batches: dict[tuple[str, str], list[list[dict[str, Any]]]] = {}

    def create_log_group(self, *, logGroupName: str) -> None:  # noqa: N803
        if logGroupName in self.groups:
            raise failed("ResourceAlreadyExistsException", "CreateLogGroup")
        self.groups.add(logGroupName)

    def create_log_stream(self, *, logGroupName: str, logStreamName: str) -> None:  # noqa: N803
        if logGroupName not in self.groups:
            raise failed("ResourceNotFoundException", "CreateLogStream")
        self.batches[logGroupName, logStreamName] = []

    def put_log_events(
        self,
        *,
        logGroupName: str,  # noqa: N803
        logStreamName: str,  # noqa: N803
        logEvents: list[dict[str, Any]],  # noqa: N803
    ) -> None:
        self.batches[logGroupName, logStreamName].append(logEvents)

    def messages(self, group: str, stream: str) -> list[str]:
        return [event["message"] for batch in self.batches[group, stream] for event in batch]


def failed(code: str, operation: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "refused"}}, operation)


class Clock:
    """A fake clock in seconds since 1970."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def logs() -> FakeLogs:
    return FakeLogs()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def build(tmp_path: Path, s3: Any, logs: FakeLogs, clock: Clock) -> MakeBuild:
    """A function that makes a build with one command per phase."""

    def make(
        *,
        environment: dict[str, str] | None = None,
        source: dict[str, Any] | None = None,
        secondary: list[dict[str, Any]] | None = None,
        artifacts: dict[str, Any] | None = None,
        output: dict[str, Any] | None = None,
        logs_config: dict[str, Any] | None = None,
        quota: BuildQuota | None = None,
        clock: Callable[[], float] = clock,
        **phases: str,
    ) -> RunningBuild:
        spec = {
            "version": "0.2",
            "phases": {name: {"commands": [command]} for name, command in phases.items()},
            **({"artifacts": artifacts} if artifacts else {}),
        }
        arn = f"arn:aws:codebuild:us-east-1:000000000000:build/builder:{UUID}"
        settings = output or {"type": "NO_ARTIFACTS"}
        output_ = BuildOutput(settings, arn, S3_KEY, s3)
        config = logs_config or {"cloudWatchLogs": {"status": "ENABLED"}}
        record = {
            "id": f"builder:{UUID}",
            "artifacts": output_.record,
            "logs": log.logs_member(config, None),
            "phases": [],
            "queuedTimeoutInMinutes": 5,
            "source": {"type": "NO_SOURCE", "buildspec": json.dumps(spec), **(source or {})},
            "secondarySources": secondary or [],
            "timeoutInMinutes": 1,
        }
        folder = tmp_path / "build"
        folder.mkdir()
        quota = quota or BuildQuota(1)
        quota.add(f"builder:{UUID}")
        return RunningBuild(
            record,
            folder,
            log.Log(folder / "build.log", logs, clock),
            log.logs_member(config, log.stream_name(config, "builder", UUID)),
            output_,
            quota,
            s3,
            environment or {},
            clock,
        )

    return make


def command_output(build: RunningBuild) -> list[str]:
    """Return the output of the commands, without the lines of CodeBuild."""
    lines = build.log.file.read_text(errors="replace").splitlines()
    return [line for line in lines if not line.startswith("[Container] ")]


def log_lines(build: RunningBuild) -> list[str]:
    """Return the log lines of CodeBuild, without their times."""
    lines = build.log.file.read_text(errors="replace").splitlines()
    return [line.split(" ", 3)[3] for line in lines if line.startswith("[Container] ")]


def statuses(build: RunningBuild) -> dict[str, str | None]:
    return {phase["phaseType"]: phase.get("phaseStatus") for phase in build.record["phases"]}


def context(build: RunningBuild, phase: str) -> dict[str, str]:
    (result,) = (record for record in build.record["phases"] if record["phaseType"] == phase)
    (only,) = result["contexts"]
    return dict(only)
