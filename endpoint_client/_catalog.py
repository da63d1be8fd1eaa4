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

from endpoint_client._errors import EndpointError, NotSent, UnknownModel, translate_errors
from endpoint_client._retries import Deadline, Retries
from endpoint_client._transport import REQUEST_TIMEOUT

MODEL_NAME = re.compile(r"[A-Za-z0-9_.-]+")
"""A part of a parameter's name (Systems Manager API reference, PutParameter).

GetParameter also accepts NAME:VERSION and NAME:LABEL, which return older versions.
"""

LOOK_UP_SECONDS, LOOK_UP_ATTEMPTS = 5.0, 3
"""Time-out of an attempt to read the catalog, and number of attempts."""
REFRESH_SECONDS = 2.0
"""Time-out of the single attempt to refresh an entry that can still be used."""
STALE_SECONDS = 3600.0
"""Maximum time for which an expired entry is used if the catalog cannot be read."""
UNKNOWN_SECONDS = RETRY_SECONDS = 5.0
"""How long an unknown name is cached, and the delay after a failed refresh."""
MAX_CACHED_NAMES = 1000
"""Number of cached names at which unknown names are removed from the cache."""

_log = logging.getLogger("endpoint_client")


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output: KServe v2 datatype, and shape with -1 for variable sizes."""

    name: str
    datatype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """The current version of a model and the parameters of its invocations.

    `target_model` is set only for multi-model endpoints, `inference_component` only for endpoints
    with inference components; `max_batch_size` is 0 without a batch axis.
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
        """Return the entry in a parameter's JSON value."""
        content = json.loads(value)
        signature = content["signature"]
        inputs, outputs = (
            tuple(Tensor(item["name"], item["datatype"], tuple(item["shape"])) for item in tensors)
            for tensors in (signature["inputs"], signature["outputs"])
        )
        return cls(
            **{key: content[key] for key in ("model", "version", "endpoint", "target_model")},
            inputs=inputs,
            outputs=outputs,
            max_batch_size=signature.get("max_batch_size", 0),
            inference_component=content.get("inference_component"),
        )


@dataclass(slots=True)
class _CacheSlot:
    """The cached result for a name: an entry, or the error message for an unknown name."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    entry: CatalogEntry | None = None
    unknown_message: str = ""
    fresh_until: float = 0.0
    stale_until: float = 0.0


class CachedCatalog:
    """A cache of catalog entries with at most one look-up per model at a time.

    Each result is used for `ttl` seconds, or up to a tenth less, so that processes that started
    together do not look up together. While one thread refreshes an expired entry, other threads use
    the expired entry.
    """

    def __init__(self, ssm: Any, retries: Retries, prefix: str, ttl: float) -> None:
        self._ssm, self._retries, self._prefix, self._ttl = ssm, retries, prefix, ttl
        self._slots: dict[tuple[int, str], _CacheSlot] = {}

    def resolve(self, model: str, deadline: Deadline) -> CatalogEntry:
        """Return a model's current entry.

        Raises `UnknownModel` with existing names, and `EndpointError` if the catalog cannot be
        read.
        """
        # The key has the process ID: after fork(), no thread would release locks of the parent.
        key = os.getpid(), model
        slot = self._slots.get(key) or self._add_slot(key)
        if entry := self._fresh_entry(slot):
            return entry
        usable_entry = slot.entry if time.monotonic() < slot.stale_until else None
        if not slot.lock.acquire(timeout=0 if usable_entry else deadline.remaining(3600)):
            if usable_entry:
                return usable_entry
            raise NotSent(f"another look-up of {model!r} in {self._prefix} takes too long")
        try:
            return self._fresh_entry(slot) or self._look_up(model, slot, usable_entry, deadline)
        finally:
            slot.lock.release()

    def models(self, deadline: Deadline) -> list[str]:
        """Return the names of all models, sorted. Raises `EndpointError`."""
        return sorted(name for page in self._pages_of_names(deadline) for name in page)

    def _fresh_entry(self, slot: _CacheSlot) -> CatalogEntry | None:
        if time.monotonic() >= slot.fresh_until:
            return None
        if slot.entry is None:
            raise UnknownModel(slot.unknown_message)
        return slot.entry

    def _add_slot(self, key: tuple[int, str]) -> _CacheSlot:
        if not MODEL_NAME.fullmatch(key[1]):
            raise UnknownModel(f"{key[1]!r} is not a model name: write it without path and version")
        if len(self._slots) >= MAX_CACHED_NAMES:
            # Iterate over a copy, because other threads may add slots during the iteration.
            self._slots = {name: slot for name, slot in self._slots.copy().items() if slot.entry}
        return self._slots.setdefault(key, _CacheSlot())

    def _look_up(
        self, model: str, slot: _CacheSlot, usable_entry: CatalogEntry | None, deadline: Deadline
    ) -> CatalogEntry:
        try:
            slot.entry = self._read_entry(model, deadline, is_refresh=usable_entry is not None)
        except EndpointError as error:
            if not usable_entry:
                raise
            slot.fresh_until = time.monotonic() + RETRY_SECONDS * random.uniform(1, 1.5)
            _log.warning("using stale catalog entry %r: %s", str(usable_entry), error)
            return usable_entry
        now = time.monotonic()
        if slot.entry is None:
            first_names = next(self._pages_of_names(deadline))
            names = ", ".join(first_names) or "none: is the endpoint deployed?"
            slot.unknown_message = f"no model {model!r} in {self._prefix}: there are {names}"
            slot.fresh_until = now + UNKNOWN_SECONDS
            raise UnknownModel(slot.unknown_message)
        slot.fresh_until = now + self._ttl * random.uniform(0.9, 1)
        slot.stale_until = slot.fresh_until + STALE_SECONDS
        return slot.entry

    def _read_entry(
        self, model: str, deadline: Deadline, *, is_refresh: bool
    ) -> CatalogEntry | None:
        """Return the entry of a model's parameter, or None if it does not exist."""
        name = f"{self._prefix}/{model}"
        seconds, attempts = LOOK_UP_SECONDS, LOOK_UP_ATTEMPTS
        if is_refresh:
            seconds, attempts = REFRESH_SECONDS, 1

        def attempt() -> Any:
            REQUEST_TIMEOUT.set(deadline.remaining(seconds))
            with translate_errors(f"cannot look {model!r} up in {self._prefix}", NotSent):
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

    def _pages_of_names(self, deadline: Deadline) -> Iterator[list[str]]:
        """Yield the pages of GetParametersByPath, which have ten names."""
        REQUEST_TIMEOUT.set(deadline.remaining(LOOK_UP_SECONDS))
        with translate_errors(f"cannot list the models of {self._prefix}", NotSent):
            paginator = self._ssm.get_paginator("get_parameters_by_path")
            for page in paginator.paginate(Path=self._prefix):
                yield [parameter["Name"].rpartition("/")[2] for parameter in page["Parameters"]]
