"""Which archive of a model is current: SSM parameters `/triton/<stage>/<endpoint>/<model>`."""

import json
import re
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from endpoint_client._errors import EndpointError, UnknownModel

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient


NAME = re.compile(r"[A-Za-z0-9_.-]+")
"""Part of a parameter's name (Systems Manager API reference, PutParameter).

GetParameter also takes `NAME:VERSION` and `NAME:LABEL`, which would be what a model was before.
"""


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output: KServe v2 datatype, and shape with -1 for sizes that vary."""

    name: str
    datatype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """The current version of a model, and how to invoke it.

    `target_model` is None on a single-model endpoint.
    """

    model: str
    version: str
    endpoint: str
    target_model: str | None
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]

    @classmethod
    def parse(cls, value: str) -> "CatalogEntry":
        """Read a parameter's JSON value."""
        content = json.loads(value)
        inputs, outputs = (
            tuple(Tensor(it["name"], it["datatype"], tuple(it["shape"])) for it in tensors)
            for tensors in (content["signature"]["inputs"], content["signature"]["outputs"])
        )
        return cls(
            model=content["model"],
            version=content["version"],
            endpoint=content["endpoint"],
            target_model=content["target_model"],
            inputs=inputs,
            outputs=outputs,
        )


class Catalog:
    """Resolves model names, and remembers each answer for `ttl` seconds; thread-safe."""

    def __init__(self, ssm: "SSMClient", *, prefix: str, ttl: float) -> None:
        self._ssm, self._prefix, self._ttl = ssm, prefix, ttl
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, CatalogEntry]] = {}

    def resolve(self, model: str) -> CatalogEntry:
        """Return a model's current entry. Raises `UnknownModel` with the names there are.

        Raises `EndpointError`, here and in `models`, where the catalog cannot be read.
        """
        with self._lock:
            until, entry = self._known.get(model, (0.0, None))
            if entry is None or until < time.monotonic():
                entry = self._fetch(model)
                self._known[model] = (time.monotonic() + self._ttl, entry)
            return entry

    def models(self) -> list[str]:
        """Return the names of all models, sorted."""
        try:
            pages = self._ssm.get_paginator("get_parameters_by_path").paginate(Path=self._prefix)
            return sorted(
                parameter["Name"].rpartition("/")[2]
                for page in pages
                for parameter in page["Parameters"]
            )
        except (ClientError, BotoCoreError) as error:
            raise EndpointError(f"cannot list the models of {self._prefix}: {error}") from error

    def _fetch(self, model: str) -> CatalogEntry:
        if not NAME.fullmatch(model):
            raise UnknownModel(
                f"{model!r} is no model's name: write letters, digits, hyphens, underscores and "
                "dots, and no version: the catalog has the current one"
            )
        try:
            answer = self._ssm.get_parameter(Name=f"{self._prefix}/{model}")
        except self._ssm.exceptions.ParameterNotFound:
            known = ", ".join(self.models()) or "none: is the endpoint deployed?"
            raise UnknownModel(f"no model {model!r} in {self._prefix}: there are {known}") from None
        except (ClientError, BotoCoreError) as error:
            raise EndpointError(f"cannot look {model!r} up in {self._prefix}: {error}") from error
        try:
            return CatalogEntry.parse(answer["Parameter"]["Value"])
        except (ValueError, KeyError, TypeError) as error:
            raise EndpointError(
                f"{self._prefix}/{model} is not a catalog entry ({error!r}): publish the model "
                "again, or deploy its stage"
            ) from error
