"""The catalog of a stage: the name of its table, and the entry of a model."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from typing_extensions import TypedDict

from platform_facts.rules.rule import rule

TABLE_PREFIX = "triton-catalog-"
INDEX = "by-endpoint"
"""The index of the table: the current items by endpoint."""
MAX_BYTES = 400 * 1024 - 4096


def table_name(stage: str) -> str:
    """Return the name of the table of a stage."""
    return f"{TABLE_PREFIX}{stage}"


def entry_text(entry: Mapping[str, Any]) -> str:
    """Return the JSON text of an entry, as in items and in lists of models."""
    return json.dumps(entry, separators=(",", ":"))


def list_text(entries: Iterable[str]) -> str:
    """Return the list of the models of an endpoint that a deploy writes: one entry a line."""
    return "".join(sorted(f"{entry}\n" for entry in entries))


class TensorSpec(TypedDict):
    """An input or output: KServe v2 datatype, and shape with -1 for variable dimensions."""

    name: str
    datatype: str
    shape: list[int]


class ModelSignature(TypedDict):
    """The tensors of a model; `max_batch_size` is 0 without a batch axis."""

    inputs: list[TensorSpec]
    outputs: list[TensorSpec]
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
        fields = {**vars(self)}
        if self.inference_component is None:
            del fields["inference_component"]
        return fields

    def as_json(self) -> str:
        """Return the entry as the JSON text that `endpoint_client` reads."""
        return entry_text(self.fields())


@rule(
    "models",
    "docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html: 400 KB of an item, "
    "of which 4 KB are for the other attributes",
)
def check_catalog_entry(model: str, text: str) -> str | None:
    """A model's catalog entry, with its signature, fits into an item of the table."""
    size = len(text.encode())
    if size <= MAX_BYTES:
        return None
    return (
        f"the catalog entry of {model} has {size} bytes, an item of the table holds {MAX_BYTES}: "
        "give the model fewer or shorter tensor names"
    )
