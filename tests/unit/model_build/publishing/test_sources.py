"""What an archive was made from is kept, so that it can be made again."""

import io
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from model_build import ModelSource, digest_of
from model_build.build import Build
from model_build.manifest import Source
from model_build.publishing import sources
from model_build.publishing.bucket import publish
from model_build.publishing.copies import numbered
from tests.unit.model_build.fakes import Lines

if TYPE_CHECKING:
    from tests.unit.model_build.fakes import FakeS3


def _keep(s3: "FakeS3", built: Build) -> Source:
    return sources.keep(s3.client, built, bucket="bucket")


def test_a_source_that_is_unpacked_has_the_digest_of_the_archive(
    s3: "FakeS3", built: Build, tmp_path: Path
) -> None:
    (built.source.folder / "tests").mkdir(exist_ok=True)
    (built.source.folder / "tests" / "golden.json").write_text("{}")  # is no part of the model
    kept = s3.objects[_keep(s3, built).key]
    assert kept["ContentType"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(kept["Body"])) as packed:
        packed.extractall(tmp_path / "again")
    assert digest_of(tmp_path / "again") == built.digest
    assert not (tmp_path / "again" / "tests").exists()


def test_a_source_is_kept_once(s3: "FakeS3", built: Build) -> None:
    assert _keep(s3, built) == _keep(s3, built)
    assert s3.calls.count("CreateMultipartUpload") == 1


def test_of_two_builds_at_once_either_keeps_it(s3: "FakeS3", built: Build) -> None:
    def other(_: object) -> None:
        s3.objects[f"sources/{built.digest}.zip"] = {"Body": b"the same"}

    s3.before["CompleteMultipartUpload"] = other
    assert _keep(s3, built).key in s3.objects
    assert s3.unfinished == {}


def test_a_copy_and_an_alternative_name_what_they_are_made_of(s3: "FakeS3", built: Build) -> None:
    key = f"sources/{built.digest}.zip"
    assert _keep(s3, built) == Source(key=key, model=built.name, alternative=None, copy_number=None)
    with numbered(built, "12") as copy:
        assert copy.name == f"{built.name}-12"
        assert _keep(s3, copy) == Source(
            key=key, model=built.name, alternative=None, copy_number="12"
        )
    object.__setattr__(built, "source", ModelSource(built.source.folder, "onnx"))
    assert _keep(s3, built).alternative == "onnx"


def test_the_manifest_is_written_once_the_source_is_kept(s3: "FakeS3", built: Build) -> None:
    publish(s3.client, built, bucket="bucket", key="text/a.tar.gz", progress=Lines())
    manifest = json.loads(s3.objects["text/a.json"]["Body"])
    assert manifest["source"]["key"] in s3.objects
    assert list(s3.objects)[-1] == "text/a.json"
