import gzip
import io
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError
from hypothesis import given, settings
from hypothesis import strategies as st
from isal import isal_zlib
from urllib3.exceptions import ProtocolError

from local_aws.errors import ApiError
from local_aws.hosting import archives
from tests.unit.local_aws.conftest import FakeS3
from tests.unit.local_aws.hosting.conftest import tar_gz

ENSEMBLE = {"minilm/config.pbtxt": b'platform: "ensemble"', "encoder/1/model.onnx": bytes(3000)}


PLACE: Any = {"bucket": "models", "key": "text/minilm.tar.gz", "limit": 1 << 20}


def fetch(s3: Any, content: bytes | None, to: Path) -> None:
    if content is not None:
        s3.objects["models", "text/minilm.tar.gz"] = content
    archives.fetch(s3, to=to, **PLACE)


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_an_archive_becomes_the_folder_that_was_packed(s3: Any, tmp_path: Path) -> None:
    fetch(s3, tar_gz(ENSEMBLE), tmp_path / "a" / "model")
    assert files_below(tmp_path / "a" / "model") == ENSEMBLE
    assert s3.asked == [("models", "text/minilm.tar.gz")]


NAMES = st.from_regex(r"[a-z]{1,4}/[0-9]/[a-z]{1,4}\.bin", fullmatch=True)


@settings(max_examples=20)
@given(files=st.dictionaries(NAMES, st.binary(max_size=2000), max_size=4), level=st.integers(0, 9))
def test_whatever_gzip_wrote_is_read(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes], level: int
) -> None:
    to = tmp_path_factory.mktemp("unpacked") / "model"
    packed = gzip.compress(tar_gz(files, mode="w"), compresslevel=level)
    fetch(FakeS3(), packed, to)
    assert files_below(to) == files


def test_a_missing_object_is_what_invoke_endpoint_says_it_is(s3: Any, tmp_path: Path) -> None:
    with pytest.raises(ApiError) as refused:
        fetch(s3, None, tmp_path / "model")
    assert refused.value.code == "ValidationError"
    assert refused.value.message == (
        "Failed to download model data (bucket: models, key: text/minilm.tar.gz). Please ensure "
        "that there is an object located at the URL and that the role passed to CreateModel has "
        "permissions to download it: No such key."
    )
    assert not (tmp_path / "model").exists()


GOOD = tar_gz({"model/1/model.pt": os.urandom(40_000)})
BAD_CHECKSUM = GOOD[:20_000] + bytes([GOOD[20_000] ^ 1]) + GOOD[20_001:]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"", "empty file", id="nothing"),
        pytest.param(b"<html>Not found</html>", "Not a gzipped file", id="a page"),
        pytest.param(gzip.compress(b"weights" * 200), "invalid header", id="gzip of no archive"),
        pytest.param(GOOD[:20_000], "Compressed file ended", id="half an archive"),
        pytest.param(BAD_CHECKSUM, "CRC check failed", id="one bit flipped"),
        pytest.param(tar_gz(ENSEMBLE, mode="w"), "Not a gzipped file", id="not compressed"),
    ],
)
def test_what_is_no_whole_archive_is_refused_and_leaves_no_model(
    s3: Any, tmp_path: Path, content: bytes, reason: str
) -> None:
    with pytest.raises(ApiError) as refused:
        fetch(s3, content, tmp_path / "model")
    assert refused.value.code == "ValidationError"
    start = "Failed to extract model data s3://models/text/minilm.tar.gz: "
    assert refused.value.message.startswith(start + reason)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../outside", "a/../../outside"])
def test_an_archive_that_writes_outside_its_folder_is_refused(
    s3: Any, tmp_path: Path, name: str
) -> None:
    with pytest.raises(ApiError, match=r"Failed to extract model data .* outside the destination"):
        fetch(s3, tar_gz({"a/inside": b"1", name: b"2"}), tmp_path / "a" / "model")
    assert files_below(tmp_path) == {}


def test_an_absolute_path_is_refused_by_its_name(s3: Any, tmp_path: Path) -> None:
    with pytest.raises(ApiError, match=r"Failed to extract .*'/etc/model' has an absolute path"):
        fetch(s3, tar_gz({"inside": b"1", "/etc/model": b"2"}), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_more_members_than_a_model_has_are_refused(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MEMBERS", 2)
    fetch(s3, tar_gz({"a": b"", "b": b""}), tmp_path / "two")
    with pytest.raises(ApiError, match="more than 2 members"):
        fetch(s3, tar_gz({"a": b"", "b": b"", "c": b""}), tmp_path / "three")
    assert [it.name for it in tmp_path.iterdir()] == ["two"]


def test_more_bytes_than_there_is_room_for_are_not_written(s3: Any, tmp_path: Path) -> None:
    fetch(s3, tar_gz({"zeros": bytes(1 << 20)}), tmp_path / "fits")
    with pytest.raises(ApiError, match="No space left on device: more than 1048576 bytes"):
        fetch(s3, tar_gz({"zeros": bytes((1 << 20) + 1)}), tmp_path / "does not")
    assert [it.name for it in tmp_path.iterdir()] == ["fits"]


def test_an_archive_that_is_known_is_not_unpacked_again(s3: Any, tmp_path: Path) -> None:
    s3.objects["models", "text/minilm.tar.gz"] = tar_gz(ENSEMBLE)
    first = archives.fetch(s3, to=tmp_path / "model", **PLACE)
    (tmp_path / "model" / "mine").touch()
    assert archives.fetch(s3, to=tmp_path / "model", known=first, **PLACE) == first
    assert (tmp_path / "model" / "mine").exists()
    s3.objects["models", "text/minilm.tar.gz"] = tar_gz({"other": b"1"})
    assert archives.fetch(s3, to=tmp_path / "model", known=first, **PLACE).size == 1
    assert files_below(tmp_path / "model") == {"other": b"1"}


def test_a_link_out_of_the_folder_is_refused(s3: Any, tmp_path: Path) -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        link = tarfile.TarInfo("model.onnx")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(ApiError, match="Failed to extract model data"):
        fetch(s3, content.getvalue(), tmp_path / "model")
    assert not (tmp_path / "model").exists()


class BreakingOff(io.BytesIO):
    """A body whose connection breaks off, or whose gzip data is beyond repair."""

    def __init__(self, content: bytes, error: Exception) -> None:
        super().__init__(content)
        self._error = error

    def readinto(self, buffer: Any, /) -> int:
        count = super().readinto(buffer)
        if not count:
            raise self._error
        return count


@pytest.mark.parametrize(
    "error",
    [
        isal_zlib.IsalError("invalid block"),  # type: ignore[operator]
        ProtocolError("Connection broken"),
        ReadTimeoutError(endpoint_url="s3"),
    ],
)
def test_whatever_goes_wrong_while_unpacking_leaves_nothing(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    body = BreakingOff(GOOD[:20_000], error)
    monkeypatch.setattr(s3, "get_object", lambda **_: {"Body": body})
    with pytest.raises(ApiError, match="Failed to extract model data") as refused:
        archives.fetch(s3, to=tmp_path / "model", **PLACE)
    assert refused.value.__cause__ is error
    assert list(tmp_path.iterdir()) == []


def test_an_s3_that_is_not_there_is_a_failed_download(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(**_: Any) -> None:
        raise EndpointConnectionError(endpoint_url="http://127.0.0.1:1")

    monkeypatch.setattr(s3, "get_object", unreachable)
    with pytest.raises(ApiError, match=r"Failed to download .*http://127\.0\.0\.1:1"):
        archives.fetch(s3, to=tmp_path / "model", **PLACE)


def test_a_model_that_is_not_whole_yet_has_another_name(s3: Any, tmp_path: Path) -> None:
    seen = []

    class Body(io.BytesIO):
        def readinto(self, buffer: Any, /) -> int:
            seen.append((tmp_path / "model").exists())
            return super().readinto(buffer)

    s3.get_object = lambda **_: {"Body": Body(GOOD), "ETag": ""}
    archives.fetch(s3, to=tmp_path / "model", **PLACE)
    assert seen
    assert not any(seen)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
