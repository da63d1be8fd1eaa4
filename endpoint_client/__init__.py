"""Invoke a model of a Triton endpoint by its name.

    with EndpointClient(stage="prod", endpoint="text") as client:
        embeddings = client.invoke("minilm", {"TEXT": ["one sentence", "another"]})["EMBEDDING"]

`AsyncEndpointClient(client)` does the same for asyncio.

Errors, which have `status`, `request_id` and `retry_safe`:

    EndpointError         AWS refused the request for another reason
    ├── InvalidInput      the request does not fit the model's signature; nothing was sent
    ├── UnknownModel      the catalog has no model of that name; nothing was sent
    ├── NotSent           no connection in time, or no catalog: nothing was sent (*)
    ├── Throttled         the account sends too many requests (*)
    ├── ModelNotReady     the model is still loading (*)
    ├── NoCapacity        no instance is in service, or Triton's queue is full (*)
    │   └── NoCopies      the inference component has no copy in service (*)
    ├── ModelFailed       Triton refused the request, or the model failed: Triton's words
    ├── NoResponse        sent, and not answered: a time-out, or the connection broke
    └── PartlyFailed      some rows of invoke_many failed: errors and outputs by row

(*) The model has not seen the request: `retry_safe` is true, and the client has sent it again, up
to `max_attempts` times and as its retry budget allows. Not where that is in vain: for want of
credentials, say, and after `NoCopies` only for `wait_until_ready` seconds.
"""

from endpoint_client._asyncio import AsyncEndpointClient
from endpoint_client._catalog import CatalogEntry, Tensor
from endpoint_client._client import EndpointClient, ModelCall
from endpoint_client._errors import (
    EndpointError,
    InvalidInput,
    ModelFailed,
    ModelNotReady,
    NoCapacity,
    NoCopies,
    NoResponse,
    NotSent,
    PartlyFailed,
    Throttled,
    UnknownModel,
)

__all__ = [
    "AsyncEndpointClient",
    "CatalogEntry",
    "EndpointClient",
    "EndpointError",
    "InvalidInput",
    "ModelCall",
    "ModelFailed",
    "ModelNotReady",
    "NoCapacity",
    "NoCopies",
    "NoResponse",
    "NotSent",
    "PartlyFailed",
    "Tensor",
    "Throttled",
    "UnknownModel",
]
