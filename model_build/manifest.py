"""The manifest of an archive: its content, origin and gates."""

import json
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from model_build.model_config import ModelConfig, data_type

BUILT_WITH = ("torch", "transformers", "onnx", "onnxscript", "onnxruntime", "isal")
"""Packages whose versions a manifest records."""


class ManifestTensor(BaseModel):
    """An input or output; `shape` includes the batch axis as -1."""

    model_config = ConfigDict(frozen=True)

    name: str
    datatype: str
    shape: list[int]


class Signature(BaseModel):
    """Inputs and outputs of a model. `max_batch_size` 0 means that it does not batch."""

    model_config = ConfigDict(frozen=True)

    inputs: list[ManifestTensor]
    outputs: list[ManifestTensor]
    max_batch_size: int

    @classmethod
    def from_config(cls, config: ModelConfig) -> Self:
        """Return the signature of a Triton configuration."""
        batch = [-1] if config.max_batch_size else []
        inputs, outputs = (
            [
                ManifestTensor(
                    name=tensor.name,
                    datatype=data_type(tensor.data_type),
                    shape=[*batch, *tensor.dims],
                )
                for tensor in tensors
            ]
            for tensors in (config.input, config.output)
        )
        return cls(inputs=inputs, outputs=outputs, max_batch_size=config.max_batch_size)


class EngineOrigin(BaseModel):
    """The engine job of a TensorRT plan, and the GPU, driver and TensorRT that compiled it.

    `latency_ms` are the engine's median times on this GPU for the shapes of its gate.
    """

    model_config = ConfigDict(frozen=True)

    job: str
    compiled_on: dict[str, str]
    latency_ms: tuple[float, ...] = ()


class StoredSource(BaseModel):
    """The source of an archive, which the model bucket stores under a key made of the digest.

    `alternative` is the alternative of the recipe, None for the model itself.
    """

    model_config = ConfigDict(frozen=True)

    model: str
    alternative: str | None


class LoadRecord(BaseModel):
    """The load of an archive into the Triton of the build.

    triton, python: their versions; Python models run in that Python.
    isolation: what separated Triton from the build: `namespaces`, the `user` nobody, or `none`, for
        a build by another user than root.
    stand_ins: the framework that replaced a C++ backend, by backend.
    request: the request that the model answered: `zeros`, or `tests/golden.json`; None for a
        decoupled model, which got none.
    differences: a sentence for each output that differs from the golden file.
    rejection: the error with which the model answered.
    through: another model, which was loaded in place of this one, because it has the same code and
        differs only in data; None if this archive was loaded itself.
    not_loaded: the reason if Triton did not load the model; the other fields are then None.
    """

    model_config = ConfigDict(frozen=True)

    not_loaded: str | None = None
    through: str | None = None
    triton: str | None = None
    python: str | None = None
    isolation: str | None = None
    stand_ins: dict[str, str] = {}
    request: str | None = None
    differences: tuple[str, ...] = ()
    rejection: str | None = None


class Manifest(BaseModel):
    """The JSON file beside an archive. It depends only on the digest and the target."""

    model: str
    digest: str
    build_format: int
    target: dict[str, str | None]
    archive: dict[str, Any]
    signature: Signature
    gates: dict[str, Any]
    engines: dict[str, EngineOrigin] = {}
    """Origins of the TensorRT plans by path; empty in manifests of earlier builders."""
    built_with: dict[str, str]
    load: LoadRecord | None = None
    """None in manifests of earlier builders."""
    source: StoredSource | None = None
    """None if no source is stored: local builds, `publish`, earlier builders."""

    def json_bytes(self) -> bytes:
        """Return the manifest as indented JSON."""
        return json.dumps(self.model_dump(), indent=2).encode() + b"\n"
