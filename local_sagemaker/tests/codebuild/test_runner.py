import itertools
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.tests.codebuild.conftest import (
    UUID,
    Clock,
    FakeLogs,
    MakeBuild,
    command_output,
    context,
    log_lines,
    statuses,
)
from local_sagemaker.tests.support.waiting import eventually, runs

OK = {"statusCode": "", "message": ""}
STREAM = ("/aws/codebuild/builder", UUID)


def failed_command(command: str, status: int = 1) -> dict[str, str]:
    message = f"Error while executing command: {command}. Reason: exit status {status}"
    return {"statusCode": "COMMAND_EXECUTION_ERROR", "message": message}


def test_commands_have_no_secrets_of_the_environment(
    build: MakeBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("PIP_INDEX_URL", "http://localhost:1/simple")
    running_build = build(build='echo "${GITHUB_TOKEN-unset} $PIP_INDEX_URL"; command -v python')
    running_build.run()
    python = str(Path(sys.prefix) / "bin" / "python")
    assert command_output(running_build) == ["unset http://localhost:1/simple", python]


# Phases


def test_phases_run_in_order_and_have_times(build: MakeBuild) -> None:
    running_build = build(
        clock=itertools.count(1_800_000_000, 0.75).__next__,
        build="echo 2",
        install="echo 1",
    )
    running_build.record["timeoutInMinutes"] = 1_000_000
    running_build.run()
    assert command_output(running_build) == ["1", "2"]
    names = (
        "SUBMITTED QUEUED PROVISIONING DOWNLOAD_SOURCE INSTALL PRE_BUILD BUILD POST_BUILD "
        "UPLOAD_ARTIFACTS FINALIZING"
    )
    assert statuses(running_build) == {
        **dict.fromkeys(names.split(), "SUCCEEDED"),
        "COMPLETED": None,
    }
    record = running_build.record
    assert (record["buildStatus"], record["buildComplete"]) == ("SUCCEEDED", True)
    assert record["currentPhase"] == "COMPLETED"
    starts = [phase["startTime"] for phase in record["phases"]]
    assert [*starts, record["endTime"]] == sorted([*starts, record["endTime"]])
    for phase in record["phases"][:-1]:
        assert phase["startTime"] < phase["endTime"]
        assert phase["durationInSeconds"] == int(phase["endTime"] - phase["startTime"])
    assert ["contexts" in phase for phase in record["phases"]] == [False] * 2 + [True] * 8 + [False]
    assert context(running_build, "BUILD") == OK


def test_failed_command_is_reported_with_its_exit_code(build: MakeBuild) -> None:
    running_build = build(build="echo no GPU here; exit 7")
    running_build.run()
    assert running_build.record["buildStatus"] == "FAILED"
    assert running_build.record["buildComplete"] is True
    assert context(running_build, "BUILD") == failed_command("echo no GPU here; exit 7", 7)
    assert statuses(running_build)["BUILD"] == "FAILED"
    assert command_output(running_build) == ["no GPU here"]
    lines = log_lines(running_build)
    position = lines.index("Phase complete: BUILD State: FAILED")
    assert lines[position : position + 2] == [
        "Phase complete: BUILD State: FAILED",
        "Phase context status code: COMMAND_EXECUTION_ERROR Message: "
        "Error while executing command: echo no GPU here; exit 7. Reason: exit status 7",
    ]


def test_failed_install_phase_ends_the_build(build: MakeBuild) -> None:
    running_build = build(install="false", build="echo built")
    running_build.run()
    assert command_output(running_build) == []
    assert running_build.record["buildStatus"] == "FAILED"
    assert list(statuses(running_build))[-3:] == ["INSTALL", "FINALIZING", "COMPLETED"]


def test_invalid_buildspec_fails_the_build(build: MakeBuild) -> None:
    running_build = build(source={"buildspec": "version: 1"})
    running_build.run()
    assert running_build.record["buildStatus"] == "FAILED"
    assert list(statuses(running_build))[-3:] == ["DOWNLOAD_SOURCE", "FINALIZING", "COMPLETED"]
    assert context(running_build, "DOWNLOAD_SOURCE") == {
        "statusCode": "YAML_FILE_ERROR",
        "message": "only buildspec version 0.2 is supported: write version: 0.2",
    }


def test_internal_error_is_a_fault(build: MakeBuild) -> None:
    running_build = build(build="true")
    running_build.s3 = None  # type: ignore[assignment]
    running_build.record["source"] = {"type": "S3", "location": "assets/src.zip"}
    running_build.run()
    assert (
        running_build.record["buildStatus"] == statuses(running_build)["DOWNLOAD_SOURCE"] == "FAULT"
    )
    assert list(statuses(running_build))[-2:] == ["DOWNLOAD_SOURCE", "COMPLETED"]
    message = context(running_build, "DOWNLOAD_SOURCE")["message"]
    assert message.startswith("Internal Service Error: AttributeError: 'NoneType'")


# Sources and artifacts


def test_source_folders_match_the_environment_variables(build: MakeBuild, s3: Any) -> None:
    s3.objects["assets", "src/setup.txt"] = b"primary"
    s3.objects["assets", "job/a/b.txt"] = b"deep"
    running_build = build(
        source={"type": "S3", "location": "assets/src/"},
        secondary=[{"type": "S3", "location": "assets/job/", "sourceIdentifier": "job"}],
        build='cat "$CODEBUILD_SRC_DIR/setup.txt"; echo; '
        'cat "$CODEBUILD_SRC_DIR_job/a/b.txt"; echo; ls; pwd',
    )
    running_build.run()
    assert running_build.record["buildStatus"] == "SUCCEEDED"
    assert command_output(running_build) == [
        "primary",
        "deep",
        "setup.txt",
        str(running_build.folder / "src"),
    ]


OUTPUT = {"type": "S3", "location": "models", "path": "raw", "namespaceType": "BUILD_ID",
          "name": "/", "packaging": "NONE"}  # fmt: skip


def test_missing_output_fails_the_build(build: MakeBuild, s3: Any) -> None:
    artifacts = {"files": ["result.json"]}
    running_build = build(artifacts=artifacts, output=OUTPUT, build="exit 3")
    running_build.run()
    assert running_build.record["buildStatus"] == "FAILED"
    assert context(running_build, "BUILD") == failed_command("exit 3", 3)
    assert context(running_build, "UPLOAD_ARTIFACTS") == {
        "statusCode": "CLIENT_ERROR",
        "message": "no matching artifact paths found",
    }
    assert s3.objects == {}


# CloudWatch Logs


def test_record_has_the_log_location_after_the_start(build: MakeBuild, logs: FakeLogs) -> None:
    running_build = build(build="echo error: no GPU; false")
    console = "https://console.aws.amazon.com/cloudwatch/home?region=us-east-1#logEvent:"
    assert running_build.record["logs"]["deepLink"] == console + "group=null;stream=null"
    assert "groupName" not in running_build.record["logs"]
    running_build.run()
    group, stream = STREAM
    assert (
        running_build.record["logs"]["groupName"],
        running_build.record["logs"]["streamName"],
    ) == STREAM
    assert running_build.record["logs"]["deepLink"] == f"{console}group={group};stream={stream}"
    assert "error: no GPU\n" in logs.messages(*STREAM)
    assert "".join(logs.messages(*STREAM)) == running_build.log.file.read_text()


# Stop and timeout


def test_stop_ends_the_command_and_its_children(build: MakeBuild) -> None:
    running_build = build(build="sleep 300 & echo $! > child; echo $$ > parent; wait")
    thread = threading.Thread(target=running_build.run, daemon=True)
    thread.start()
    parent, child = (
        int(eventually(lambda name=name: read(running_build.folder / "src" / name)))  # type: ignore[misc]
        for name in ("parent", "child")
    )
    assert runs(parent)
    assert runs(child)
    running_build.stop()
    thread.join()
    assert running_build.record["buildStatus"] == "STOPPED"
    assert list(statuses(running_build).items())[-2:] == [("BUILD", "STOPPED"), ("COMPLETED", None)]
    assert "contexts" not in running_build.record["phases"][-2]
    eventually(lambda: not runs(parent) and not runs(child))


def test_timeout_ends_the_command_and_fails_the_build(build: MakeBuild, clock: Clock) -> None:
    running_build = build(build="sleep 300 & echo $! > child; wait")
    thread = threading.Thread(target=running_build.run, daemon=True)
    thread.start()
    child = int(eventually(lambda: read(running_build.folder / "src" / "child")))
    clock.now += 60
    thread.join()
    assert running_build.record["buildComplete"] is True
    assert running_build.record["buildStatus"] == "FAILED"
    assert list(statuses(running_build).items())[-2:] == [
        ("BUILD", "TIMED_OUT"),
        ("COMPLETED", None),
    ]
    message = "Build has timed out."
    assert context(running_build, "BUILD") == {"statusCode": "BUILD_TIMED_OUT", "message": message}
    eventually(lambda: not runs(child))


def test_background_processes_end_with_the_command(build: MakeBuild) -> None:
    running_build = build(build="sleep 300 & echo $! > child")
    running_build.run()
    assert running_build.record["buildStatus"] == "SUCCEEDED"
    child = int(read(running_build.folder / "src" / "child"))
    eventually(lambda: not runs(child))


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""
