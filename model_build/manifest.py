"""The manifest beside an archive: its content, origin and gates."""

import json
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from model_build.model_config import ModelConfig, data_type

BUILT_WITH = ("torch", "transformers", "onnx", "onnxscript", "onnxruntime", "isal")
"""Packages whose versions a manifest has."""


class ManifestTensor(BaseModel):
    """An input or output as a client sees it: `shape` includes the batch axis as -1."""

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
    def of(cls, config: ModelConfig) -> Self:
        """Read the signature out of a Triton configuration."""
        batch = [-1] if config.max_batch_size else []
        inputs, outputs = (
            [
                ManifestTensor(
                    name=t.name, datatype=data_type(t.data_type), shape=[*batch, *t.dims]
                )
                for t in tensors
            ]
            for tensors in (config.input, config.output)
        )
        return cls(inputs=inputs, outputs=outputs, max_batch_size=config.max_batch_size)


class EngineOrigin(BaseModel):
    """The engine job whose result a plan is, and what compiled it: GPU, driver, TensorRT."""

    model_config = ConfigDict(frozen=True)

    job: str
    compiled_on: dict[str, str]


class Source(BaseModel):
    """The model, of those of its source, in an archive.

    The source is in the archive's bucket, under a key that follows from the digest: the archive can
    be built from it again, for any target.
    """

    model_config = ConfigDict(frozen=True)

    model: str
    alternative: str | None


class Manifest(BaseModel):
    """The JSON beside an archive. Two builds of one digest and target write the same manifest."""

    model: str
    digest: str
    build_format: int
    target: dict[str, str | None]
    archive: dict[str, Any]
    signature: Signature
    gates: dict[str, Any]
    engines: dict[str, EngineOrigin] = {}
    """TensorRT plan -> where it comes from; archives of earlier builders say nothing of it."""
    built_with: dict[str, str]
    source: Source | None = None
    """None where it is not kept: outside of a bucket, of what is published, of earlier builders."""

    def json_bytes(self) -> bytes:
        """Return the manifest as indented JSON."""
        return json.dumps(self.model_dump(), indent=2).encode() + b"\n"
