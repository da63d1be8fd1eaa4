import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.codebuild.service import CodeBuild
from local_sagemaker.errors import ApiError
from local_sagemaker.tests.codebuild.conftest import Clock, FakeLogs
from local_sagemaker.tests.support.waiting import TIMEOUT_SECONDS, eventually

MakeCodeBuild = Callable[..., CodeBuild]
GPU_SMALL = ("LINUX_GPU_CONTAINER", "BUILD_GENERAL1_SMALL")


def spec(command: str) -> str:
    phases = {"build": {"commands": [command]}}
    return json.dumps({"version": "0.2", "phases": phases})


NO_OPERATION = spec("true")
UNTIL_STOPPED = spec("echo started; sleep 300")


def project(
    name: str,
    *,
    buildspec: str = NO_OPERATION,
    types: tuple[str, str] = ("LINUX_CONTAINER", "BUILD_GENERAL1_SMALL"),
    **members: Any,
) -> dict[str, Any]:
    variables = [
        {"name": "MODEL", "value": "project value", "type": "PLAINTEXT"},
        {"name": "KEPT", "value": "as it is", "type": "PLAINTEXT"},
    ]
    environment = {
        "type": types[0],
        "image": "aws/codebuild/standard:7.0",
        "computeType": types[1],
        "environmentVariables": variables,
    }
    return {
        "name": name,
        "artifacts": {"type": "NO_ARTIFACTS"},
        "environment": environment,
        "serviceRole": "arn:aws:iam::000000000000:role/builder",
        "source": {"type": "NO_SOURCE", "buildspec": buildspec},
        **members,
    }


@pytest.fixture
def make(
    s3: Any, logs: FakeLogs, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MakeCodeBuild]:
    """A function that makes the service with two projects; it is stopped after the test."""
    monkeypatch.setattr("local_sagemaker.codebuild.service.STOP_SECONDS", TIMEOUT_SECONDS)
    services = []

    def make(quotas: dict[tuple[str, str], int] | None = None) -> CodeBuild:
        service = CodeBuild(
            clients=lambda _: (s3, logs),
            folder=tmp_path / "builds",
            environment={"AWS_ENDPOINT_URL": "http://127.0.0.1:1"},
            quotas=quotas,
            clock=clock,
        )
        services.append(service)
        for name in ("builder", "other"):
            service.service.call("CreateProject", project(name))
        return service

    yield make
    for service in services:
        service.stop()


@pytest.fixture
def codebuild(make: MakeCodeBuild) -> CodeBuild:
    return make()


@pytest.fixture
def builds(tmp_path: Path) -> Path:
    """The folder that contains the folders of the builds."""
    return tmp_path / "builds"


def update(codebuild: CodeBuild, name: str = "builder", **changes: Any) -> None:
    codebuild.service.call("UpdateProject", {**project(name, **changes), "name": name})


def start(codebuild: CodeBuild, name: str = "builder", **request: Any) -> dict[str, Any]:
    build: dict[str, Any] = codebuild.start({"projectName": name, **request})["build"]
    return build


def wait_for_build(build: dict[str, Any]) -> dict[str, Any]:
    eventually(lambda: build["buildComplete"])
    return build


def log_file(builds: Path, build: dict[str, Any]) -> Path:
    name: str = build["id"]
    return builds / name.partition(":")[2] / "build.log"


def wait_until_running(builds: Path, build: dict[str, Any]) -> None:
    eventually(lambda: "\nstarted\n" in log_file(builds, build).read_text())


def command_output(builds: Path, build: dict[str, Any]) -> list[str]:
    """Wait until a build has ended, and return the output of its commands."""
    lines = log_file(builds, wait_for_build(build)).read_text().splitlines()
    return [line for line in lines if not line.startswith("[Container] ")]


# StartBuild


def test_idempotency_token_is_valid_for_five_minutes(codebuild: CodeBuild, clock: Clock) -> None:
    first = start(codebuild, idempotencyToken="a")
    clock.now += 299
    assert start(codebuild, idempotencyToken="a")["id"] == first["id"]
    clock.now += 1
    second = start(codebuild, idempotencyToken="a", imageOverride="other")
    assert second["id"] != first["id"]
    clock.now += 299
    assert start(codebuild, idempotencyToken="a", imageOverride="other")["id"] == second["id"]


def test_idempotency_token_with_other_parameters_is_refused(codebuild: CodeBuild) -> None:
    start(codebuild, idempotencyToken="a")
    for changed in ({"imageOverride": "other"}, {"name": "other"}):
        with pytest.raises(ApiError) as exc_info:
            start(codebuild, idempotencyToken="a", **changed)
        assert exc_info.value.code == "InvalidInputException"
        assert exc_info.value.message == "Request parameter mismatch for idempotency token a"


def test_build_has_the_settings_of_its_project(codebuild: CodeBuild, logs: FakeLogs) -> None:
    source = {"type": "NO_SOURCE", "sourceIdentifier": "shared"}
    group = {"cloudWatchLogs": {"status": "ENABLED", "groupName": "mine"}}
    update(
        codebuild, secondarySources=[source], timeoutInMinutes=55, queuedTimeoutInMinutes=10,
        logsConfig=group,
    )  # fmt: skip
    build = wait_for_build(start(codebuild))
    assert build["environment"]["image"] == "aws/codebuild/standard:7.0"
    assert build["secondarySources"] == [source]
    assert (build["timeoutInMinutes"], build["queuedTimeoutInMinutes"]) == (55, 10)
    assert build["logs"]["groupName"] == "mine"
    assert list(logs.batches) == [("mine", build["logs"]["streamName"])]
    other = wait_for_build(start(codebuild, "other"))
    assert (other["timeoutInMinutes"], other["queuedTimeoutInMinutes"]) == (60, 480)
    assert other["artifacts"] == {"location": ""}


def test_override_does_not_change_the_project(codebuild: CodeBuild) -> None:
    before = codebuild.service.call("BatchGetProjects", {"names": ["builder"]})
    start(codebuild, imageOverride="other")
    assert codebuild.service.call("BatchGetProjects", {"names": ["builder"]}) == before


def test_environment_variables_of_commands(codebuild: CodeBuild, builds: Path) -> None:
    names = (
        "MODEL KEPT NEW CI AWS_ENDPOINT_URL CODEBUILD_BUILD_ID CODEBUILD_BUILD_ARN "
        "CODEBUILD_BUILD_IMAGE CODEBUILD_BUILD_NUMBER"
    )
    update(codebuild, buildspec=spec(f'for name in {names}; do eval echo "$name=\\$$name"; done'))
    override = [
        {"name": "MODEL", "value": "request value"},
        {"name": "NEW", "value": "one more"},
    ]
    build = start(codebuild, environmentVariablesOverride=override)
    assert command_output(builds, build) == [
        "MODEL=request value",
        "KEPT=as it is",
        "NEW=one more",
        "CI=true",
        "AWS_ENDPOINT_URL=http://127.0.0.1:1",
        f"CODEBUILD_BUILD_ID={build['id']}",
        f"CODEBUILD_BUILD_ARN={build['arn']}",
        "CODEBUILD_BUILD_IMAGE=aws/codebuild/standard:7.0",
        "CODEBUILD_BUILD_NUMBER=1",
    ]


# Quotas


def test_build_beyond_the_quota_waits(make: MakeCodeBuild, builds: Path) -> None:
    codebuild = make({GPU_SMALL: 1})
    update(codebuild, types=GPU_SMALL, buildspec=UNTIL_STOPPED)
    first = start(codebuild)
    wait_until_running(builds, first)
    update(codebuild, types=GPU_SMALL)
    second = start(codebuild)
    update(codebuild, "other", types=("LINUX_GPU_CONTAINER", "BUILD_GENERAL1_LARGE"))
    assert wait_for_build(start(codebuild, "other"))["buildStatus"] == "SUCCEEDED"
    assert (second["currentPhase"], second["buildStatus"]) == ("QUEUED", "IN_PROGRESS")
    codebuild.stop_build({"id": first["id"]})
    assert wait_for_build(second)["buildStatus"] == "SUCCEEDED"


# BatchGetBuilds, StopBuild, ListBuilds


def test_builds_are_listed_newest_first(codebuild: CodeBuild) -> None:
    names = ["builder", "other", "builder"]
    first, second, third = (start(codebuild, name)["id"] for name in names)
    assert codebuild.list_builds({})["ids"] == [third, second, first]
    assert codebuild.list_builds_for_project({"projectName": "builder"})["ids"] == [third, first]
    with pytest.raises(ApiError, match="Project cannot be found: none"):
        codebuild.list_builds_for_project({"projectName": "none"})


def test_stop_ends_running_builds_only(codebuild: CodeBuild, builds: Path) -> None:
    completed = wait_for_build(start(codebuild, "other"))
    update(codebuild, buildspec=UNTIL_STOPPED)
    running = [start(codebuild) for _ in range(2)]
    for build in running:
        wait_until_running(builds, build)
    codebuild.stop()
    assert [build["buildStatus"] for build in running] == ["STOPPED", "STOPPED"]
    assert completed["buildStatus"] == "SUCCEEDED"


# Projects


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"cache": {"type": "S3"}}, "The local SageMaker does not support cache: leave it out."),
        (
            {"logsConfig": {"s3Logs": {"status": "ENABLED"}}},
            "The local SageMaker does not support logsConfig.s3Logs: leave it out.",
        ),
        (
            {
                "environment": project("a", types=("LINUX_GPU_CONTAINER", "BUILD_GENERAL1_MEDIUM"))[
                    "environment"
                ]
            },
            "LINUX_GPU_CONTAINER does not support BUILD_GENERAL1_MEDIUM: choose one of",
        ),
        ({"source": {"type": "S3"}}, "Invalid project source: the location of an S3"),
    ],
)
def test_invalid_project_is_refused(
    codebuild: CodeBuild, members: dict[str, Any], message: str
) -> None:
    for operation, name in (("CreateProject", "third"), ("UpdateProject", "builder")):
        with pytest.raises(ApiError) as exc_info:
            codebuild.service.call(operation, {**project(name), **members})
        assert exc_info.value.code == "InvalidInputException"
        assert exc_info.value.message.startswith(message)
    assert wait_for_build(start(codebuild))["buildStatus"] == "SUCCEEDED"
