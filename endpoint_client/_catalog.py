"""The current archive of each model: items `ENDPOINT#MODEL` of the stage's table."""

import json
import logging
import os
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from endpoint_client._errors import EndpointError, NotSent, UnknownModel, translate_errors
from endpoint_client._retries import Deadline, Retries
from endpoint_client._transport import REQUEST_TIMEOUT

MODEL_NAME = re.compile(r"[A-Za-z0-9_.-]+")
"""Without the `#` that separates the parts of a key, and without paths and versions."""

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
MAX_LISTED_NAMES = 10
"""Number of names in the message for an unknown name."""
INDEX = "by-endpoint"
"""The index of the table with the current items by endpoint."""

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
        """Return the entry in an item's JSON text."""
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

    def __init__(
        self, dynamodb: Any, retries: Retries, stage: str, endpoint: str, ttl: float
    ) -> None:
        self._dynamodb, self._retries, self._ttl = dynamodb, retries, ttl
        self._table, self._endpoint = f"triton-catalog-{stage}", endpoint
        self._name = f"{self._table}/{endpoint}"
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
            raise NotSent(f"another look-up of {model!r} in {self._name} takes too long")
        try:
            return self._fresh_entry(slot) or self._look_up(model, slot, usable_entry, deadline)
        finally:
            slot.lock.release()

    def models(self, deadline: Deadline) -> list[str]:
        """Return the names of all models, sorted, and cache their entries.

        Raises `EndpointError`.
        """
        names = []
        for item in self._items(deadline):
            names.append(model := _model(item))
            with suppress(EndpointError):  # of the look-up of this model
                entry = self._parse(model, item)
                slot = self._slots.setdefault((os.getpid(), model), _CacheSlot())
                if entry and slot.lock.acquire(blocking=False):
                    self._keep(slot, entry)
                    slot.lock.release()
        return sorted(names)

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
        if slot.entry is None:
            names = self._first_names(deadline)
            slot.unknown_message = f"no model {model!r} in {self._name}: there are {names}"
            slot.fresh_until = time.monotonic() + UNKNOWN_SECONDS
            raise UnknownModel(slot.unknown_message)
        return self._keep(slot, slot.entry)

    def _keep(self, slot: _CacheSlot, entry: CatalogEntry) -> CatalogEntry:
        slot.entry = entry
        slot.fresh_until = time.monotonic() + self._ttl * random.uniform(0.9, 1)
        slot.stale_until = slot.fresh_until + STALE_SECONDS
        return entry

    def _read_entry(
        self, model: str, deadline: Deadline, *, is_refresh: bool
    ) -> CatalogEntry | None:
        """Return the entry of a model, or None if it does not exist."""
        key = {"model_key": {"S": f"{self._endpoint}#{model}"}, "revision": {"N": "0"}}
        seconds, attempts = LOOK_UP_SECONDS, LOOK_UP_ATTEMPTS
        if is_refresh:
            seconds, attempts = REFRESH_SECONDS, 1

        def attempt() -> Any:
            REQUEST_TIMEOUT.set(deadline.remaining(seconds))
            with translate_errors(f"cannot look {model!r} up in {self._name}", NotSent):
                try:
                    answer = self._dynamodb.get_item(
                        TableName=self._table, Key=key, ProjectionExpression="entry"
                    )
                except self._dynamodb.exceptions.ResourceNotFoundException:
                    return {}
                return answer.get("Item", {})

        item = self._retries.call(attempt, attempts=attempts, deadline=deadline)
        return self._parse(model, item)

    def _parse(self, model: str, item: dict[str, Any]) -> CatalogEntry | None:
        """Return the entry in an item, None if the model was removed. Raises `EndpointError`."""
        try:
            return CatalogEntry.parse(item["entry"]["S"]) if "entry" in item else None
        except (ValueError, KeyError, TypeError) as error:
            raise EndpointError(
                f"{self._endpoint}#{model} in {self._table} is not a catalog entry: {error!r}: "
                "publish the model again"
            ) from error

    def _first_names(self, deadline: Deadline) -> str:
        """Return some names for a message; callers with grants for models may not list them."""
        items = self._items(deadline, Limit=MAX_LISTED_NAMES)
        try:
            names = ", ".join(map(_model, islice(items, MAX_LISTED_NAMES)))
        except EndpointError as error:
            if error.retry_safe:
                raise
            return f"models that are not listed: {error}"
        return names or "none: is the endpoint deployed?"

    def _items(self, deadline: Deadline, **options: Any) -> Iterator[dict[str, Any]]:
        """Yield the current items of the endpoint, in pages of at most 1 MB."""
        REQUEST_TIMEOUT.set(deadline.remaining(LOOK_UP_SECONDS))
        with translate_errors(f"cannot list the models of {self._name}", NotSent):
            pages = self._dynamodb.get_paginator("query").paginate(
                TableName=self._table,
                IndexName=INDEX,
                KeyConditionExpression="endpoint = :endpoint",
                ExpressionAttributeValues={":endpoint": {"S": self._endpoint}},
                **options,
            )
            try:
                for page in pages:
                    for item in page["Items"]:
                        # Grants limit writes by key, and not by the attribute of the index.
                        if item["model_key"]["S"].startswith(f"{self._endpoint}#"):
                            yield item
            except self._dynamodb.exceptions.ResourceNotFoundException:
                return


def _model(item: dict[str, Any]) -> str:
    return str(item["model_key"]["S"]).partition("#")[2]
