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
    context,
    log_lines,
    printed,
    statuses,
)
from local_sagemaker.tests.support.waiting import eventually, runs

OK = {"statusCode": "", "message": ""}
STREAM = ("/aws/codebuild/builder", UUID)


def failed_command(command: str, status: int = 1) -> dict[str, str]:
    message = f"Error while executing command: {command}. Reason: exit status {status}"
    return {"statusCode": "COMMAND_EXECUTION_ERROR", "message": message}


def test_commands_see_settings_of_this_machine_but_not_its_secrets(
    build: MakeBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("PIP_INDEX_URL", "http://localhost:1/simple")
    made = build(build='echo "${GITHUB_TOKEN-unset} $PIP_INDEX_URL"; command -v python')
    made.run()
    python = str(Path(sys.prefix) / "bin" / "python")
    assert printed(made) == ["unset http://localhost:1/simple", python]


# Phases


def test_phases_run_in_order_and_their_times_are_kept(build: MakeBuild) -> None:
    made = build(
        clock=itertools.count(1_800_000_000, 0.75).__next__,
        build="echo 2",
        install="echo 1",
    )
    made.record["timeoutInMinutes"] = 1_000_000
    made.run()
    assert printed(made) == ["1", "2"]
    names = (
        "SUBMITTED QUEUED PROVISIONING DOWNLOAD_SOURCE INSTALL PRE_BUILD BUILD POST_BUILD "
        "UPLOAD_ARTIFACTS FINALIZING"
    )
    assert statuses(made) == {**dict.fromkeys(names.split(), "SUCCEEDED"), "COMPLETED": None}
    record = made.record
    assert (record["buildStatus"], record["buildComplete"]) == ("SUCCEEDED", True)
    assert record["currentPhase"] == "COMPLETED"
    starts = [each["startTime"] for each in record["phases"]]
    assert [*starts, record["endTime"]] == sorted([*starts, record["endTime"]])
    for phase in record["phases"][:-1]:
        assert phase["startTime"] < phase["endTime"]
        assert phase["durationInSeconds"] == int(phase["endTime"] - phase["startTime"])
    assert ["contexts" in phase for phase in record["phases"]] == [False] * 2 + [True] * 8 + [False]
    assert context(made, "BUILD") == OK


def test_a_failed_command_is_named_with_its_status_and_not_with_its_words(build: MakeBuild) -> None:
    made = build(build="echo no GPU here; exit 7")
    made.run()
    assert made.record["buildStatus"] == "FAILED"
    assert made.record["buildComplete"] is True
    assert context(made, "BUILD") == failed_command("echo no GPU here; exit 7", 7)
    assert statuses(made)["BUILD"] == "FAILED"
    assert printed(made) == ["no GPU here"]
    lines = log_lines(made)
    place = lines.index("Phase complete: BUILD State: FAILED")
    assert lines[place : place + 2] == [
        "Phase complete: BUILD State: FAILED",
        "Phase context status code: COMMAND_EXECUTION_ERROR Message: "
        "Error while executing command: echo no GPU here; exit 7. Reason: exit status 7",
    ]


def test_nothing_runs_after_a_failed_preparation(build: MakeBuild) -> None:
    made = build(install="false", build="echo built")
    made.run()
    assert printed(made) == []
    assert made.record["buildStatus"] == "FAILED"
    assert list(statuses(made))[-3:] == ["INSTALL", "FINALIZING", "COMPLETED"]


def test_a_buildspec_that_cannot_be_read_fails_the_build(build: MakeBuild) -> None:
    made = build(source={"buildspec": "version: 1"})
    made.run()
    assert made.record["buildStatus"] == "FAILED"
    assert list(statuses(made))[-3:] == ["DOWNLOAD_SOURCE", "FINALIZING", "COMPLETED"]
    assert context(made, "DOWNLOAD_SOURCE") == {
        "statusCode": "YAML_FILE_ERROR",
        "message": "write version: 0.2",
    }


def test_what_nobody_foresaw_is_a_fault_of_the_service(build: MakeBuild) -> None:
    made = build(build="true")
    made.s3 = None  # type: ignore[assignment]
    made.record["source"] = {"type": "S3", "location": "assets/src.zip"}
    made.run()
    assert made.record["buildStatus"] == statuses(made)["DOWNLOAD_SOURCE"] == "FAULT"
    assert list(statuses(made))[-2:] == ["DOWNLOAD_SOURCE", "COMPLETED"]
    message = context(made, "DOWNLOAD_SOURCE")["message"]
    assert message.startswith("Internal Service Error: AttributeError: 'NoneType'")


# Sources and artifacts


def test_sources_land_where_the_variables_say(build: MakeBuild, s3: Any) -> None:
    s3.objects["assets", "src/setup.txt"] = b"primary"
    s3.objects["assets", "job/a/b.txt"] = b"deep"
    made = build(
        source={"type": "S3", "location": "assets/src/"},
        secondary=[{"type": "S3", "location": "assets/job/", "sourceIdentifier": "job"}],
        build='cat "$CODEBUILD_SRC_DIR/setup.txt"; echo; '
        'cat "$CODEBUILD_SRC_DIR_job/a/b.txt"; echo; ls; pwd',
    )
    made.run()
    assert made.record["buildStatus"] == "SUCCEEDED"
    assert printed(made) == ["primary", "deep", "setup.txt", str(made.folder / "src")]


OUTPUT = {"type": "S3", "location": "models", "path": "raw", "namespaceType": "BUILD_ID",
          "name": "/", "packaging": "NONE"}  # fmt: skip


def test_a_build_without_its_output_fails_and_is_named_by_its_first_failure(
    build: MakeBuild, s3: Any
) -> None:
    artifacts = {"files": ["result.json"]}
    made = build(artifacts=artifacts, output=OUTPUT, build="exit 3")
    made.run()
    assert made.record["buildStatus"] == "FAILED"
    assert context(made, "BUILD") == failed_command("exit 3", 3)
    assert context(made, "UPLOAD_ARTIFACTS") == {
        "statusCode": "CLIENT_ERROR",
        "message": "no matching artifact paths found",
    }
    assert s3.objects == {}


# The log in CloudWatch


def test_the_record_names_the_log_once_it_is_there(build: MakeBuild, logs: FakeLogs) -> None:
    made = build(build="echo error: no GPU; false")
    console = "https://console.aws.amazon.com/cloudwatch/home?region=us-east-1#logEvent:"
    assert made.record["logs"]["deepLink"] == console + "group=null;stream=null"
    assert "groupName" not in made.record["logs"]
    made.run()
    group, stream = STREAM
    assert (made.record["logs"]["groupName"], made.record["logs"]["streamName"]) == STREAM
    assert made.record["logs"]["deepLink"] == f"{console}group={group};stream={stream}"
    assert "error: no GPU\n" in logs.messages(*STREAM)
    assert "".join(logs.messages(*STREAM)) == made.log.file.read_text()


# Ends before the end


def test_stop_ends_a_command_and_what_it_started(build: MakeBuild) -> None:
    made = build(build="sleep 300 & echo $! > child; echo $$ > parent; wait")
    thread = threading.Thread(target=made.run, daemon=True)
    thread.start()
    parent, child = (
        int(eventually(lambda name=name: read(made.folder / "src" / name)))  # type: ignore[misc]
        for name in ("parent", "child")
    )
    assert runs(parent)
    assert runs(child)
    made.stop()
    thread.join()
    assert made.record["buildStatus"] == "STOPPED"
    assert list(statuses(made).items())[-2:] == [("BUILD", "STOPPED"), ("COMPLETED", None)]
    assert "contexts" not in made.record["phases"][-2]
    eventually(lambda: not runs(parent) and not runs(child))


def test_a_build_that_takes_too_long_is_ended(build: MakeBuild, clock: Clock) -> None:
    made = build(build="sleep 300 & echo $! > child; wait")
    thread = threading.Thread(target=made.run, daemon=True)
    thread.start()
    child = int(eventually(lambda: read(made.folder / "src" / "child")))
    clock.now += 60
    thread.join()
    assert made.record["buildComplete"] is True
    assert made.record["buildStatus"] == "FAILED"
    assert list(statuses(made).items())[-2:] == [("BUILD", "TIMED_OUT"), ("COMPLETED", None)]
    message = "Build has timed out."
    assert context(made, "BUILD") == {"statusCode": "BUILD_TIMED_OUT", "message": message}
    eventually(lambda: not runs(child))


def test_what_a_command_leaves_in_the_background_ends_with_it(build: MakeBuild) -> None:
    made = build(build="sleep 300 & echo $! > child")
    made.run()
    assert made.record["buildStatus"] == "SUCCEEDED"
    child = int(read(made.folder / "src" / "child"))
    eventually(lambda: not runs(child))


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""
