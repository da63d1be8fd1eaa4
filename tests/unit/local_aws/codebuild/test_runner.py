import io
import json
import os
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local_aws.codebuild.runner import Build
from tests.unit.local_aws.conftest import PATIENCE, eventually, runs

MakeBuild = Callable[..., Build]


@pytest.fixture
def build(tmp_path: Path, s3: Any) -> MakeBuild:
    """Make a build of phases with commands, as `CodeBuild` does."""

    def make(
        *,
        variables: dict[str, str] | None = None,
        environment: dict[str, str] | None = None,
        source: dict[str, Any] | None = None,
        secondary: list[dict[str, Any]] | None = None,
        **phases: list[str],
    ) -> Build:
        spec = {
            "version": "0.2",
            "env": {"variables": variables or {}},
            "phases": {name: {"commands": commands} for name, commands in phases.items()},
        }
        record = {
            "phases": [],
            "source": {"type": "NO_SOURCE", "buildspec": json.dumps(spec), **(source or {})},
            "secondarySources": secondary or [],
            "timeoutInMinutes": 1,
        }
        folder = tmp_path / "build"
        folder.mkdir()
        return Build(record, folder, s3, environment or {})

    return make


def zipped(**files: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


def printed(build: Build) -> list[str]:
    """What the commands said, without the lines that name them."""
    lines = build.log.read_text().splitlines()
    return [line for line in lines if not line.startswith("[build] ")]


def statuses(build: Build) -> dict[str, str | None]:
    return {it["phaseType"]: it.get("phaseStatus") for it in build.record["phases"]}


def context(build: Build, phase: str) -> str:
    (found,) = (it for it in build.record["phases"] if it["phaseType"] == phase)
    (only,) = found["contexts"]
    assert only["statusCode"] == "COMMAND_EXECUTION_ERROR"
    return str(only["message"])


# Sources


def test_sources_land_where_the_variables_say(build: MakeBuild, s3: Any) -> None:
    s3.objects["assets", "code/src.zip"] = zipped(**{"setup.txt": "primary", "a/b.txt": "deep"})
    s3.objects["assets", "minilm.zip"] = zipped(recipe="secondary")
    made = build(
        source={"type": "S3", "location": "assets/code/src.zip"},
        secondary=[{"type": "S3", "location": "assets/minilm.zip", "sourceIdentifier": "model"}],
        build=[
            'cat "$CODEBUILD_SRC_DIR/setup.txt"; echo',
            'cat "$CODEBUILD_SRC_DIR_model/recipe"; echo',
            "cat a/b.txt; echo; pwd",
        ],
    )
    made.run()
    assert made.record["buildStatus"] == "SUCCEEDED"
    assert printed(made) == ["primary", "secondary", "deep", str(made.folder / "src")]
    assert s3.asked == [("assets", "code/src.zip"), ("assets", "minilm.zip")]


def test_a_source_may_be_named_by_its_arn(build: MakeBuild, s3: Any) -> None:
    s3.objects["assets", "src.zip"] = zipped(name="here")
    source = {"type": "S3", "location": "arn:aws:s3:::assets/src.zip"}
    made = build(source=source, build=["cat name"])
    made.run()
    assert printed(made) == ["here"]


def test_without_a_source_commands_start_in_an_empty_folder(build: MakeBuild) -> None:
    made = build(build=["ls -A | wc -l"])
    made.run()
    assert printed(made) == ["0"]


def test_a_source_that_is_not_in_a_bucket_is_refused(build: MakeBuild) -> None:
    made = build(source={"type": "GITHUB", "location": "https://github.com/a/b"}, build=["true"])
    made.run()
    assert made.record["buildStatus"] == "FAILED"
    assert statuses(made) == {"DOWNLOAD_SOURCE": "FAILED", "COMPLETED": None}
    message = "the local AWS builds from S3 sources, not from GITHUB"
    assert context(made, "DOWNLOAD_SOURCE") == message
    assert made.log.read_text() == f"[build] {message}\n"


@pytest.mark.parametrize("content", [None, b"no zip"])
def test_a_source_that_cannot_be_unpacked_fails_the_build_with_its_name(
    build: MakeBuild, s3: Any, content: bytes | None
) -> None:
    if content is not None:
        s3.objects["assets", "src.zip"] = content
    made = build(source={"type": "S3", "location": "assets/src.zip"}, build=["true"])
    made.run()
    assert made.record["buildStatus"] == "FAILED"
    message = context(made, "DOWNLOAD_SOURCE")
    assert message.startswith("cannot unpack the source s3://assets/src.zip: ")


def test_an_error_that_nobody_foresaw_fails_the_build_with_its_type(build: MakeBuild) -> None:
    made = build(source={"type": "S3"}, build=["true"])
    made.run()
    assert made.record["buildStatus"] == "FAILED"
    assert context(made, "DOWNLOAD_SOURCE") == "KeyError: 'location'"


# Variables


def test_variables_of_the_project_win_over_those_of_the_buildspec(build: MakeBuild) -> None:
    made = build(
        variables={"MODEL": "from the buildspec", "TARGET": "cpu"},
        environment={"MODEL": "from the project", "KEY": "a b"},
        build=['echo "$MODEL/$TARGET/$KEY"'],
    )
    made.run()
    assert printed(made) == ["from the project/cpu/a b"]


def test_commands_see_settings_of_this_machine_but_not_its_secrets(
    build: MakeBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("PIP_INDEX_URL", "http://localhost:1/simple")
    made = build(build=['echo "${GITHUB_TOKEN-unset} $PIP_INDEX_URL"', "command -v python"])
    made.run()
    python = str(Path(sys.prefix) / "bin" / "python")
    assert printed(made) == ["unset http://localhost:1/simple", python]


def test_packages_come_from_where_this_machine_gets_them(
    build: MakeBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "here")
    given = {"PIP_EXTRA_INDEX_URL": "there"}
    made = build(environment=given, build=['echo "$PIP_EXTRA_INDEX_URL"'])
    made.run()
    assert printed(made) == ["here"]


@pytest.mark.usefixtures("something_typed")
def test_a_command_that_asks_gets_no_answer(build: MakeBuild) -> None:
    made = build(build=["read -r line || echo nothing to read"])
    made.run()
    assert printed(made) == ["nothing to read"]


# Phases


def test_phases_run_in_order_and_their_times_are_kept(build: MakeBuild) -> None:
    made = build(post_build=["echo 4"], build=["echo 3"], pre_build=["echo 2"], install=["echo 1"])
    before = time.time()
    made.run()
    assert printed(made) == ["1", "2", "3", "4"]
    assert statuses(made) == {
        "DOWNLOAD_SOURCE": "SUCCEEDED",
        "INSTALL": "SUCCEEDED",
        "PRE_BUILD": "SUCCEEDED",
        "BUILD": "SUCCEEDED",
        "POST_BUILD": "SUCCEEDED",
        "COMPLETED": None,
    }
    record = made.record
    assert (record["buildStatus"], record["buildComplete"]) == ("SUCCEEDED", True)
    assert record["currentPhase"] == "COMPLETED"
    starts = [it["startTime"] for it in record["phases"]]
    assert [before, *starts, record["endTime"]] == sorted([before, *starts, record["endTime"]])
    for phase in record["phases"][:-1]:
        assert phase["startTime"] <= phase["endTime"]
        assert phase["durationInSeconds"] == int(phase["endTime"] - phase["startTime"])


def test_the_record_says_which_phase_is_under_way(build: MakeBuild, tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    made = build(pre_build=[f"cat {go}"])
    thread = threading.Thread(target=made.run, daemon=True)
    thread.start()
    eventually(lambda: made.record.get("currentPhase") == "PRE_BUILD")
    assert "phaseStatus" not in made.record["phases"][-1]
    go.write_text("")
    thread.join()
    assert made.record["buildStatus"] == "SUCCEEDED"


def test_the_log_has_every_command_and_all_that_it_printed(build: MakeBuild) -> None:
    made = build(install=["echo out; echo err >&2; printf '\\377 ä\\n'"], build=["echo last"])
    made.run()
    assert made.log.read_bytes() == (
        b"[build] echo out; echo err >&2; printf '\\377 \xc3\xa4\\n'\n"
        b"out\nerr\n\xff \xc3\xa4\n[build] echo last\nlast\n"
    )


def test_a_failed_command_is_named_with_its_status_and_last_line(build: MakeBuild) -> None:
    made = build(build=["echo fine", "echo first; echo no GPU here; exit 7", "echo not reached"])
    made.run()
    assert made.record["buildStatus"] == "FAILED"
    assert made.record["buildComplete"] is True
    message = (
        "Error while executing command: echo first; echo no GPU here; exit 7. "
        "Reason: exit status 7. It said: no GPU here"
    )
    assert context(made, "BUILD") == message
    assert statuses(made)["BUILD"] == "FAILED"
    assert printed(made) == ["fine", "first", "no GPU here"]
    assert made.log.read_text().endswith(f"[build] {message}\n")


def test_a_silent_command_that_fails_is_not_given_anothers_words(build: MakeBuild) -> None:
    made = build(build=["echo fine", "exit 7"])
    made.run()
    assert context(made, "BUILD") == (
        "Error while executing command: exit 7. Reason: exit status 7. It said nothing"
    )


def test_commands_share_one_shell_as_far_as_folder_and_exports_go(build: MakeBuild) -> None:
    made = build(
        install=["mkdir -p 'a b'; cd 'a b'", "export WORD=$'two\\nlines' GONE=1"],
        build=["unset GONE; cd ..; false"],
        post_build=['echo "${PWD##*/} $WORD ${GONE-unset}"'],
    )
    made.run()
    assert printed(made) == ["src two", "lines unset"]


def test_a_last_line_that_is_no_utf8_is_still_shown(build: MakeBuild) -> None:
    made = build(build=["printf 'bad \\377 byte\\n'; false"])
    made.run()
    assert context(made, "BUILD").endswith("It said: bad \N{REPLACEMENT CHARACTER} byte")


def test_post_build_runs_after_a_failed_build_and_the_build_still_fails(build: MakeBuild) -> None:
    made = build(build=["echo broken; false"], post_build=["echo cleaning up"])
    made.run()
    assert printed(made) == ["broken", "cleaning up"]
    assert made.record["buildStatus"] == "FAILED"
    assert statuses(made)["POST_BUILD"] == "SUCCEEDED"
    assert made.log.read_text().endswith("It said: broken\n")


def test_the_first_of_two_failures_is_the_builds_reason(build: MakeBuild) -> None:
    made = build(build=["echo one; false"], post_build=["echo two; false"])
    made.run()
    assert (statuses(made)["BUILD"], statuses(made)["POST_BUILD"]) == ("FAILED", "FAILED")
    assert made.log.read_text().endswith("It said: one\n")


@pytest.mark.parametrize("phase", ["install", "pre_build"])
def test_nothing_runs_after_a_failed_preparation(build: MakeBuild, phase: str) -> None:
    made = build(**{phase: ["false"]}, build=["echo built"], post_build=["echo cleaned"])
    made.run()
    assert printed(made) == []
    assert made.record["buildStatus"] == "FAILED"
    assert list(statuses(made))[-2:] == [phase.upper(), "COMPLETED"]


def test_a_failed_post_build_fails_the_build(build: MakeBuild) -> None:
    made = build(build=["true"], post_build=["false"])
    made.run()
    assert made.record["buildStatus"] == "FAILED"
    assert (statuses(made)["BUILD"], statuses(made)["POST_BUILD"]) == ("SUCCEEDED", "FAILED")


def test_a_buildspec_that_cannot_be_read_fails_the_build(build: MakeBuild) -> None:
    made = build(source={"buildspec": "version: 1"})
    made.run()
    assert made.record["buildStatus"] == "FAILED"
    assert made.log.read_text() == "[build] YAML_FILE_ERROR: write version: 0.2\n"
    assert context(made, "DOWNLOAD_SOURCE") == "YAML_FILE_ERROR: write version: 0.2"


# Ends before the end


def test_stop_ends_a_command_and_what_it_started(build: MakeBuild) -> None:
    made = build(
        build=["sleep 300 & echo $! > child; echo $$ > parent; wait"], post_build=["echo not run"]
    )
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
    assert statuses(made)["BUILD"] == "FAILED"
    assert "POST_BUILD" not in statuses(made)
    eventually(lambda: not runs(parent) and not runs(child))


def test_a_command_that_ignores_the_request_to_end_is_killed(
    build: MakeBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local_aws.codebuild.runner.GRACE_SECONDS", 0.1)
    made = build(build=["trap '' TERM; echo $$ > parent; while :; do read -rt 0.01 <> <(:); done"])
    thread = threading.Thread(target=made.run, daemon=True)
    thread.start()
    parent = int(eventually(lambda: read(made.folder / "src" / "parent")))
    made.stop()
    thread.join()
    assert made.record["buildStatus"] == "STOPPED"
    assert not runs(parent)


def test_a_build_that_is_stopped_before_it_starts_runs_nothing(build: MakeBuild) -> None:
    made = build(build=["echo built"])
    made.stop()
    made.run()
    assert made.record["buildStatus"] == "STOPPED"
    assert statuses(made) == {"COMPLETED": None}
    assert made.log.read_text() == "[build] the build was stopped\n"


def test_a_build_that_takes_too_long_is_ended(
    build: MakeBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = build(build=["sleep 300 & echo $! > child; wait"], post_build=["echo not run"])
    # A minute passes once the command is under way.
    monkeypatch.setattr(
        "time.monotonic", lambda: 60.0 if read(made.folder / "src" / "child") else 0.0
    )
    made.run()
    assert made.record["buildComplete"] is True
    assert made.record["buildStatus"] == "TIMED_OUT"
    assert statuses(made)["BUILD"] == "TIMED_OUT"
    assert "POST_BUILD" not in statuses(made)
    assert context(made, "BUILD").startswith("the build ran longer than 1 minutes")
    child = int(read(made.folder / "src" / "child"))
    eventually(lambda: not runs(child))


def test_a_child_that_ignores_the_request_to_end_is_killed_with_its_group(
    build: MakeBuild,
) -> None:
    made = build(build=["(trap '' TERM; echo $BASHPID > child; while :; do sleep 1; done) & wait"])
    thread = threading.Thread(target=made.run, daemon=True)
    thread.start()
    child = int(eventually(lambda: read(made.folder / "src" / "child")))
    made.stop()
    thread.join()
    assert made.record["buildStatus"] == "STOPPED"
    eventually(lambda: not runs(child))


def test_what_a_command_leaves_in_the_background_lives_until_the_builds_end(
    build: MakeBuild,
) -> None:
    made = build(
        install=["sleep 300 & echo $! > child"], build=["kill -0 $(cat child) && echo alive"]
    )
    made.run()
    assert printed(made) == ["alive"]
    child = int(read(made.folder / "src" / "child"))
    eventually(lambda: not runs(child))


def test_after_a_stop_a_command_may_end_well_and_no_further_one_runs(
    build: MakeBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local_aws.codebuild.runner.GRACE_SECONDS", PATIENCE)
    ends_well = (
        "trap 'echo cleaned up; exit 0' TERM; touch began; while :; do read -rt 0.01 <> <(:); done"
    )
    made = build(build=[ends_well, "echo second"])
    thread = threading.Thread(target=made.run, daemon=True)
    thread.start()
    eventually(lambda: (made.folder / "src" / "began").exists())
    made.stop()
    thread.join()
    assert printed(made) == ["cleaned up"]
    assert made.record["buildStatus"] == "STOPPED"


def test_waiting_ends_with_the_build(build: MakeBuild) -> None:
    made = build(build=["true"])
    made.wait(0.01)
    made.run()
    made.wait(PATIENCE)
    assert made.record["buildComplete"]


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""
