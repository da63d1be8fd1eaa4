"""Server-sent events, as a model that generates answers with them."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from endpoint_client._errors import ModelFailed, NoResponse


def events(subject: str, parts: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the events of a body, each of which may begin in one part and end in another.

    Raises `ModelFailed` for an error among them or a body of something else, and `NoResponse` for
    one that ends within an event.
    Source: triton-inference-server/server, src/http_server.cc, `data: {...}` and a blank line.
    """
    text = b""
    for part in parts:
        *complete, text = (text + part).split(b"\n\n")
        for event in complete:
            try:
                content = json.loads(event.removeprefix(b"data:"))
            except (ValueError, RecursionError) as error:
                raise ModelFailed(f"{subject}: invalid stream of Triton: {error!r}") from error
            if not isinstance(content, dict):
                raise ModelFailed(f"{subject}: invalid stream of Triton: {content!r}")
            if "error" in content:
                raise ModelFailed(f"{subject}: {content['error']}")
            yield content
    if text:
        raise NoResponse(f"{subject}: the stream ended within an event")
