"""InvokeEndpointWithResponseStream: an answer as `application/vnd.amazon.eventstream`.

Source: botocore's model of the operation, and botocore/eventstream.py for the bytes of a message.
"""

import json
from binascii import crc32
from struct import pack

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.invocation import Invocation

CONTENT_TYPE = b"application/vnd.amazon.eventstream"
_RENAMED = {b"content-type": b"x-amzn-sagemaker-content-type"}
_DROPPED = b"content-length"
_STRING = 7
"""The type of a header."""


class StreamedInvocation(Invocation):
    """An invocation whose answer is sent part by part, each as soon as the container sent it."""

    most_seconds = 480.0  # source: Amazon SageMaker AI FAQs, hosting: 8 minutes

    async def begin_answer(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Begin the answer of a success."""
        own = [(_RENAMED.get(name, name), value) for name, value in headers if name != _DROPPED]
        await super().begin_answer([(b"content-type", CONTENT_TYPE), *own])

    async def send_part(self, part: bytes, *, more: bool) -> None:
        """Send a part of the answer as a PayloadPart."""
        await super().send_part(message("event", "PayloadPart", part) if part else b"", more=more)

    async def break_off(self, error: ApiError) -> None:
        """End an answer that has begun with an error among its parts."""
        timed_out = error.fields.get("OriginalStatusCode") == 0
        code = "ModelInvocationTimeExceeded" if timed_out else "StreamBroken"
        words = f"{code}: {error.message}"  # botocore shows nothing but the message
        body = json.dumps({"Message": words, "ErrorCode": code}).encode()
        await super().send_part(message("exception", "ModelStreamError", body), more=False)


def message(kind: str, name: str, payload: bytes) -> bytes:
    """Return a message of an event stream: an `event` or an `exception` by its name."""
    headers = {":message-type": kind, f":{kind}-type": name}
    packed = b"".join(
        pack("!B", len(name)) + name.encode() + pack("!BH", _STRING, len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = pack("!II", 16 + len(packed) + len(payload), len(packed))
    checked = prelude + pack("!I", crc32(prelude)) + packed + payload
    return checked + pack("!I", crc32(checked))
