"""A job is compiled by one build, which whoever needs it follows."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

import platform_facts
from model_build import BuildError
from model_build.engines.codebuild import CodeBuildGpu
from model_build.engines.engine_job import EngineJob
from model_build.engines.engine_result import EngineResult
from tests.unit.model_build.engines.conftest import write_result
from tests.unit.model_build.engines.fake_codebuild import FakeCodeBuild, pausing
from tests.unit.model_build.fakes import FakeS3, Lines

Step = Callable[[], None]


@pytest.fixture
def codebuild(s3: FakeS3) -> FakeCodeBuild:
    return FakeCodeBuild(s3)


@pytest.fixture
def artifacts(job: EngineJob, tmp_path: Path) -> dict[str, bytes]:
    """The files of a good result."""
    folder = write_result(tmp_path / "made", job).folder
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _gpu(codebuild: FakeCodeBuild, s3: FakeS3, *steps: Callable[[], None], **more: Any) -> Any:
    return CodeBuildGpu(
        s3=s3.client,
        codebuild=codebuild.client,
        logs=codebuild.client,
        bucket="bucket",
        project="gpu",
        pause=pausing(*steps),
        **more,
    )


def _only(codebuild: FakeCodeBuild) -> str:
    (build,) = codebuild.builds
    return build


@pytest.fixture
def succeed(codebuild: FakeCodeBuild, job: EngineJob, artifacts: dict[str, bytes]) -> Step:
    """A step in which the latest build leaves its files and succeeds."""

    def leave_and_end() -> None:
        build = list(codebuild.builds)[-1]
        codebuild.leave(build, job.digest, artifacts)
        codebuild.end(build)

    return leave_and_end


def _interrupt() -> None:
    raise KeyboardInterrupt


def test_a_job_is_uploaded_compiled_and_its_result_downloaded(
    job: EngineJob, s3: FakeS3, codebuild: FakeCodeBuild, artifacts: Any, tmp_path: Path
) -> None:
    def compile_it() -> None:
        folder = f"engine-jobs/{job.digest}/job"
        assert {each for each in s3.objects if each.startswith(folder)} == {
            f"{folder}/{path.name}" for path in job.folder.iterdir()
        }
        build = _only(codebuild)
        codebuild.leave(build, job.digest, artifacts)
        codebuild.end(build)

    message = Lines()
    _gpu(codebuild, s3, compile_it).run(job, to=tmp_path / "raw", progress=message)
    assert EngineResult.read(tmp_path / "raw", job).plan.read_bytes() == b"a plan"
    build = _only(codebuild)
    assert message == [
        f"{build} compiles the engine on a GPU, job {job.digest[:12]}",
        f"{build}: QUEUED",
        f"{build}: COMPLETED",
    ]
    (requests,) = codebuild.started
    assert requests == {
        "projectName": "gpu",
        "idempotencyToken": requests["idempotencyToken"],
        "imageOverride": "nvcr.io/nvidia/tensorrt:25.09-py3",
        "secondarySourcesOverride": [
            {
                "type": "S3",
                "location": f"bucket/engine-jobs/{job.digest}/job/",
                "sourceIdentifier": "job",
            }
        ],
        "artifactsOverride": {
            "type": "S3",
            "location": "bucket",
            "path": f"engine-jobs/{job.digest}/raw",
            "namespaceType": "BUILD_ID",
            "name": "/",
            "packaging": "NONE",
        },
    }


def test_who_comes_while_a_job_is_compiled_follows_its_build(
    job: EngineJob, s3: FakeS3, codebuild: FakeCodeBuild, succeed: Step, tmp_path: Path
) -> None:
    def somebody_else_asks() -> None:
        _gpu(codebuild, s3, succeed).run(job, to=tmp_path / "theirs", progress=Lines())

    _gpu(codebuild, s3, somebody_else_asks).run(job, to=tmp_path / "ours", progress=Lines())
    assert len(codebuild.started) == 1
    for name in ("ours", "theirs"):
        assert EngineResult.read(tmp_path / name, job).plan.read_bytes() == b"a plan"


@pytest.mark.parametrize("minutes_apart", [False, True])
def test_of_two_claimants_one_build_is_followed_by_both(
    job: EngineJob,
    s3: FakeS3,
    codebuild: FakeCodeBuild,
    succeed: Step,
    tmp_path: Path,
    minutes_apart: bool,
) -> None:
    """Both have seen no claim; the second to write its own reads the first's."""

    def somebody_else_claims(request: dict[str, Any]) -> None:
        if "/claims/" not in request["Key"]:
            return
        del s3.before["PutObject"]
        if minutes_apart:  # the token of the first is forgotten, so there are two builds
            codebuild.forget_tokens()
        _gpu(codebuild, s3, succeed).run(job, to=tmp_path / "theirs", progress=Lines())

    s3.before["PutObject"] = somebody_else_claims
    _gpu(codebuild, s3).run(job, to=tmp_path / "ours", progress=Lines())
    assert EngineResult.read(tmp_path / "ours", job).plan.read_bytes() == b"a plan"
    assert len(codebuild.started) == (2 if minutes_apart else 1)
    assert codebuild.stopped == (list(codebuild.builds)[:1] if minutes_apart else [])


OVERRIDES: dict[str, dict[str, Any]] = {
    "cache": {"cache": {"type": "S3", "location": "theirs/cache"}},
    "debugSession": {"debugSession": {"sessionEnabled": True}},
    "encryptionKey": {"encryptionKey": "arn:aws:kms:us-east-1:111122223333:key/2"},
    "environment.certificate": {"environment": {"certificate": "theirs/ca.pem"}},
    "environment.computeType": {"environment": {"computeType": "BUILD_GENERAL1_LARGE"}},
    "environment.environmentVariables": {
        "environment": {"environmentVariables": [{"name": "PYTHONPATH", "value": "/theirs"}]}
    },
    "environment.fleet": {"environment": {"fleet": {"fleetArn": "theirs"}}},
    "environment.image": {"environment": {"image": "nvcr.io/nvidia/tensorrt:theirs"}},
    "environment.imagePullCredentialsType": {
        "environment": {"imagePullCredentialsType": "CODEBUILD"}
    },
    "environment.privilegedMode": {"environment": {"privilegedMode": True}},
    "environment.registryCredential": {"environment": {"registryCredential": {"credential": "x"}}},
    "environment.type": {"environment": {"type": "LINUX_CONTAINER"}},
    "fileSystemLocations": {"fileSystemLocations": [{"location": "theirs"}]},
    "secondarySourceVersions": {"secondarySourceVersions": [{"sourceVersion": "theirs"}]},
    "serviceRole": {"serviceRole": "arn:aws:iam::111122223333:role/theirs"},
    "source": {"source": {"buildspec": "version: 0.2, theirs"}},
    "sourceVersion": {"sourceVersion": "theirs"},
    "vpcConfig": {"vpcConfig": {"vpcId": "vpc-theirs"}},
}


@pytest.mark.parametrize("setting", [*OVERRIDES, "source.location"])
def test_a_build_that_overrides_a_setting_of_the_project_is_not_followed(
    job: EngineJob,
    s3: FakeS3,
    codebuild: FakeCodeBuild,
    artifacts: Any,
    succeed: Step,
    tmp_path: Path,
    setting: str,
) -> None:
    def theirs_succeeds() -> None:
        build = _only(codebuild)
        codebuild.leave(build, job.digest, {**artifacts, "model.plan": b"theirs"})
        codebuild.end(build)
        source: dict[str, Any] = {"source": {"location": "theirs/step.zip"}}
        for name, change in OVERRIDES.get(setting, source).items():
            own = codebuild.builds[build].get(name)
            codebuild.builds[build][name] = {**own, **change} if isinstance(own, dict) else change

    _gpu(codebuild, s3, theirs_succeeds).run(job, to=tmp_path / "theirs", progress=Lines())
    progress = Lines()
    _gpu(codebuild, s3, succeed).run(job, to=tmp_path / "ours", progress=progress)
    assert (tmp_path / "ours" / "model.plan").read_bytes() == b"a plan"
    theirs, ours = codebuild.builds
    assert progress[0] == (
        f"{theirs} is not used: it overrides {setting.partition('.location')[0]} of gpu. The "
        "engine is compiled again"
    )
    assert progress[1].startswith(ours)


def test_a_build_with_settings_of_its_own_that_claims_an_attempt_first_is_not_followed(
    job: EngineJob, s3: FakeS3, codebuild: FakeCodeBuild, artifacts: Any, tmp_path: Path
) -> None:
    def somebody_else_claims(request: dict[str, Any]) -> None:
        if "/claims/" in request["Key"]:
            del s3.before["PutObject"]
            codebuild.builds["gpu:theirs"] = {
                **codebuild.builds[_only(codebuild)],
                "id": "gpu:theirs",
                "serviceRole": "theirs",
            }
            s3.client.put_object(**{**request, "Body": b'{"build": "gpu:theirs"}'})

    def ours_succeeds() -> None:
        ours = next(iter(codebuild.builds))
        codebuild.leave(ours, job.digest, artifacts)
        codebuild.end(ours)

    s3.before["PutObject"] = somebody_else_claims
    _gpu(codebuild, s3, ours_succeeds).run(job, to=tmp_path / "ours", progress=Lines())
    assert (tmp_path / "ours" / "model.plan").read_bytes() == b"a plan"
    assert codebuild.stopped == []


@pytest.mark.parametrize("claim", [b"[]", b"{}", b"junk", b'{"build": ["x"]}', b"[" * 99_999])
@pytest.mark.parametrize("attempt", ["0001", "9999", "12345"])
def test_a_claim_that_is_none_holds_nobody_up(
    job: EngineJob,
    s3: FakeS3,
    codebuild: FakeCodeBuild,
    succeed: Step,
    tmp_path: Path,
    claim: bytes,
    attempt: str,
) -> None:
    def fail() -> None:
        codebuild.end(_only(codebuild), "FAILED")

    s3.objects[f"engine-jobs/{job.digest}/claims/{attempt}.json"] = {"Body": claim}
    with pytest.raises(BuildError, match="failed"):
        _gpu(codebuild, s3, fail).run(job, to=tmp_path / "first", progress=Lines())
    _gpu(codebuild, s3, succeed).run(job, to=tmp_path / "second", progress=Lines())
    assert EngineResult.read(tmp_path / "second", job).plan.read_bytes() == b"a plan"
    assert len(codebuild.builds) == 2


def test_a_deploy_that_stopped_is_followed_by_the_next(
    job: EngineJob, s3: FakeS3, codebuild: FakeCodeBuild, artifacts: Any, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        _gpu(codebuild, s3, _interrupt).run(job, to=tmp_path / "first", progress=Lines())
    build = _only(codebuild)
    assert codebuild.stopped == []
    codebuild.leave(build, job.digest, artifacts)
    codebuild.end(build)
    _gpu(codebuild, s3).run(job, to=tmp_path / "second", progress=Lines())
    assert len(codebuild.started) == 1


def test_past_the_deadline_the_build_goes_on_and_is_named(
    job: EngineJob, s3: FakeS3, codebuild: FakeCodeBuild, tmp_path: Path
) -> None:
    clock = [100.0]
    gpu = _gpu(codebuild, s3, lambda: clock.append(200.0), deadline=150.0, now=lambda: clock[-1])
    with pytest.raises(BuildError) as late:
        gpu.run(job, to=tmp_path / "raw", progress=Lines())
    assert str(late.value) == (
        f"{_only(codebuild)} is still compiling the engine (phase QUEUED) and continues: deploy "
        "again when it has finished, which uses its result; `make deliver` waits for it"
    )
    assert codebuild.stopped == []


PHASE = {"phaseType": "BUILD", "phaseStatus": "FAILED", "contexts": [{"message": "exit status 1"}]}


@pytest.mark.parametrize(
    ("status", "phase", "log", "message"),
    [
        ("FAILED", PHASE, ["found", "error: no GPU"], "failed in phase BUILD: no GPU. Log: https:"),
        ("FAILED", PHASE, ["killed"], "failed in phase BUILD: exit status 1. Log: https://log"),
        (
            "TIMED_OUT",
            {"phaseType": "QUEUED", "phaseStatus": "TIMED_OUT"},
            [],
            "no GPU machine was",
        ),
        (
            "FAULT",
            {**PHASE, "phaseType": "PROVISIONING", "phaseStatus": "FAULT"},
            [],
            "its driver is too old for the image: deploy again later",
        ),
        (
            "STOPPED",
            {"phaseType": "BUILD", "phaseStatus": "STOPPED"},
            [],
            "was stopped in phase BUILD: del",
        ),
    ],
)
def test_a_build_that_fails_says_why_and_the_next_attempt_compiles_anew(
    job: EngineJob,
    s3: FakeS3,
    codebuild: FakeCodeBuild,
    artifacts: Any,
    succeed: Step,
    tmp_path: Path,
    status: str,
    phase: dict[str, Any],
    log: list[str],
    message: str,
) -> None:
    codebuild.log = log

    def fail() -> None:
        codebuild.leave(_only(codebuild), job.digest, {"model.plan": artifacts["model.plan"]})
        codebuild.end(_only(codebuild), status, phases=[{"phaseStatus": "SUCCEEDED"}, phase])

    with pytest.raises(BuildError) as refused:
        _gpu(codebuild, s3, fail).run(job, to=tmp_path / "first", progress=Lines())
    assert str(refused.value).startswith(_only(codebuild))
    assert message in str(refused.value)

    _gpu(codebuild, s3, succeed).run(job, to=tmp_path / "second", progress=Lines())
    assert len({each["idempotencyToken"] for each in codebuild.started}) == 2


def test_a_result_that_is_half_written_is_told_and_compiled_anew(
    job: EngineJob,
    s3: FakeS3,
    codebuild: FakeCodeBuild,
    artifacts: Any,
    succeed: Step,
    tmp_path: Path,
) -> None:
    def half() -> None:
        left = {name: each for name, each in artifacts.items() if name != "result.json"}
        codebuild.leave(_only(codebuild), job.digest, left)
        codebuild.end(_only(codebuild))

    with pytest.raises(
        BuildError,
        match=r"left no result\.json below .* the GPU step did not finish",
    ):
        _gpu(codebuild, s3, half).run(job, to=tmp_path / "first", progress=Lines())

    _gpu(codebuild, s3, succeed).run(job, to=tmp_path / "second", progress=Lines())
    assert len(codebuild.started) == 2


def test_an_account_without_gpu_builds_is_told_which_quota_to_ask_for(
    job: EngineJob, s3: FakeS3, codebuild: FakeCodeBuild, tmp_path: Path
) -> None:
    message = "Cannot have more than 0 builds in queue for the account"
    codebuild.refusal = ClientError(
        {"Error": {"Code": "AccountLimitExceededException", "Message": message}}, "StartBuild"
    )
    with pytest.raises(BuildError) as refused:
        _gpu(codebuild, s3).run(job, to=tmp_path / "raw", progress=Lines())
    assert str(refused.value) == (
        f"CodeBuild starts no GPU build ({message}): ask AWS for the CodeBuild quota "
        '"Concurrently running builds for Linux GPU Small/environment"'
    )
    assert not any("/claims/" in key for key in s3.objects)


def _refusal(message: str = "", code: str = "AccountLimitExceededException") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "StartBuild")


FULL = "Cannot have more than 1 builds in queue for the account"


def test_a_full_queue_is_waited_for(
    job: EngineJob, s3: FakeS3, codebuild: FakeCodeBuild, succeed: Step, tmp_path: Path
) -> None:
    codebuild.refusal = _refusal(FULL)

    def still_full() -> None:
        assert codebuild.started == []

    def free() -> None:
        codebuild.refusal = None

    message = Lines()
    gpu = _gpu(codebuild, s3, still_full, free, succeed)
    gpu.run(job, to=tmp_path / "raw", progress=message)
    assert EngineResult.read(tmp_path / "raw", job).plan.read_bytes() == b"a plan"
    assert message[0] == f"waiting: {FULL}"
    assert message[1].startswith(_only(codebuild))  # it is said once


def test_a_queue_that_stays_full_is_given_up_at_the_deadline(
    job: EngineJob, s3: FakeS3, codebuild: FakeCodeBuild, tmp_path: Path
) -> None:
    codebuild.refusal = _refusal(FULL)
    clock = [100.0]
    gpu = _gpu(codebuild, s3, lambda: clock.append(200.0), deadline=150.0, now=lambda: clock[-1])
    with pytest.raises(BuildError, match=r"starts no GPU build \(Cannot have more than 1 builds"):
        gpu.run(job, to=tmp_path / "raw", progress=Lines())


UNPULLED = {
    "phaseType": "PROVISIONING",
    "phaseStatus": "CLIENT_ERROR",
    "contexts": [
        {
            "statusCode": "BUILD_CONTAINER_UNABLE_TO_PULL_IMAGE",
            "message": "Unable to pull customer's container image. CannotPullContainerError: 401",
        }
    ],
}
"""Status code and message as in aws/aws-cdk#10460."""


def test_an_image_that_is_not_pulled_is_named_as_the_cause(
    job: EngineJob, s3: FakeS3, codebuild: FakeCodeBuild, tmp_path: Path
) -> None:
    def fail() -> None:
        codebuild.end(_only(codebuild), "FAILED", phases=[UNPULLED])

    with pytest.raises(BuildError) as refused:
        _gpu(codebuild, s3, fail).run(job, to=tmp_path / "raw", progress=Lines())
    assert "failed, its image could not be pulled: Unable to pull" in str(refused.value)
    assert "driver" not in str(refused.value)


def test_a_mirror_of_the_release_is_pulled_instead_of_nvidia_s(
    job: EngineJob, s3: FakeS3, codebuild: FakeCodeBuild, tmp_path: Path
) -> None:
    older = EngineJob(job.folder, job.job, platform_facts.release("25.04"))
    for requests in (job, older):
        s3.objects.clear()
        gpu = _gpu(codebuild, s3, _interrupt, images={"25.09": "mirror@sha256:0"})
        with pytest.raises(KeyboardInterrupt):
            gpu.run(requests, to=tmp_path / "raw", progress=Lines())
    assert [each["imageOverride"] for each in codebuild.started] == [
        "mirror@sha256:0",
        "nvcr.io/nvidia/tensorrt:25.04-py3",
    ]


def test_a_log_that_cannot_be_read_hides_no_failure(
    job: EngineJob,
    s3: FakeS3,
    codebuild: FakeCodeBuild,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(**_: Any) -> None:
        raise ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "GetLogEvents")

    monkeypatch.setattr(codebuild, "get_log_events", refuse)

    def fail() -> None:
        codebuild.end(_only(codebuild), "FAILED", phases=[PHASE])

    with pytest.raises(BuildError, match="failed in phase BUILD: exit status 1"):
        _gpu(codebuild, s3, fail).run(job, to=tmp_path / "raw", progress=Lines())


@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_a_followed_build_whose_result_is_broken_is_not_followed_for_ever(
    job: EngineJob,
    s3: FakeS3,
    codebuild: FakeCodeBuild,
    artifacts: Any,
    succeed: Step,
    tmp_path: Path,
    damage: str,
) -> None:
    def broken() -> None:
        content = {"missing": {}, "changed": {"model.plan": b"other"}}[damage]
        rest = {name: each for name, each in artifacts.items() if name != "model.plan"}
        codebuild.leave(_only(codebuild), job.digest, {**rest, **content})
        codebuild.end(_only(codebuild))

    _gpu(codebuild, s3, broken).run(job, to=tmp_path / "first", progress=Lines())
    with pytest.raises(BuildError, match=r"model\.plan"):
        EngineResult.read(tmp_path / "first", job)

    message = Lines()
    _gpu(codebuild, s3, succeed).run(job, to=tmp_path / "second", progress=message)
    assert EngineResult.read(tmp_path / "second", job).plan.read_bytes() == b"a plan"
    assert any("left no complete result: the engine is compiled again" in each for each in message)


def test_a_build_of_another_project_is_nobodys_here(
    job: EngineJob, s3: FakeS3, codebuild: FakeCodeBuild, succeed: Step, tmp_path: Path
) -> None:
    s3.objects[f"engine-jobs/{job.digest}/claims/0001.json"] = {"Body": b'{"build": "old:1"}'}

    _gpu(codebuild, s3, succeed).run(job, to=tmp_path / "raw", progress=Lines())
    assert f"engine-jobs/{job.digest}/claims/0002.json" in s3.objects


def test_another_project_or_image_is_another_request(
    job: EngineJob, s3: FakeS3, codebuild: FakeCodeBuild, tmp_path: Path
) -> None:
    older = EngineJob(job.folder, job.job, platform_facts.release("25.04"))
    for project, requests in (("gpu", job), ("gpu", older), ("of-prod", job)):
        s3.objects.clear()
        gpu = replace(_gpu(codebuild, s3, _interrupt), project=project)
        with pytest.raises((KeyboardInterrupt, BuildError)):
            gpu.run(requests, to=tmp_path / "raw", progress=Lines())
    assert len({each["idempotencyToken"] for each in codebuild.started}) == 3
