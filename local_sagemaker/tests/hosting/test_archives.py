import gzip
import io
import os
import tarfile
import time
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError
from isal import isal_zlib
from urllib3.exceptions import ProtocolError

from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.hosting import archives, launch
from local_sagemaker.hosting.capacity import Capacity
from local_sagemaker.tests.support.tiny_models import tar_gz

ENSEMBLE = {"minilm/config.pbtxt": b'platform: "ensemble"', "encoder/1/model.onnx": bytes(3000)}
LOCATION: Any = {"bucket": "models", "key": "text/minilm.tar.gz", "limit": 1 << 20}


def fetch(s3: Any, content: bytes | None, to: Path, **options: Any) -> None:
    if content is not None:
        s3.objects["models", "text/minilm.tar.gz"] = content
    archives.fetch(s3, to=to, **{**LOCATION, **options})


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_archive_is_unpacked(s3: Any, tmp_path: Path) -> None:
    fetch(s3, tar_gz(ENSEMBLE), tmp_path / "a" / "model")
    assert files_below(tmp_path / "a" / "model") == ENSEMBLE
    assert s3.downloads == [("models", "text/minilm.tar.gz")]


def test_missing_object_has_the_message_of_sagemaker(s3: Any, tmp_path: Path) -> None:
    with pytest.raises(ApiError) as refused:
        fetch(s3, None, tmp_path / "model")
    assert refused.value.code == "ValidationError"
    assert refused.value.message == (
        "Failed to download model data (bucket: models, key: text/minilm.tar.gz). Please ensure "
        "that there is an object located at the URL and that the role passed to CreateModel has "
        "permissions to download it: No such key."
    )
    assert not (tmp_path / "model").exists()


def test_missing_object_of_a_single_model_has_the_message_of_sagemaker(
    s3: Any, tmp_path: Path
) -> None:
    host: Any = SimpleNamespace(s3=s3)
    definition = {"ModelDataUrl": "s3://models/m.tar.gz"}
    with pytest.raises(LocalSageMakerError) as failed:
        launch._create_single_model_server(
            host, "one", tmp_path, definition, Capacity(memory=1, disk=1), seconds=1
        )
    assert str(failed.value) == (
        'Failed to download model data for container "container_1" from URL: '
        '"s3://models/m.tar.gz". Please ensure that there is an object located at the URL and that '
        "the role passed to CreateModel has permissions to download the object."
    )


GOOD = tar_gz({"model/1/model.pt": os.urandom(40_000)})
BAD_CHECKSUM = GOOD[:20_000] + bytes([GOOD[20_000] ^ 1]) + GOOD[20_001:]
TWO_FILES = gzip.decompress(tar_gz({"a": b"1", "b": b"2"}))
HEADER = tarfile.TarInfo("many")
HEADER.type, HEADER.size = tarfile.XHDTYPE, 8 << 20
HEADER_BOMB = gzip.compress(HEADER.tobuf(tarfile.GNU_FORMAT) + bytes(9 << 20))
BAD_HEADER = TWO_FILES[:1024] + b"\xff" + TWO_FILES[1025:]  # the name of the second member


def special(kind: bytes, target: str = "") -> bytes:
    """Return an archive with the file `weights` and the member `other`, a link or device."""
    content = io.BytesIO(gzip.decompress(tar_gz({"weights": b"1"})))
    with tarfile.open(fileobj=content, mode="a") as archive:
        special_member = tarfile.TarInfo("other")
        special_member.type, special_member.linkname = kind, target
        archive.addfile(special_member)
    return gzip.compress(content.getvalue())


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"", "empty file", id="empty object"),
        pytest.param(b"<html>Not found</html>", "Not a gzipped file", id="HTML page"),
        pytest.param(gzip.compress(b"weights" * 200), "invalid header", id="gzip without tar"),
        pytest.param(GOOD[:20_000], "Compressed file ended", id="truncated archive"),
        pytest.param(BAD_CHECKSUM, "CRC check failed", id="one bit flipped"),
        pytest.param(tar_gz(ENSEMBLE, mode="w"), "Not a gzipped file", id="not compressed"),
        pytest.param(HEADER_BOMB, "a header", id="header bomb"),
        pytest.param(gzip.compress(BAD_HEADER), "unreadable header, followed by more",
         id="bad header"),
        pytest.param(tar_gz({"a": b"1", "a/b": b"2"}), "Not a directory", id="file and folder"),
        pytest.param(tar_gz({"../outside": b""}), "has a path with .. in it", id="parent folder"),
        pytest.param(tar_gz({"a/../../outside": b""}), "has a path with .. in it", id="outside"),
        pytest.param(tar_gz({"/etc/model": b""}), "'/etc/model' has an absolute", id="absolute"),
        pytest.param(tar_gz({"é" * 513: b""}), r"'é{30}\.\.\.' has a path of more than 1024",
         id="long path"),
        pytest.param(tar_gz({"a" * 300: b""}), "File name too long", id="long file name"),
        pytest.param(special(tarfile.SYMTYPE, "/etc/passwd"), "'other' is a link to '/etc",
         id="absolute link"),
        pytest.param(special(tarfile.SYMTYPE, "../.."), "is a link .* leads outside",
         id="symbolic link"),
        pytest.param(special(tarfile.LNKTYPE, "../../a"), "is a link .* leads outside",
         id="hard link"),
        pytest.param(special(tarfile.LNKTYPE, "other"), "linkname 'other' not found",
         id="link to itself"),
        pytest.param(special(tarfile.CHRTYPE), "'other' is not a file, folder or",
         id="character device"),
        pytest.param(special(tarfile.FIFOTYPE), "'other' is not a file, folder or", id="fifo"),
    ],
)  # fmt: skip
def test_invalid_archive_is_refused_and_leaves_no_files(
    s3: Any, tmp_path: Path, content: bytes, reason: str
) -> None:
    start = "Failed to extract model data s3://models/text/minilm.tar.gz: "
    with pytest.raises(ApiError, match=f"^{start}.*{reason}") as refused:
        fetch(s3, content, tmp_path / "model")
    assert refused.value.code == "ValidationError"
    assert str(tmp_path) not in refused.value.message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["modèle/数.bin", "/".join(["a"] * 512), "\udcff/no-utf-8"])
def test_unusual_member_names_are_unpacked(s3: Any, tmp_path: Path, name: str) -> None:
    fetch(s3, tar_gz({name: b"1"}), tmp_path / "model")
    assert files_below(tmp_path / "model") == {name: b"1"}


def test_number_of_members_is_limited(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBERS", 2)
    fetch(s3, tar_gz({"a": b"", "b": b""}), tmp_path / "two")
    with pytest.raises(ApiError, match="more than 2 members"):
        fetch(s3, tar_gz({"a": b"", "b": b"", "c": b""}), tmp_path / "three")
    assert [path.name for path in tmp_path.iterdir()] == ["two"]


def test_unpacked_size_is_limited_by_disk_space(s3: Any, tmp_path: Path) -> None:
    fetch(s3, tar_gz({"zeros": bytes(1 << 20)}), tmp_path / "fits")
    with pytest.raises(ApiError, match="No space left on device: more than 1048576 bytes"):
        fetch(s3, tar_gz({"zeros": bytes((1 << 20) + 1)}), tmp_path / "does not")
    assert [path.name for path in tmp_path.iterdir()] == ["fits"]


def test_slow_download_ends_at_the_timeout(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the archive is small: it is unpacked by one read."""
    monkeypatch.setattr(time, "monotonic", count().__next__)

    class SlowBody(io.BytesIO):
        def readinto(self, buffer: Any, /) -> int:
            return super().readinto(memoryview(buffer)[:1])

    body = SlowBody(GOOD)
    s3.get_object = lambda **_: {"Body": body, "ContentLength": 1, "ETag": ""}
    message = "extract model data .*: it takes longer than ModelDataDownloadTimeoutInSeconds"
    with pytest.raises(ApiError, match=message):
        archives.fetch(s3, to=tmp_path / "model", seconds=10, **LOCATION)
    assert body.tell() == 10
    assert files_below(tmp_path) == {}


def test_compression_bomb_is_refused(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MIN_BOMB_BYTES", 100_000)
    fetch(s3, tar_gz({"zeros": bytes(100_000)}), tmp_path / "small")
    fetch(s3, tar_gz({"noise": os.urandom(100_001)}), tmp_path / "packed")
    with pytest.raises(ApiError, match="the archive unpacks to more than 100000 bytes") as refused:
        fetch(s3, tar_gz({"zeros": bytes(60_000), "more": bytes(40_001)}), tmp_path / "bomb")
    assert refused.value.code == "ValidationError"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["packed", "small"]


def test_no_file_is_written_through_a_redirected_link(s3: Any, tmp_path: Path) -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, target in (("out", "a/here/../.."), ("a/here", "."), ("out/file", "")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE if target else tarfile.REGTYPE, target
            archive.addfile(member)
    with pytest.raises(ApiError, match="'out/file' is below a link that leads outside the archive"):
        fetch(s3, gzip.compress(content.getvalue()), tmp_path / "model")
    assert not (tmp_path / "file").exists()


def test_no_file_is_written_through_links_beyond_path_max(s3: Any, tmp_path: Path) -> None:
    # CVE-2025-4517: os.path.realpath stops at PATH_MAX; the kernel follows longer link chains.
    folder, content = "d" * 247, io.BytesIO()
    short: list[str] = []
    with tarfile.open(fileobj=content, mode="w") as archive:

        def add(name: str, kind: bytes, target: str = "") -> None:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            archive.addfile(member)

        for letter in "abcdefghijklmnop":
            add("/".join([*short, folder]), tarfile.DIRTYPE)
            add("/".join([*short, letter]), tarfile.SYMTYPE, folder)
            short.append(letter)
        long = "/".join([*short, "l" * 254])
        add(long, tarfile.SYMTYPE, "../" * 16)
        add("escape", tarfile.SYMTYPE, f"{long}/../../outside")
        add("escape/file", tarfile.REGTYPE)
    (tmp_path / "outside").mkdir()
    with pytest.raises(ApiError, match="Failed to extract model data"):
        fetch(s3, gzip.compress(content.getvalue()), tmp_path / "model")
    assert not list((tmp_path / "outside").iterdir())


def test_unchanged_archive_is_not_unpacked_again(s3: Any, tmp_path: Path) -> None:
    s3.objects["models", "text/minilm.tar.gz"] = tar_gz(ENSEMBLE)
    first = archives.fetch(s3, to=tmp_path / "model", **LOCATION)
    (tmp_path / "model" / "mine").touch()
    assert archives.fetch(s3, to=tmp_path / "model", previous=first, **LOCATION) == first
    assert (tmp_path / "model" / "mine").exists()
    s3.objects["models", "text/minilm.tar.gz"] = tar_gz({"other": b"1"})
    assert archives.fetch(s3, to=tmp_path / "model", previous=first, **LOCATION).size == 1
    assert files_below(tmp_path / "model") == {"other": b"1"}


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_link_inside_the_archive_is_kept(s3: Any, tmp_path: Path, kind: bytes) -> None:
    fetch(s3, special(kind, "weights"), tmp_path / "model")
    assert files_below(tmp_path / "model") == {"weights": b"1", "other": b"1"}


def test_padding_after_the_archive_is_read_and_checked(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "BUFFER_BYTES", 512)
    padded = gzip.compress(gzip.decompress(tar_gz({"a": b"1"})) + bytes(1 << 16))
    fetch(s3, padded, tmp_path / "model")
    with pytest.raises(ApiError, match="Compressed file ended"):
        fetch(s3, padded[:-1], tmp_path / "other")


class FailingBody(io.BytesIO):
    """A body whose last read raises an error."""

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
def test_failed_download_leaves_no_files(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    body = FailingBody(GOOD[:20_000], error)
    monkeypatch.setattr(s3, "get_object", lambda **_: {"Body": body})
    with pytest.raises(ApiError, match="Failed to extract model data") as refused:
        archives.fetch(s3, to=tmp_path / "model", **LOCATION)
    assert refused.value.__cause__ is error
    assert list(tmp_path.iterdir()) == []


def test_unreachable_s3_is_a_failed_download(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(**_: Any) -> None:
        raise EndpointConnectionError(endpoint_url="http://127.0.0.1:1")

    monkeypatch.setattr(s3, "get_object", unreachable)
    with pytest.raises(ApiError, match=r"Failed to download .*http://127\.0\.0\.1:1"):
        archives.fetch(s3, to=tmp_path / "model", **LOCATION)


def test_incomplete_model_has_a_temporary_name(s3: Any, tmp_path: Path) -> None:
    folder_existed = []

    class Body(io.BytesIO):
        def readinto(self, buffer: Any, /) -> int:
            folder_existed.append((tmp_path / "model").exists())
            return super().readinto(buffer)

    s3.get_object = lambda **_: {"Body": Body(GOOD), "ContentLength": 1, "ETag": ""}
    archives.fetch(s3, to=tmp_path / "model", **LOCATION)
    assert folder_existed
    assert not any(folder_existed)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
