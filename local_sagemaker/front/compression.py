"""Compressed requests.

SDKs compress bodies of operations with the trait requestCompression, such as PutMetricData, from
10 KiB (Smithy 2.0, "requestCompression trait"; botocore, compress.py).
"""

import zlib
from typing import Any

from local_sagemaker.errors import ApiError

MAX_BYTES = 16 << 20
"""Largest body after decompression: AWS documents 1 MB for PutMetricData, and 16 MB for the largest
request that is an operation (DynamoDB's BatchWriteItem)."""
GZIP = 16 + zlib.MAX_WBITS
"""The argument of zlib for the format gzip."""


def decompress(body: bytes) -> bytes:
    """Return the content of a body that is one member in the format gzip. Raise `ApiError`."""
    member = zlib.decompressobj(wbits=GZIP)
    try:
        content = member.decompress(body[: MAX_BYTES + 1], MAX_BYTES + 1)
    except zlib.error as error:
        raise ApiError("SerializationException", f"The body is not gzip: {error}") from None
    if max(len(body), len(content)) > MAX_BYTES:
        message = f"The decompressed body is larger than {MAX_BYTES} bytes: send a smaller request."
        raise ApiError("RequestEntityTooLarge", message, status=413)
    if member.unused_data or not member.eof:
        raise ApiError("SerializationException", "The body is not one whole member of gzip.")
    return content


def with_plain_body(scope: Any, size: int) -> Any:
    """Return an ASGI scope with the headers of a decompressed body."""
    replaced = (b"content-encoding", b"content-length", b"transfer-encoding")
    headers = [item for item in scope["headers"] if item[0] not in replaced]
    return {**scope, "headers": [*headers, (b"content-length", str(size).encode())]}
