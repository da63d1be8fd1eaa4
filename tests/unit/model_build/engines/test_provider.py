"""An engine is compiled once, validated by each build, and stored only if it is valid."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import Mock

import pytest

from model_build import BuildError, GateFailed
from model_build.engines.accepted_results import BucketResultStore, FolderResultStore
from model_build.engines.engine_job import EngineJob
from model_build.engines.engine_result import EngineResult
from model_build.engines.provider import Engines, ResultStore
from model_build.gpu_step import job as gpu_job
from model_build.gpu_step.errors import StepError
from model_build.gpu_step.files import sha256
from model_build.gpu_step.result import JobResult
from model_build.progress import Progress
from platform_facts import ComputeCapability
from tests.unit.model_build.engines.conftest import ENGINE, write_job, write_result
from tests.unit.model_build.fakes import FakeS3, ProgressLines


@dataclass
class _Gpu:
    """GPU that compiles `plan`; `runs` has the digest of each compiled job.

    Each run adds a + to the timing cache. A `forged` one began with another cache than the job's.
    """

    plan: bytes = b"a plan"
    forged: bool = False
    runs: list[str] = field(default_factory=list)

    def compute_capability(self) -> ComputeCapability:
        return ComputeCapability(8, 6)

    def run(self, job: EngineJob, *, to: Path, progress: Progress) -> None:
        progress("compiling")
        self.runs.append(job.digest)
        cache = job.folder / gpu_job.TIMING_CACHE
        times = cache.read_bytes() if cache.is_file() else b""
        began_with = sha256(cache) if times and not self.forged else ""
        write_result(to, job, plan=self.plan, timing_cache=began_with)
        (to / cache.name).write_bytes(times + b"+")


@pytest.fixture(params=["folder", "bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path, s3: FakeS3) -> ResultStore:
    """Each store of accepted results."""
    if request.param == "bucket":
        return BucketResultStore(s3.bucket, is_builder=True)
    return FolderResultStore(tmp_path / "results")


def _provide(
    engines: Engines, job: EngineJob, scratch: Path, checked_plans: list[bytes] | None = None
) -> EngineResult:
    def check_outputs(result: EngineResult) -> str:
        if checked_plans is not None:
            checked_plans.append(result.plan.read_bytes())
        return "fine"

    result, report = engines.provide(
        job, scratch=scratch, check_outputs=check_outputs, progress=ProgressLines()
    )
    assert report == "fine"
    return result


def test_second_build_reuses_and_validates_the_engine(
    store: ResultStore, job: EngineJob, tmp_path: Path
) -> None:
    gpu, checked_plans = _Gpu(), list[bytes]()
    for name in ("first", "second"):
        result = _provide(Engines(store, gpu), job, tmp_path / name, checked_plans)
        assert result.plan.read_bytes() == b"a plan"
        assert result.result.compiled_on == {"gpu": "NVIDIA A10G"}
    assert gpu.runs == [job.digest]
    assert checked_plans == [b"a plan", b"a plan"]


def test_timing_cache_is_kept_by_gpu_and_version(store: ResultStore, tmp_path: Path) -> None:
    gpu = _Gpu()
    for name, release in (("a", "25.09"), ("b", "25.09"), ("c", "24.09")):
        engine = ENGINE.model_copy(update={"workspace_mib": ord(name)})
        job = write_job(tmp_path / name, release=release, engine=engine)
        _provide(Engines(store, gpu), job, tmp_path / f"{name}-scratch")
    assert store.timing_cache("8.6-10.13.3.9") == b"++"
    assert store.timing_cache("8.6-10.4.0.26") == b"+"
    gpu.forged = True
    engine = ENGINE.model_copy(update={"workspace_mib": 1})
    job = write_job(tmp_path / "d", engine=engine)
    _provide(Engines(store, gpu), job, tmp_path / "d-scratch")
    assert store.timing_cache("8.6-10.13.3.9") == b"++"


def test_engine_that_fails_its_gate_is_not_stored(
    store: ResultStore, job: EngineJob, tmp_path: Path
) -> None:
    gpu = _Gpu()
    for name in ("first", "second"):
        with pytest.raises(GateFailed):
            Engines(store, gpu).provide(
                job,
                scratch=tmp_path / name,
                check_outputs=Mock(side_effect=GateFailed("differs")),
                progress=ProgressLines(),
            )
        assert not store.fetch(job.digest, to=tmp_path / f"of-{name}")
    assert len(gpu.runs) == 2


def test_partial_upload_is_not_a_result(s3: FakeS3, job: EngineJob, tmp_path: Path) -> None:
    def interrupt(request: dict[str, object]) -> None:
        if str(request["Key"]).endswith("result.json"):
            raise KeyboardInterrupt

    s3.hooks["PutObject"] = interrupt
    engines, gpu = BucketResultStore(s3.bucket, is_builder=True), _Gpu()
    with pytest.raises(KeyboardInterrupt):
        _provide(Engines(engines, gpu), job, tmp_path / "killed")
    assert len(s3.objects) == 3  # the timing cache, and two files of the result
    assert not engines.fetch(job.digest, to=tmp_path / "fetched")
    del s3.hooks["PutObject"]
    gpu.plan = b"of another compilation"  # not blocked by the interrupted upload
    result = _provide(Engines(engines, gpu), job, tmp_path / "next")
    assert result.plan.read_bytes() == b"of another compilation"


def test_stored_result_that_was_changed_is_rejected(
    s3: FakeS3, job: EngineJob, tmp_path: Path
) -> None:
    engines = Engines(BucketResultStore(s3.bucket, is_builder=True), _Gpu())
    plan = _provide(engines, job, tmp_path / "first").result.plan_sha256
    s3.objects[f"engines/{job.digest}/{plan}"]["Body"] = b"tampered"
    with pytest.raises(BuildError, match=r"model\.plan does not match its SHA-256"):
        _provide(engines, job, tmp_path / "second")


def test_only_builders_store_engines(job: EngineJob, s3: FakeS3, tmp_path: Path) -> None:
    results = BucketResultStore(s3.bucket, is_builder=False)
    _provide(Engines(results, _Gpu()), job, tmp_path / "published")
    assert s3.objects == {}
    builder = Engines(BucketResultStore(s3.bucket, is_builder=True), _Gpu(plan=b"stored"))
    _provide(builder, job, tmp_path / "built")
    second_result = _provide(Engines(results, _Gpu()), job, tmp_path / "again")
    assert second_result.plan.read_bytes() == b"stored"


@pytest.mark.parametrize(
    "path", ["/absolute", "../beside", "lib/evil.pth", "..", ".", "", "a\\b", ".pth", 5, ["x"]]
)
def test_result_or_job_with_a_path_as_file_name_is_rejected(
    path: object, job: EngineJob, s3: FakeS3, tmp_path: Path
) -> None:
    content = write_result(tmp_path / "made", job).result.json_bytes()
    attack = str(tmp_path / "absolute") if path == "/absolute" else path
    result = json.loads(content)
    result["outputs"][0][0]["file"] = attack
    s3.objects[f"engines/{job.digest}/result.json"] = {"Body": json.dumps(result).encode()}
    for digest in JobResult(**result | {"outputs": []}).files().values():
        s3.objects[f"engines/{job.digest}/{digest}"] = {"Body": b"a plan"}
    s3.objects[f"engines/{job.digest}/{result['outputs'][0][0]['sha256']}"] = {"Body": b"evil"}
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(BuildError, match="is not the result of an engine job"):
        BucketResultStore(s3.bucket, is_builder=True).fetch(
            job.digest, to=tmp_path / "accepted" / "one"
        )
    assert sorted(tmp_path.rglob("*")) == before

    document = job.folder / "job.json"
    job_content = json.loads(document.read_text())
    job_content["cases"][0][0]["file"] = attack
    document.write_text(json.dumps(job_content))
    with pytest.raises(StepError, match="is not an engine job"):
        gpu_job.read(job.folder)
