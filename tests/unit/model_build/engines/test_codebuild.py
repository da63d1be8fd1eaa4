"""Engine jobs on CodeBuild: one build per job, which concurrent callers follow."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import platform_facts
from model_build import BuildError
from model_build.engines.codebuild import CodeBuildGpu
from model_build.engines.engine_job import EngineJob
from model_build.engines.engine_result import EngineResult
from tests.unit.model_build.engines.conftest import write_result
from tests.unit.model_build.engines.fake_codebuild import PULL_FAILED, FakeCodeBuild, pause_steps
from tests.unit.model_build.fakes import FakeS3, ProgressLines

MIRROR = {"25.09": "mirror@sha256:0"}
BUILD_FAILED = {
    "phaseType": "BUILD",
    "phaseStatus": "FAILED",
    "contexts": [{"message": "exit status 1"}],
}


@dataclass
class Compilation:
    """The engine job `job` on a fake CodeBuild; `artifacts` are the files of a valid result."""

    job: EngineJob
    s3: FakeS3
    codebuild: FakeCodeBuild
    artifacts: dict[str, bytes]
    folder: Path

    @property
    def prefix(self) -> str:
        return f"engine-jobs/{self.job.digest}"

    @property
    def builds(self) -> list[str]:
        return list(self.codebuild.builds)

    def run(
        self,
        name: str,
        *steps: Callable[[], None],
        job: EngineJob | None = None,
        project: str = "gpu",
        **options: Any,
    ) -> ProgressLines:
        """Run the job into the folder `name`; return the progress.

        At each poll the next of `steps` is called.
        """
        gpu = CodeBuildGpu(
            codebuild=self.codebuild.client,
            logs=self.codebuild.client,
            bucket=self.s3.bucket,
            project=project,
            sleep=pause_steps(*steps),
            **options,
        )
        progress = ProgressLines()
        gpu.run(job or self.job, to=self.folder / name, progress=progress)
        return progress

    def plan(self, name: str) -> bytes:
        """Return the engine of the result in the folder `name`."""
        return EngineResult.read(self.folder / name, self.job).plan.read_bytes()

    def upload(self, build: str, artifacts: dict[str, bytes]) -> None:
        self.codebuild.upload(build, self.job.digest, artifacts)

    def succeed(self) -> None:
        """Let the latest build upload its artifacts and succeed."""
        self.upload(self.builds[-1], self.artifacts)
        self.codebuild.end(self.builds[-1])

    def fail(self, status: str = "FAILED", *phases: dict[str, Any]) -> None:
        """Let the latest build fail."""
        self.codebuild.end(self.builds[-1], status, phases=list(phases))


@pytest.fixture
def compilation(job: EngineJob, s3: FakeS3, tmp_path: Path) -> Compilation:
    folder = write_result(tmp_path / "valid", job).folder
    artifacts = {path.name: path.read_bytes() for path in folder.iterdir()}
    return Compilation(job, s3, FakeCodeBuild(s3), artifacts, tmp_path)


def interrupt() -> None:
    raise KeyboardInterrupt


def test_job_is_uploaded_compiled_and_downloaded(compilation: Compilation) -> None:
    job = compilation.job

    def succeed() -> None:
        folder = f"{compilation.prefix}/job"
        assert {key for key in compilation.s3.objects if key.startswith(folder)} == {
            f"{folder}/{path.name}" for path in job.folder.iterdir()
        }
        compilation.succeed()

    progress = compilation.run("raw", succeed)
    assert compilation.plan("raw") == b"a plan"
    (build,) = compilation.builds
    assert progress == [
        f"{build} compiles the engine on a GPU, job {job.digest[:12]}",
        f"{build}: QUEUED",
        f"{build}: COMPLETED",
    ]
    (request,) = compilation.codebuild.started
    assert request["projectName"] == "gpu"
    assert request["imageOverride"] == "nvcr.io/nvidia/tensorrt:25.09-py3"
    (source,) = request["secondarySourcesOverride"]
    assert source["location"] == f"bucket/{compilation.prefix}/job/"
    assert request["artifactsOverride"]["path"] == f"{compilation.prefix}/raw"


@pytest.mark.parametrize("is_token_expired", [False, True])
def test_concurrent_callers_follow_the_build_of_the_first_claim(
    compilation: Compilation, *, is_token_expired: bool
) -> None:
    codebuild, hooks = compilation.codebuild, compilation.s3.hooks

    def claim_first(request: dict[str, Any]) -> None:
        if "/claims/" not in request["Key"]:
            return
        del hooks["PutObject"]
        if is_token_expired:  # StartBuild starts a second build
            codebuild.forget_tokens()
        compilation.run("other", compilation.succeed)

    hooks["PutObject"] = claim_first
    compilation.run("own")
    assert compilation.plan("own") == b"a plan"
    assert len(codebuild.started) == (2 if is_token_expired else 1)
    assert codebuild.stopped == (compilation.builds[:1] if is_token_expired else [])


OVERRIDES: dict[str, dict[str, Any]] = {
    "cache": {"cache": {"type": "S3", "location": "other/cache"}},
    "environment.environmentVariables": {
        "environment": {"environmentVariables": [{"name": "PYTHONPATH", "value": "/other"}]}
    },
    "environment.image": {"environment": {"image": "nvcr.io/nvidia/tensorrt:other"}},
    "serviceRole": {"serviceRole": "arn:aws:iam::111122223333:role/other"},
    "source": {"source": {"buildspec": "version: 0.2, other"}},
    "vpcConfig": {"vpcConfig": {"vpcId": "vpc-other"}},
}


@pytest.mark.parametrize("setting", [*OVERRIDES, "source.location"])
def test_build_that_overrides_a_project_setting_is_not_followed(
    compilation: Compilation, setting: str
) -> None:
    def succeed_with_override() -> None:
        compilation.artifacts["model.plan"] = b"other"
        compilation.succeed()
        build = compilation.codebuild.builds[compilation.builds[-1]]
        source: dict[str, Any] = {"source": {"location": "other/step.zip"}}
        for name, change in OVERRIDES.get(setting, source).items():
            project_value = build.get(name)
            build[name] = {**project_value, **change} if isinstance(project_value, dict) else change
        compilation.artifacts["model.plan"] = b"a plan"

    compilation.run("other", succeed_with_override)
    progress = compilation.run("own", compilation.succeed)
    assert compilation.plan("own") == b"a plan"
    first_build, second_build = compilation.builds
    overridden = setting.partition(".location")[0]
    assert progress[0].startswith(f"{first_build} is not used: it overrides {overridden} of gpu.")
    assert progress[1].startswith(second_build)


@pytest.mark.parametrize("claim", [b"[]", b"{}", b"junk", b'{"build": "old:1"}', b"[" * 99_999])
@pytest.mark.parametrize("attempt", ["0001", "9999", "12345"])
def test_invalid_claim_is_ignored(compilation: Compilation, claim: bytes, attempt: str) -> None:
    compilation.s3.objects[f"{compilation.prefix}/claims/{attempt}.json"] = {"Body": claim}
    with pytest.raises(BuildError, match="failed"):
        compilation.run("first", compilation.fail)
    compilation.run("second", compilation.succeed)
    assert compilation.plan("second") == b"a plan"
    assert len(compilation.builds) == 2


@pytest.mark.parametrize(
    ("status", "phase", "log", "message"),
    [
        ("FAILED", BUILD_FAILED, ["found driver", "error: no GPU"],
         "failed in phase BUILD: no GPU. Log: https:"),
        ("FAILED", BUILD_FAILED, ["killed"], "failed in phase BUILD: exit status 1. Log: https:"),
        ("TIMED_OUT", {"phaseType": "QUEUED", "phaseStatus": "TIMED_OUT"}, [],
         "no GPU machine was"),
        ("FAULT", {**BUILD_FAILED, "phaseType": "PROVISIONING", "phaseStatus": "FAULT"}, [],
         "its driver is too old for the image: deploy again later"),
        ("STOPPED", {"phaseType": "BUILD", "phaseStatus": "STOPPED"}, [],
         "was stopped in phase BUILD: del"),
    ],
)  # fmt: skip
def test_failed_build_reports_the_cause_and_is_not_reused(
    compilation: Compilation, status: str, phase: dict[str, Any], log: list[str], message: str
) -> None:
    compilation.codebuild.log = log
    with pytest.raises(BuildError) as error:
        compilation.run(
            "first", lambda: compilation.fail(status, {"phaseStatus": "SUCCEEDED"}, phase)
        )
    assert str(error.value).startswith(compilation.builds[0])
    assert message in str(error.value)
    compilation.run("second", compilation.succeed)
    tokens = [request["idempotencyToken"] for request in compilation.codebuild.started]
    assert len(set(tokens)) == 2


def test_failed_pull_of_the_image_is_repeated_once(compilation: Compilation) -> None:
    """Registries limit pulls, and model builds try twice too."""
    fail = partial(compilation.fail, "FAILED", PULL_FAILED)
    with pytest.raises(BuildError, match="its image could not be pulled: Unable to pull"):
        compilation.run("first", fail, fail)
    assert len(compilation.builds) == 2
    compilation.run("second", fail, compilation.succeed)
    assert compilation.plan("second")


def test_image_is_pulled_from_the_mirror_of_the_release(compilation: Compilation) -> None:
    """Releases and projects have tokens of their own."""
    job = compilation.job
    older = EngineJob(job.folder, job.job, platform_facts.release("25.04"))
    for project, release_job in (("gpu", job), ("gpu", older), ("of-prod", job)):
        compilation.s3.objects.clear()
        with pytest.raises((KeyboardInterrupt, BuildError)):
            compilation.run("raw", interrupt, job=release_job, project=project, images=MIRROR)
    requests = compilation.codebuild.started
    assert len({request["idempotencyToken"] for request in requests}) == 3
    images = [request["imageOverride"] for request in requests]
    assert images[:2] == [MIRROR["25.09"], "nvcr.io/nvidia/tensorrt:25.04-py3"]


@pytest.mark.parametrize("plan", [{}, {"model.plan": b"other"}], ids=["missing", "changed"])
def test_build_with_a_damaged_result_is_not_followed(
    compilation: Compilation, plan: dict[str, bytes]
) -> None:
    valid = compilation.artifacts
    other_artifacts = {name: content for name, content in valid.items() if name != "model.plan"}
    compilation.artifacts = other_artifacts | plan
    compilation.run("first", compilation.succeed)
    with pytest.raises(BuildError, match=r"model\.plan"):
        compilation.plan("first")
    compilation.artifacts = valid
    progress = compilation.run("second", compilation.succeed)
    assert compilation.plan("second") == b"a plan"
    assert any("left no complete result: the engine is compiled again" in line for line in progress)
