"""InvokeEndpointWithResponseStream: an answer as `application/vnd.amazon.eventstream`.

Source: botocore's model of the operation, and botocore/eventstream.py for the bytes of a message.
"""

import json
from binascii import crc32
from struct import pack

from local_sagemaker.hosting.invocation import Invocation

CONTENT_TYPE = b"application/vnd.amazon.eventstream"
_RENAMED = {b"content-type": b"x-amzn-sagemaker-content-type"}
_DROPPED = b"content-length"


class StreamedInvocation(Invocation):
    """An invocation whose answer is sent part by part, each as soon as the container sent it."""

    async def begin_answer(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Begin the answer of a success."""
        own = [(_RENAMED.get(name, name), it) for name, it in headers if name != _DROPPED]
        await super().begin_answer([(b"content-type", CONTENT_TYPE), *own])

    async def send_part(self, part: bytes, *, more: bool) -> None:
        """Send a part of the answer as a PayloadPart."""
        event = {":message-type": "event", ":event-type": "PayloadPart"}
        octets = {":content-type": "application/octet-stream"}
        await super().send_part(message({**event, **octets}, part) if part else b"", more=more)

    async def break_off(self, code: str, text: str) -> None:
        """End an answer that has begun with an error among its parts."""
        exception = {":message-type": "exception", ":exception-type": "ModelStreamError"}
        body = json.dumps({"Message": text, "ErrorCode": code}).encode()
        headers = {**exception, ":content-type": "application/json"}
        await super().send_part(message(headers, body), more=False)


def message(headers: dict[str, str], payload: bytes) -> bytes:
    """Return a message of an event stream; all headers are strings."""
    packed = b"".join(
        pack(
            f"!B{len(name)}sBH{len(value)}s",
            len(name),
            name.encode(),
            7,
            len(value),
            value.encode(),
        )
        for name, value in headers.items()
    )
    prelude = pack("!II", 16 + len(packed) + len(payload), len(packed))
    checked = prelude + pack("!I", crc32(prelude)) + packed + payload
    return checked + pack("!I", crc32(checked))
