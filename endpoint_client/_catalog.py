"""The current archive of each model: SSM parameters `/triton/<stage>/<endpoint>/<model>`."""

import json
import logging
import os
import random
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from endpoint_client._errors import EndpointError, NotSent, UnknownModel, named
from endpoint_client._retries import Deadline, Retries
from endpoint_client._transport import REQUEST_TIMEOUT

NAME = re.compile(r"[A-Za-z0-9_.-]+")
"""Part of a parameter's name (Systems Manager API reference, PutParameter).

GetParameter also takes `NAME:VERSION` and `NAME:LABEL`, which would return an older version of the
model.
"""

LOOK_UP_SECONDS, LOOK_UP_ATTEMPTS = 5.0, 3
REFRESH_SECONDS = 2.0
"""Timeout of the single attempt to refresh an entry that can still be used."""
STALE_SECONDS = 3600.0
"""How long an expired entry is used while the catalog cannot be read."""
UNKNOWN_SECONDS = RETRY_SECONDS = 5.0
"""How long an unknown name is cached, and the delay after a failed refresh."""
MAX_UNKNOWN = 1000

_log = logging.getLogger("endpoint_client")


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output: KServe v2 datatype, and shape with -1 for sizes that vary."""

    name: str
    datatype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """The current version of a model, and how to invoke it.

    `target_model` is set only for a multi-model endpoint, `inference_component` only for one that
    hosts components; `max_batch_size` is 0 without a batch axis.
    """

    model: str
    version: str
    endpoint: str
    target_model: str | None
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    max_batch_size: int = 0
    inference_component: str | None = None

    def __str__(self) -> str:
        return f"{self.model} {self.version}"

    @classmethod
    def parse(cls, value: str) -> "CatalogEntry":
        """Read a parameter's JSON value."""
        content = json.loads(value)
        signature = content["signature"]
        inputs, outputs = (
            tuple(Tensor(each["name"], each["datatype"], tuple(each["shape"])) for each in tensors)
            for tensors in (signature["inputs"], signature["outputs"])
        )
        names = {key: content[key] for key in ("model", "version", "endpoint", "target_model")}
        return cls(
            **names,
            inputs=inputs,
            outputs=outputs,
            max_batch_size=signature.get("max_batch_size", 0),
            inference_component=content.get("inference_component"),
        )


@dataclass(slots=True)
class _Known:
    """The cached result for a name: an entry, or the error message `unknown`."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    entry: CatalogEntry | None = None
    unknown: str = ""
    fresh_until: float = 0.0
    stale_until: float = 0.0


class CachedCatalog:
    """Resolves model names, with one look-up at a time per model.

    Each result is used for `ttl` seconds, or up to a tenth less, so that processes which began
    together do not look up together. While one thread refreshes a stale entry, other threads use
    it.
    """

    def __init__(self, ssm: Any, retries: Retries, prefix: str, ttl: float) -> None:
        self._ssm, self._retries, self._prefix, self._ttl = ssm, retries, prefix, ttl
        self._known: dict[tuple[int, str], _Known] = {}

    def resolve(self, model: str, deadline: Deadline) -> CatalogEntry:
        """Return a model's current entry. Raises `UnknownModel` with names that there are.

        Raises `EndpointError`, here and in `models`, where the catalog cannot be read.
        """
        # The key includes the PID: after fork(), nothing would release a lock of the parent.
        key = os.getpid(), model
        known = self._known.get(key) or self._new(key)
        if entry := self._fresh(known):
            return entry
        usable = known.entry if time.monotonic() < known.stale_until else None
        if not known.lock.acquire(timeout=0 if usable else deadline.left(3600)):
            if usable:
                return usable
            raise NotSent(f"another look-up of {model!r} in {self._prefix} is not done in time")
        try:
            return self._fresh(known) or self._look_up(model, known, usable, deadline)
        finally:
            known.lock.release()

    def models(self, deadline: Deadline) -> list[str]:
        """Return the names of all models, sorted."""
        return sorted(name for page in self._pages(deadline) for name in page)

    def _fresh(self, known: _Known) -> CatalogEntry | None:
        if time.monotonic() >= known.fresh_until:
            return None
        if known.entry is None:
            raise UnknownModel(known.unknown)
        return known.entry

    def _new(self, key: tuple[int, str]) -> _Known:
        if not NAME.fullmatch(key[1]):
            raise UnknownModel(f"{key[1]!r} is not a model name: write it without path and version")
        if len(self._known) >= MAX_UNKNOWN:
            # Iterate over a copy, because other threads may insert names.
            self._known = {name: one for name, one in self._known.copy().items() if one.entry}
        return self._known.setdefault(key, _Known())

    def _look_up(
        self, model: str, known: _Known, usable: CatalogEntry | None, deadline: Deadline
    ) -> CatalogEntry:
        try:
            known.entry = self._read(model, deadline, once=usable is not None)
        except EndpointError as error:
            if not usable:
                raise
            known.fresh_until = time.monotonic() + RETRY_SECONDS * random.uniform(1, 1.5)
            _log.warning("using stale catalog entry %r: %s", str(usable), error)
            return usable
        now = time.monotonic()
        if known.entry is None:
            names = ", ".join(next(self._pages(deadline))) or "none: is the endpoint deployed?"
            known.unknown = f"no model {model!r} in {self._prefix}: there are {names}"
            known.fresh_until = now + UNKNOWN_SECONDS
            raise UnknownModel(known.unknown)
        known.fresh_until = now + self._ttl * random.uniform(0.9, 1)
        known.stale_until = known.fresh_until + STALE_SECONDS
        return known.entry

    def _read(self, model: str, deadline: Deadline, *, once: bool) -> CatalogEntry | None:
        """Return a parameter's entry, None without a parameter."""
        name = f"{self._prefix}/{model}"
        seconds, attempts = (REFRESH_SECONDS, 1) if once else (LOOK_UP_SECONDS, LOOK_UP_ATTEMPTS)

        def attempt() -> Any:
            REQUEST_TIMEOUT.set(deadline.left(seconds))
            with named(f"cannot look {model!r} up in {self._prefix}", unanswered=NotSent):
                try:
                    return self._ssm.get_parameter(Name=name)["Parameter"]["Value"]
                except self._ssm.exceptions.ParameterNotFound:
                    return None

        value = self._retries.call(attempt, attempts=attempts, deadline=deadline)
        try:
            return value and CatalogEntry.parse(value)
        except (ValueError, KeyError, TypeError) as error:
            problem = f"{name} is not a catalog entry: {error!r}: publish the model again"
            raise EndpointError(problem) from error

    def _pages(self, deadline: Deadline) -> Iterator[list[str]]:
        """Yield the names of models, ten at a time as GetParametersByPath has them."""
        REQUEST_TIMEOUT.set(deadline.left(LOOK_UP_SECONDS))
        with named(f"cannot list the models of {self._prefix}", unanswered=NotSent):
            paginator = self._ssm.get_paginator("get_parameters_by_path")
            for page in paginator.paginate(Path=self._prefix):
                yield [parameter["Name"].rpartition("/")[2] for parameter in page["Parameters"]]
