"""Data capture: what went through an endpoint, as JSON lines in a bucket.

Sources: the API reference of DataCaptureConfig, and the developer guide, "Capture data from
real-time endpoint", for the path below the destination and for the members of a line. How a file is
named, and how many lines it has, is not said there.
"""

import base64
import json
import logging
import queue
import random
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from local_sagemaker.hosting.archives import S3Prefix
from local_sagemaker.hosting.invocation import Invocation, Receive, Send

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Record = dict[str, Any]

_SIDES: dict[str, tuple[str, ...]] = {
    "Input": ("endpointInput",),
    "Output": ("endpointOutput",),
    "InputAndOutput": ("endpointInput", "endpointOutput"),
}

_log = logging.getLogger(__name__)


class Captured(Invocation):
    """An invocation that keeps what went through it."""

    def __init__(self, headers: Mapping[bytes, bytes], receive: Receive, send: Send) -> None:
        super().__init__(headers, receive, send)
        self.input, self.output = bytearray(), bytearray()
        self.output_type = ""

    async def receive_part(self) -> bytes:
        """Keep a part of the request."""
        part = await super().receive_part()
        self.input += part
        return part

    async def begin_answer(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Keep the answer's type."""
        self.output_type = dict(headers).get(b"content-type", b"").decode("latin-1")
        await super().begin_answer(headers)

    async def send_part(self, part: bytes, *, more: bool) -> None:
        """Keep a part of the answer."""
        self.output += part
        await super().send_part(part, more=more)


@dataclass(frozen=True)
class _Line:
    config_key: str  # of KMS, or nothing
    bucket: str
    folder: str
    text: str


class Recorder:
    """Writes what was captured on a thread of its own, as many lines to a file as are waiting."""

    def __init__(self, s3: "S3Client") -> None:
        self._s3 = s3
        self._lines: queue.SimpleQueue[_Line | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def keep(self, config: Record, endpoint: str, variant: str, captured: Captured) -> None:
        """Write an invocation that was answered below the destination of a DataCaptureConfig."""
        now = datetime.now(UTC)
        destination = S3Prefix.parse(config["DestinationS3Uri"].rstrip("/"))
        folder = "/".join([destination.key, endpoint, variant, now.strftime("%Y/%m/%d/%H")])
        sides = {side for it in config["CaptureOptions"] for side in _SIDES[it["CaptureMode"]]}
        data = {
            "endpointInput": _side("INPUT", captured.content_type, captured.input),
            "endpointOutput": _side("OUTPUT", captured.output_type, captured.output),
        }
        metadata = {"eventId": str(uuid.uuid4()), "inferenceTime": now.strftime("%FT%TZ")}
        if captured.inference_id:
            metadata["inferenceId"] = captured.inference_id
        line = {
            "captureData": {side: data[side] for side in data if side in sides},
            "eventMetadata": metadata,
            "eventVersion": "0",
        }
        self._lines.put(
            _Line(
                config.get("KmsKeyId", ""),
                destination.bucket,
                folder.lstrip("/"),
                json.dumps(line) + "\n",
            )
        )

    def stop(self) -> None:
        """Write what is waiting, and end."""
        self._lines.put(None)
        self._thread.join()

    def _write(self) -> None:
        going_on = True
        while going_on:
            waiting = [self._lines.get()]
            while not self._lines.empty():
                waiting.append(self._lines.get())
            going_on = None not in waiting
            lines = [it for it in waiting if it]
            for (key, bucket, folder), found in groupby(sorted(lines, key=_place), key=_place):
                self._put(key, bucket, folder, "".join(it.text for it in found))

    def _put(self, key: str, bucket: str, folder: str, text: str) -> None:
        name = f"{folder}/{datetime.now(UTC).strftime('%M-%S')}-{uuid.uuid4()}.jsonl"
        encryption: Any = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": key} if key else {}
        try:
            self._s3.put_object(Bucket=bucket, Key=name, Body=text.encode(), **encryption)
        except (BotoCoreError, ClientError) as error:
            _log.warning("captured data was not written to s3://%s/%s: %s", bucket, name, error)


def chosen(config: Record) -> bool:
    """Whether the next invocation is captured."""
    enabled: bool = config.get("EnableCapture", True)  # "defaults to enabled"
    return enabled and random.random() * 100 < config["InitialSamplingPercentage"]


def _place(line: _Line) -> tuple[str, str, str]:
    return line.config_key, line.bucket, line.folder


def _side(mode: str, content_type: str, content: bytearray) -> Record:
    """Return one side of a line; other encodings than Base64 are for types that are named."""
    return {
        "observedContentType": content_type,
        "mode": mode,
        "data": base64.b64encode(content).decode(),
        "encoding": "BASE64",
    }
