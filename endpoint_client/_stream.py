"""Reader of Triton's server-sent events."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from endpoint_client._errors import ModelFailed, NoResponse


def parse_events(subject: str, chunks: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the events of a body; the boundaries of chunks are independent of the events.

    Raises `ModelFailed` for an error event or invalid content, and `NoResponse` if the body ends
    within an event. Source: triton-inference-server/server, src/http_server.cc, `data: {...}` and a
    blank line.
    """
    incomplete_event = b""
    for chunk in chunks:
        *complete_events, incomplete_event = (incomplete_event + chunk).split(b"\n\n")
        for event in complete_events:
            try:
                content = json.loads(event.removeprefix(b"data:"))
            except (ValueError, RecursionError) as error:
                raise ModelFailed(f"{subject}: invalid stream from Triton: {error!r}") from error
            if not isinstance(content, dict):
                raise ModelFailed(f"{subject}: invalid stream from Triton: {content!r}")
            if "error" in content:
                raise ModelFailed(f"{subject}: {content['error']}")
            yield content
    if incomplete_event:
        raise NoResponse(f"{subject}: the stream ended within an event")
