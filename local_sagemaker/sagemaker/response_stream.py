"""InvokeEndpointWithResponseStream: a response as `application/vnd.amazon.eventstream`.

Source: botocore's model of the operation, and botocore/eventstream.py for the message format.
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
"""Type of a header value in the event stream format."""


class StreamedInvocation(Invocation):
    """An invocation whose response parts are sent as events, as soon as they arrive."""

    timeout_seconds = 480.0  # source: Amazon SageMaker AI FAQs, hosting: 8 minutes

    async def start_response(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Start a successful response."""
        own = [(_RENAMED.get(name, name), value) for name, value in headers if name != _DROPPED]
        await super().start_response([(b"content-type", CONTENT_TYPE), *own])

    async def send_chunk(self, part: bytes, *, more: bool) -> None:
        """Send a part of the response as a PayloadPart event."""
        await super().send_chunk(message("event", "PayloadPart", part) if part else b"", more=more)

    async def abort_response(self, error: ApiError) -> None:
        """End a started response with a ModelStreamError."""
        timed_out = error.fields.get("OriginalStatusCode") == 0
        code = "ModelInvocationTimeExceeded" if timed_out else "StreamBroken"
        words = f"{code}: {error.message}"  # botocore only shows the message
        body = json.dumps({"Message": words, "ErrorCode": code}).encode()
        await super().send_chunk(message("exception", "ModelStreamError", body), more=False)


def message(kind: str, name: str, payload: bytes) -> bytes:
    """Return an event stream message; `kind` is event or exception, `name` is its type."""
    headers = {":message-type": kind, f":{kind}-type": name}
    packed = b"".join(
        pack("!B", len(name)) + name.encode() + pack("!BH", _STRING, len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = pack("!II", 16 + len(packed) + len(payload), len(packed))
    checked = prelude + pack("!I", crc32(prelude)) + packed + payload
    return checked + pack("!I", crc32(checked))
