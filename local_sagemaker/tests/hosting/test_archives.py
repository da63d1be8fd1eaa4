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

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting import archives
from local_sagemaker.tests.hosting.conftest import tar_gz
from local_sagemaker.tests.support.fake_s3 import FakeS3

ENSEMBLE = {"minilm/config.pbtxt": b'platform: "ensemble"', "encoder/1/model.onnx": bytes(3000)}


PLACE: Any = {"bucket": "models", "key": "text/minilm.tar.gz", "limit": 1 << 20}


def fetch(s3: Any, content: bytes | None, to: Path, **more: Any) -> None:
    if content is not None:
        s3.objects["models", "text/minilm.tar.gz"] = content
    archives.fetch(s3, to=to, **{**PLACE, **more})


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_an_archive_becomes_the_folder_that_was_packed(s3: Any, tmp_path: Path) -> None:
    fetch(s3, tar_gz(ENSEMBLE), tmp_path / "a" / "model")
    assert files_below(tmp_path / "a" / "model") == ENSEMBLE
    assert s3.downloads == [("models", "text/minilm.tar.gz")]


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


@pytest.mark.parametrize("name", ["../outside", "a/../../outside", "a/../inside", ".."])
def test_an_archive_that_climbs_out_of_its_folder_is_refused(
    s3: Any, tmp_path: Path, name: str
) -> None:
    with pytest.raises(ApiError, match=f"'{name}' has a path with .. in it"):
        fetch(s3, tar_gz({"a/inside": b"1", name: b"2"}), tmp_path / "a" / "model")
    assert files_below(tmp_path) == {}


def test_an_absolute_path_is_refused_by_its_name(s3: Any, tmp_path: Path) -> None:
    with pytest.raises(ApiError, match=r"Failed to extract .*'/etc/model' has an absolute path"):
        fetch(s3, tar_gz({"inside": b"1", "/etc/model": b"2"}), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("/".join(["a"] * 513), r"'a/a/a\S+\.\.\.' has a path of more than 1024 bytes"),
        ("é" * 513, r"'é{30}\.\.\.' has a path of more than 1024 bytes"),
        ("a" * 300, "File name too long"),
    ],
)
def test_a_name_that_no_disk_takes_is_refused(
    s3: Any, tmp_path: Path, name: str, reason: str
) -> None:
    with pytest.raises(ApiError, match=f"Failed to extract model data .*{reason}"):
        fetch(s3, tar_gz({name: b""}), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["modèle/数.bin", "/".join(["a"] * 512), "\udcff/no-utf-8"])
def test_names_of_any_language_and_depth_are_taken(s3: Any, tmp_path: Path, name: str) -> None:
    fetch(s3, tar_gz({name: b"1"}), tmp_path / "model")
    assert files_below(tmp_path / "model") == {name: b"1"}


def test_more_members_than_a_model_has_are_refused(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MEMBERS", 2)
    fetch(s3, tar_gz({"a": b"", "b": b""}), tmp_path / "two")
    with pytest.raises(ApiError, match="more than 2 members"):
        fetch(s3, tar_gz({"a": b"", "b": b"", "c": b""}), tmp_path / "three")
    assert [path.name for path in tmp_path.iterdir()] == ["two"]


def test_more_bytes_than_there_is_room_for_are_not_written(s3: Any, tmp_path: Path) -> None:
    fetch(s3, tar_gz({"zeros": bytes(1 << 20)}), tmp_path / "fits")
    with pytest.raises(ApiError, match="No space left on device: more than 1048576 bytes"):
        fetch(s3, tar_gz({"zeros": bytes((1 << 20) + 1)}), tmp_path / "does not")
    assert [path.name for path in tmp_path.iterdir()] == ["fits"]


def test_a_bomb_is_refused_before_it_is_unpacked(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "LEAST_BOMB_BYTES", 100_000)
    fetch(s3, tar_gz({"zeros": bytes(100_000)}), tmp_path / "small")
    fetch(s3, tar_gz({"noise": os.urandom(100_001)}), tmp_path / "packed")
    with pytest.raises(ApiError, match="a bomb: it unpacks to more than 100000 bytes") as refused:
        fetch(s3, tar_gz({"zeros": bytes(60_000), "more": bytes(40_001)}), tmp_path / "bomb")
    assert refused.value.code == "ValidationError"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["packed", "small"]


def test_two_gigabytes_of_zeros_are_refused_by_their_header(s3: Any, tmp_path: Path) -> None:
    member = tarfile.TarInfo("zeros")
    member.size = 2 << 30  # of which none is there, nor asked for
    with pytest.raises(ApiError, match="a bomb: it unpacks to more than 1073741824 bytes"):
        fetch(s3, gzip.compress(member.tobuf()), tmp_path / "bomb", limit=30 << 30)


def test_what_is_wrong_names_no_folder_of_this_machine(s3: Any, tmp_path: Path) -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, target in (("here", "."), ("here/up", "..")):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
    for bad in (gzip.compress(content.getvalue()), tar_gz({"a" * 300: b""})):
        with pytest.raises(ApiError) as refused:
            fetch(s3, bad, tmp_path / "model")
        assert str(tmp_path) not in refused.value.message


def test_no_file_is_written_below_a_link_that_a_later_link_leads_out(
    s3: Any, tmp_path: Path
) -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, target in (("out", "a/here/../.."), ("a/here", "."), ("out/file", "")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE if target else tarfile.REGTYPE, target
            archive.addfile(member)
    with pytest.raises(ApiError, match="'out/file' is below a link that leads outside the archive"):
        fetch(s3, gzip.compress(content.getvalue()), tmp_path / "model")
    assert not (tmp_path / "file").exists()


def test_no_file_is_written_through_links_that_are_longer_than_the_longest_path(
    s3: Any, tmp_path: Path
) -> None:
    # CVE-2025-4517: os.path.realpath follows no link beyond PATH_MAX, and the system does.
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


def test_an_archive_that_is_known_is_not_unpacked_again(s3: Any, tmp_path: Path) -> None:
    s3.objects["models", "text/minilm.tar.gz"] = tar_gz(ENSEMBLE)
    first = archives.fetch(s3, to=tmp_path / "model", **PLACE)
    (tmp_path / "model" / "mine").touch()
    assert archives.fetch(s3, to=tmp_path / "model", known=first, **PLACE) == first
    assert (tmp_path / "model" / "mine").exists()
    s3.objects["models", "text/minilm.tar.gz"] = tar_gz({"other": b"1"})
    assert archives.fetch(s3, to=tmp_path / "model", known=first, **PLACE).size == 1
    assert files_below(tmp_path / "model") == {"other": b"1"}


def special(kind: bytes, target: str = "") -> bytes:
    """Return an archive of a file `weights`, and of `other` that is no file."""
    content = io.BytesIO(gzip.decompress(tar_gz({"weights": b"1"})))
    with tarfile.open(fileobj=content, mode="a") as archive:
        other = tarfile.TarInfo("other")
        other.type, other.linkname = kind, target
        archive.addfile(other)
    return gzip.compress(content.getvalue())


@pytest.mark.parametrize(
    ("kind", "target", "reason"),
    [
        pytest.param(tarfile.SYMTYPE, "/etc/passwd", "'other' is a link to '/etc", id="absolute"),
        pytest.param(tarfile.SYMTYPE, "../..", "'other' is a link .* leads outside", id="outside"),
        pytest.param(tarfile.LNKTYPE, "../../a", "'other' is a link .* leads outside", id="hard"),
        pytest.param(tarfile.LNKTYPE, "absent", "linkname 'absent' not found", id="hard to none"),
        pytest.param(tarfile.LNKTYPE, "other", "linkname 'other' not found", id="hard to itself"),
        pytest.param(
            tarfile.CHRTYPE, "", "'other' is not a file, folder or", id="character device"
        ),
        pytest.param(tarfile.BLKTYPE, "", "'other' is not a file, folder or", id="block device"),
        pytest.param(tarfile.FIFOTYPE, "", "'other' is not a file, folder or", id="fifo"),
    ],
)
def test_what_no_model_is_made_of_is_refused_by_its_name(
    s3: Any, tmp_path: Path, kind: bytes, target: str, reason: str
) -> None:
    with pytest.raises(ApiError, match=f"Failed to extract model data .*{reason}"):
        fetch(s3, special(kind, target), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_link_inside_the_folder_is_taken(s3: Any, tmp_path: Path, kind: bytes) -> None:
    fetch(s3, special(kind, "weights"), tmp_path / "model")
    assert files_below(tmp_path / "model") == {"weights": b"1", "other": b"1"}


def test_the_last_of_equal_names_is_taken_and_all_of_them_count(s3: Any, tmp_path: Path) -> None:
    twice = gzip.decompress(tar_gz({"a": b"first"}))[:1024]  # without the end
    s3.objects["models", "text/minilm.tar.gz"] = gzip.compress(
        twice + gzip.decompress(tar_gz({"a": b"last"}))
    )
    assert archives.fetch(s3, to=tmp_path / "model", **PLACE).size == 9
    assert files_below(tmp_path / "model") == {"a": b"last"}


def test_one_name_of_a_file_and_a_folder_is_refused(s3: Any, tmp_path: Path) -> None:
    with pytest.raises(ApiError, match="Not a directory"):
        fetch(s3, tar_gz({"a": b"1", "a/b": b"2"}), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_header_that_cannot_be_read_is_not_the_end(s3: Any, tmp_path: Path) -> None:
    whole = gzip.decompress(tar_gz({"a": b"1", "b": b"2"}))
    broken = whole[:1024] + b"\xff" + whole[1025:]  # the name of the second member
    with pytest.raises(ApiError, match="a header cannot be read, after which more follows"):
        fetch(s3, gzip.compress(broken), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_padding_after_the_end_is_read_and_checked(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "BUFFER_BYTES", 512)
    padded = gzip.compress(gzip.decompress(tar_gz({"a": b"1"})) + bytes(1 << 16))
    fetch(s3, padded, tmp_path / "model")
    with pytest.raises(ApiError, match="Compressed file ended"):
        fetch(s3, padded[:-1], tmp_path / "other")


def test_an_archive_of_nothing_is_an_empty_folder(s3: Any, tmp_path: Path) -> None:
    fetch(s3, tar_gz({}), tmp_path / "model")
    assert list((tmp_path / "model").iterdir()) == []


class BreakingOff(io.BytesIO):
    """A body whose connection is lost, or whose gzip data is beyond repair."""

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
    observed = []

    class Body(io.BytesIO):
        def readinto(self, buffer: Any, /) -> int:
            observed.append((tmp_path / "model").exists())
            return super().readinto(buffer)

    s3.get_object = lambda **_: {"Body": Body(GOOD), "ContentLength": 1, "ETag": ""}
    archives.fetch(s3, to=tmp_path / "model", **PLACE)
    assert observed
    assert not any(observed)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
