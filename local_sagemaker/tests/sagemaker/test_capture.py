"""Data capture: the encoding of captured bodies."""

import json
from typing import Any
from unittest.mock import Mock

import pytest

from local_sagemaker.sagemaker.capture import CapturedInvocation, CaptureWriter

JSON_AND_CSV = {"JsonContentTypes": ["application/json"], "CsvContentTypes": ["text/csv"]}


@pytest.mark.parametrize(
    ("headers", "content_type", "content", "encoding", "data"),
    [
        ({}, "application/json", b"[1]", "BASE64", "WzFd"),
        ({"CaptureContentTypeHeader": JSON_AND_CSV}, "application/json", b"[1]", "JSON", "[1]"),
        ({"CaptureContentTypeHeader": JSON_AND_CSV}, "text/csv; header=no", b"1,2", "CSV", "1,2"),
        ({"CaptureContentTypeHeader": JSON_AND_CSV}, "image/png", b"[1]", "BASE64", "WzFd"),
        ({"CaptureContentTypeHeader": JSON_AND_CSV}, "text/csv", b"\xff", "BASE64", "/w=="),
    ],
)
def test_captured_body(
    headers: dict[str, Any], content_type: str, content: bytes, encoding: str, data: str
) -> None:
    s3 = Mock()
    invocation = CapturedInvocation({b"content-type": content_type.encode()}, Mock(), Mock())
    invocation.input += content
    config = {
        "DestinationS3Uri": "s3://bucket/captured",
        "CaptureOptions": [{"CaptureMode": "Input"}],
        **headers,
    }
    writer = CaptureWriter(s3)
    writer.write(config, "shop", "AllTraffic", invocation)
    writer.stop()
    line = json.loads(s3.put_object.call_args.kwargs["Body"])
    assert line["captureData"] == {
        "endpointInput": {
            "observedContentType": content_type,
            "mode": "INPUT",
            "data": data,
            "encoding": encoding,
        }
    }
