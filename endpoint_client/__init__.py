"""Invoke a model of a Triton endpoint by its name.

    client = EndpointClient(stage="prod", endpoint="text")
    embeddings = client.invoke("minilm", {"TEXT": ["one sentence", "another"]})["EMBEDDING"]

Errors:

    EndpointError
    ├── UnknownModel      the catalog has no model of that name
    ├── InvalidInput      the inputs do not fit the model's signature; nothing was sent
    ├── ModelNotReady     the model is still loading after every retry
    └── ModelFailed       Triton refused the request or the model
"""

from endpoint_client._catalog import CatalogEntry, Tensor
from endpoint_client._client import EndpointClient
from endpoint_client._errors import (
    EndpointError,
    InvalidInput,
    ModelFailed,
    ModelNotReady,
    UnknownModel,
)

__all__ = [
    "CatalogEntry",
    "EndpointClient",
    "EndpointError",
    "InvalidInput",
    "ModelFailed",
    "ModelNotReady",
    "Tensor",
    "UnknownModel",
]
