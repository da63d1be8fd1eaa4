"""A client that invokes the models of a Triton endpoint by name.

    with EndpointClient(stage="prod", endpoint="text") as client:
        embeddings = client.invoke("minilm", {"TEXT": ["one sentence", "another"]})["EMBEDDING"]

`AsyncEndpointClient(client)` has the same methods for asyncio.

Errors have the attributes `status`, `request_id` and `retry_safe`:

    EndpointError         AWS rejected the request for another reason
    ├── InvalidInput      the request does not fit the model's signature; not sent
    ├── UnknownModel      the catalog has no model of that name; not sent
    ├── NotSent           no connection in time, no credentials, or no catalog (*)
    ├── Throttled         the account sends too many requests (*)
    ├── ModelNotReady     the model is still loading, or Triton does not have it (*)
    ├── NoCapacity        no instance is in service, or Triton's queue is full (*)
    │   └── NoCopies      the inference component has no copy in service (*)
    ├── ModelFailed       Triton rejected the request, or the model failed: Triton's message
    ├── NoResponse        sent, but no complete response: a time-out, or a connection error
    └── PartlyFailed      some rows of invoke_many failed: errors and outputs by row

(*) `retry_safe` is true: the model has not received the request. The client retries up to
`max_attempts` times, within its retry budget. It does not retry permanent errors, such as missing
credentials, and retries `NoCopies` only for `wait_until_ready` seconds.
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
