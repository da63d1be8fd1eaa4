"""Data capture: requests and responses of an endpoint as JSON lines in a bucket.

Sources: the API reference of DataCaptureConfig, and the developer guide, "Capture data from
real-time endpoint", for the path below the destination and the members of a line. File names and
the number of lines per file are not documented.
"""

import base64
import json
import logging
import random
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from local_sagemaker.hosting.archives import S3Prefix
from local_sagemaker.hosting.invocation import Invocation, Receive, Send

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Record = dict[str, Any]

_CAPTURED_MEMBERS: dict[str, tuple[str, ...]] = {
    "Input": ("endpointInput",),
    "Output": ("endpointOutput",),
    "InputAndOutput": ("endpointInput", "endpointOutput"),
}

_log = logging.getLogger(__name__)


class CapturedInvocation(Invocation):
    """An invocation that stores its request and response."""

    def __init__(self, headers: Mapping[bytes, bytes], receive: Receive, send: Send) -> None:
        super().__init__(headers, receive, send)
        self.input, self.output = bytearray(), bytearray()
        self.output_type = ""

    async def receive_chunk(self) -> bytes:
        """Store a chunk of the request."""
        chunk = await super().receive_chunk()
        self.input += chunk
        return chunk

    async def start_response(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Store the response's content type."""
        self.output_type = dict(headers).get(b"content-type", b"").decode("latin-1")
        await super().start_response(headers)

    async def send_chunk(self, chunk: bytes, *, more: bool) -> None:
        """Store a chunk of the response."""
        self.output += chunk
        await super().send_chunk(chunk, more=more)


class CaptureWriter:
    """A background thread that writes each captured invocation into a file in S3."""

    def __init__(self, s3: "S3Client") -> None:
        self._s3 = s3
        self._writer = ThreadPoolExecutor(1)

    def write(
        self, config: Record, endpoint: str, variant: str, invocation: CapturedInvocation
    ) -> None:
        """Queue an invocation, to be written below the destination of a DataCaptureConfig."""
        now = datetime.now(UTC)
        members = {
            member
            for option in config["CaptureOptions"]
            for member in _CAPTURED_MEMBERS[option["CaptureMode"]]
        }
        data = {
            "endpointInput": _captured_body(
                "INPUT", invocation.content_type, invocation.input, config
            ),
            "endpointOutput": _captured_body(
                "OUTPUT", invocation.output_type, invocation.output, config
            ),
        }
        metadata = {"eventId": str(uuid.uuid4()), "inferenceTime": now.strftime("%FT%TZ")}
        if invocation.inference_id:
            metadata["inferenceId"] = invocation.inference_id
        line = {
            "captureData": {name: data[name] for name in data if name in members},
            "eventMetadata": metadata,
            "eventVersion": "0",
        }
        name = f"{endpoint}/{variant}/{now:%Y/%m/%d/%H/%M-%S}-{uuid.uuid4()}.jsonl"
        self._writer.submit(self._put, config, name, json.dumps(line) + "\n")

    def stop(self) -> None:
        """Write the queued files, and end the thread."""
        self._writer.shutdown()

    def _put(self, config: Record, name: str, line: str) -> None:
        destination = S3Prefix.parse(config["DestinationS3Uri"].rstrip("/"))
        key = f"{destination.key}/{name}".lstrip("/")
        encryption: Any = {}
        if "KmsKeyId" in config:
            encryption = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": config["KmsKeyId"]}
        try:
            self._s3.put_object(
                Bucket=destination.bucket, Key=key, Body=line.encode(), **encryption
            )
        except (BotoCoreError, ClientError) as error:
            _log.warning(
                "captured data was not written to s3://%s/%s: %s", destination.bucket, key, error
            )


def is_sampled(config: Record) -> bool:
    """Return whether to capture an invocation; decided at random (InitialSamplingPercentage)."""
    enabled: bool = config.get("EnableCapture", True)  # "defaults to enabled"
    return enabled and random.random() * 100 < config["InitialSamplingPercentage"]


def _captured_body(mode: str, content_type: str, content: bytearray, config: Record) -> Record:
    """Return the body of a request or response as a member of captureData.

    The data is text if CaptureContentTypeHeader names its content type; "if no headers are
    specified SageMaker AI will by default base64 encode" (API reference). That parameters of the
    content type (charset) are ignored, and that invalid UTF-8 is encoded too, has no source.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    headers = config.get("CaptureContentTypeHeader", {})
    encoding, data = "BASE64", base64.b64encode(content).decode()
    for text_encoding, member in (("CSV", "CsvContentTypes"), ("JSON", "JsonContentTypes")):
        with suppress(UnicodeDecodeError):
            if media_type in map(str.lower, headers.get(member, [])):
                encoding, data = text_encoding, content.decode()
    return {
        "observedContentType": content_type, "mode": mode, "data": data, "encoding": encoding
    }  # fmt: skip
