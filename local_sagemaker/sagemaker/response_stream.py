"""InvokeEndpointWithResponseStream: a response as `application/vnd.amazon.eventstream`.

Source: botocore's model of the operation, and botocore/eventstream.py for the message format.
"""

import json
from binascii import crc32
from struct import pack

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.invocation import Invocation

CONTENT_TYPE = b"application/vnd.amazon.eventstream"
_STRING_TYPE = 7
"""Type of a header value in the event stream format."""


class StreamedInvocation(Invocation):
    """An invocation whose response parts are sent as events, as soon as they arrive."""

    timeout_seconds = 480.0  # source: Amazon SageMaker AI FAQs, hosting: 8 minutes

    async def start_response(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Start a successful response."""
        container_headers = {**dict(headers), b"content-type": CONTENT_TYPE}
        container_headers.pop(b"content-length", None)
        if content_type := dict(headers).get(b"content-type"):
            container_headers[b"x-amzn-sagemaker-content-type"] = content_type
        await super().start_response([*container_headers.items()])

    async def send_chunk(self, chunk: bytes, *, more: bool) -> None:
        """Send a chunk of the response as a PayloadPart event."""
        event = encode_event("event", "PayloadPart", chunk) if chunk else b""
        await super().send_chunk(event, more=more)

    async def abort_response(self, error: ApiError) -> None:
        """End a started response with a ModelStreamError."""
        timed_out = error.fields.get("OriginalStatusCode") == 0
        code = "ModelInvocationTimeExceeded" if timed_out else "StreamBroken"
        message = f"{code}: {error.message}"  # botocore shows the message without the code
        body = json.dumps({"Message": message, "ErrorCode": code}).encode()
        await super().send_chunk(encode_event("exception", "ModelStreamError", body), more=False)


def encode_event(message_type: str, name: str, payload: bytes) -> bytes:
    """Return a message of the event stream format; `message_type` is event or exception."""
    headers = {":message-type": message_type, f":{message_type}-type": name}
    packed_headers = b"".join(
        pack("!B", len(name))
        + name.encode()
        + pack("!BH", _STRING_TYPE, len(value))
        + value.encode()
        for name, value in headers.items()
    )
    prelude = pack("!II", 16 + len(packed_headers) + len(payload), len(packed_headers))
    message = prelude + pack("!I", crc32(prelude)) + packed_headers + payload
    return message + pack("!I", crc32(message))
