"""The catalog of a stage: the names of its parameters, and the entry of a model."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from typing_extensions import TypedDict

from platform_facts.rules.rule import rule

ROOT = "/triton/"
"""The path of all catalogs, each below STAGE/ENDPOINT."""
MAX_CHARACTERS = 4096


def catalog_path(stage: str, endpoint: str) -> str:
    """Return the path of the entries of an endpoint."""
    return f"{ROOT}{stage}/{endpoint}"


def entry_name(stage: str, endpoint: str, model: str) -> str:
    """Return the name of the parameter that is a model's entry in the catalog."""
    return f"{catalog_path(stage, endpoint)}/{model}"


def deliveries_name(stage: str) -> str:
    """Return the name of the parameter that lists a stage's deliveries."""
    return f"{ROOT}{stage}/delivered"


class TensorSpec(TypedDict):
    """An input or output: KServe v2 datatype, and shape with -1 for variable dimensions."""

    name: str
    datatype: str
    shape: Sequence[int]


class ModelSignature(TypedDict):
    """The tensors of a model; `max_batch_size` is 0 without a batch axis."""

    inputs: Sequence[TensorSpec]
    outputs: Sequence[TensorSpec]
    max_batch_size: int


@dataclass(frozen=True, kw_only=True)
class ModelEntry:
    """How clients invoke a model by its name.

    `target_model` is the `TargetModel` of InvokeEndpoint, None for single-model endpoints and
    inference components; `inference_component` is the name of the component, if the model is one.
    Clients pass `version` to their callers: any text that changes with the archive.
    """

    model: str
    version: str
    endpoint: str
    target_model: str | None
    inference_component: str | None = None
    signature: ModelSignature

    def fields(self) -> dict[str, Any]:
        """Return the members of the entry's JSON; `inference_component` only if it is set."""
        fields = asdict(self)
        if self.inference_component is None:
            del fields["inference_component"]
        return fields

    def as_json(self) -> str:
        """Return the entry as the JSON text that `endpoint_client` reads."""
        return json.dumps(self.fields(), separators=(",", ":"))


@rule(
    "models",
    "docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html: 4 KB of a "
    "standard parameter",
)
def check_catalog_entry(model: str, text: str) -> str | None:
    """A model's catalog entry, with its signature, has at most 4,096 characters."""
    if len(text) <= MAX_CHARACTERS:
        return None
    return (
        f"the catalog entry of {model} has {len(text)} characters, an SSM standard parameter holds "
        f"{MAX_CHARACTERS}: give the model fewer or shorter tensor names"
    )
