import json
from typing import Any

from tests.unit.model_build.commands.conftest import (
    ENDPOINT,
    PREFIX,
    VERSIONS,
    FakeAws,
    fail,
    run_json,
    succeed,
)

OLD, _, NEW = VERSIONS


def test_only_archive_and_manifest_of_the_version_are_deleted(deployed_minilm: FakeAws) -> None:
    deployed_minilm.s3.objects[f"{PREFIX}minilm-{OLD}-0.tar.gz"] = {"Body": b"another model"}
    key, objects_before = f"{PREFIX}minilm-{OLD}", deployed_minilm.archives
    assert run_json("retire", *ENDPOINT, "minilm", OLD) == [
        f"s3://bucket/{key}.json",
        f"s3://bucket/{key}.tar.gz",
    ]
    assert deployed_minilm.archives == objects_before - {f"{key}.json", f"{key}.tar.gz"}


def test_unused_engine_is_deleted(deployed_minilm: FakeAws) -> None:
    for version, jobs in {OLD: ["shared", "own"], NEW: ["shared"]}.items():
        engines = {f"{job}/1/model.plan": {"job": job} for job in jobs}
        body = json.dumps({"engines": engines}).encode()
        deployed_minilm.s3.objects[f"{PREFIX}minilm-{version}.json"] = {"Body": body}
    for job in ("shared", "own"):
        for name in ("0a1b", "result.json"):
            deployed_minilm.s3.objects[f"engines/{job}/{name}"] = {"Body": b"{}"}
    deleted = run_json("retire", *ENDPOINT, "minilm", OLD)
    # Without result.json, an interrupted deletion leaves no result that looks complete.
    folder = "s3://bucket/engines/own"
    assert deleted[:2] == [f"{folder}/result.json", f"{folder}/0a1b"]
    assert [url.rpartition(".")[2] for url in deleted[2:]] == ["json", "gz"]
    assert "engines/shared/result.json" in deployed_minilm.s3.objects


def test_manifest_is_deleted_before_the_archive(deployed_minilm: FakeAws) -> None:
    def interrupt(request: dict[str, Any]) -> None:
        if request["Key"].endswith(".tar.gz"):
            raise KeyboardInterrupt

    deployed_minilm.s3.hooks["DeleteObject"] = interrupt
    fail("retire", *ENDPOINT, "minilm", OLD, code=130)
    assert f"{PREFIX}minilm-{OLD}.json" not in deployed_minilm.s3.objects
    del deployed_minilm.s3.hooks["DeleteObject"]
    assert succeed("retire", *ENDPOINT, "minilm", OLD) == (
        f"deleted s3://bucket/{PREFIX}minilm-{OLD}.tar.gz\n"
    )


def test_archive_of_another_catalog_entry_is_refused(deployed_minilm: FakeAws) -> None:
    entry = deployed_minilm.catalog("minilm") | {"target_model": f"minilm-{OLD}.tar.gz"}
    deployed_minilm.put(entry | {"model": "other"})
    assert f"the catalog names minilm-{OLD}.tar.gz for other" in fail(
        "retire", *ENDPOINT, "minilm", OLD
    )


def test_source_is_deleted_with_its_last_archive(deployed_minilm: FakeAws) -> None:
    gpu_prefix = "text/cuda-25.09-sm86/"
    for prefix, version in ((PREFIX, OLD), (gpu_prefix, OLD), (PREFIX, NEW)):
        body = json.dumps({"digest": version, "source": {"model": "minilm"}}).encode()
        for suffix, content in ((".tar.gz", b""), (".json", body)):
            deployed_minilm.s3.objects[f"{prefix}minilm-{version}{suffix}"] = {"Body": content}
    for version in (OLD, NEW):
        deployed_minilm.s3.objects[f"sources/{version}.zip"] = {"Body": b""}
    assert not [url for url in run_json("retire", *ENDPOINT, "minilm", OLD) if "sources" in url]
    deployed_minilm.sagemaker.host("dev-text", f"s3://bucket/{gpu_prefix}")
    assert f"s3://bucket/sources/{OLD}.zip" in run_json("retire", *ENDPOINT, "minilm", OLD)
    assert f"sources/{NEW}.zip" in deployed_minilm.s3.objects
