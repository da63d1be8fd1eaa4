"""Number of S3 requests of a model's load."""

import json
from pathlib import Path
from typing import Any

import pytest

from local_sagemaker import serving
from local_sagemaker.tests.support.tiny_models import pack_python, times

ARCHIVE = "times.tar.gz"
TENSOR = {"name": "X", "shape": [1, 1], "datatype": "FP32", "data": [7]}
BODY = json.dumps({"inputs": [TENSOR]}).encode()


def test_archive_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archives = tmp_path / "archives"
    archives.mkdir()
    (archives / ARCHIVE).write_bytes(pack_python(tmp_path / "times", times(2)))
    requests: list[str] = []
    get_object = serving._FakeS3Client.get_object

    def count(self: Any, *, Key: str, **options: str) -> dict[str, Any]:  # noqa: N803
        requests.append(Key)
        return get_object(self, Key=Key, **options)

    monkeypatch.setattr(serving._FakeS3Client, "get_object", count)  # its only operation
    with serving.serve(archives) as triton:
        for _ in range(3):
            triton.invoke(ARCHIVE, BODY, "application/json")
    assert requests == [ARCHIVE]
