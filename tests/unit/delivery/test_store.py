"""The releases in a stage's bucket."""

import json
from pathlib import Path

import pytest

from delivery.errors import NotDelivered
from delivery.store import FILES, fetch_release, save_release, stored_release
from plan.archives import ArchiveBucket
from release.artefact import FILE, InvalidRelease, ReleaseArtefact
from tests.unit.model_build.fakes import FakeS3
from tests.unit.release.test_artefact import ASSET, TEMPLATE, write_release


@pytest.fixture
def s3() -> FakeS3:
    return FakeS3()


@pytest.fixture
def bucket(s3: FakeS3) -> ArchiveBucket:
    return s3.bucket


@pytest.fixture
def release(tmp_path: Path) -> ReleaseArtefact:
    return write_release(tmp_path / "release")


def test_stage_part_of_a_release_is_stored_once(
    release: ReleaseArtefact, bucket: ArchiveBucket, s3: FakeS3
) -> None:
    save_release(bucket, release, "prod")
    files = {FILES + release.files[name] for name in (TEMPLATE, ASSET)}
    assert s3.objects.keys() == {*files, f"releases/{release.digest}.json"}
    calls = len(s3.calls)
    save_release(bucket, release, "prod")
    assert s3.calls[calls:] == ["HeadObject"]
    with stored_release(bucket, release.digest, "prod") as stored:
        assert (stored.digest, stored.commit) == (release.digest, release.commit)
        with stored.verified_copy("prod") as copy:
            assert (copy / TEMPLATE).read_text() == "{}"


def test_interrupted_save_is_continued(
    release: ReleaseArtefact, bucket: ArchiveBucket, s3: FakeS3
) -> None:
    save_release(bucket, release, "prod")
    s3.objects.pop(f"releases/{release.digest}.json")  # it is written last
    with (
        pytest.raises(NotDelivered, match="not in the store"),
        stored_release(bucket, release.digest, "prod"),
    ):
        pass
    save_release(bucket, release, "prod")
    assert f"releases/{release.digest}.json" in s3.objects


def test_replaced_file_in_the_store_is_not_deployed(
    release: ReleaseArtefact, bucket: ArchiveBucket, s3: FakeS3
) -> None:
    save_release(bucket, release, "prod")
    s3.objects[FILES + release.files[TEMPLATE]]["Body"] = b"replaced"
    with (
        stored_release(bucket, release.digest, "prod") as stored,
        pytest.raises(InvalidRelease, match="was changed after the release was built"),
        stored.verified_copy("prod"),
    ):
        pass


def test_replaced_description_in_the_store_is_refused(
    release: ReleaseArtefact, bucket: ArchiveBucket, s3: FakeS3, tmp_path: Path
) -> None:
    save_release(bucket, release, "prod")
    content = json.loads(release.to_json())
    content["files"][TEMPLATE] = "0" * 64
    s3.objects[f"releases/{release.digest}.json"]["Body"] = json.dumps(content).encode()
    with pytest.raises(InvalidRelease, match="is expected: it is another release"):
        fetch_release(bucket, release.digest, "prod", tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [FILE]
