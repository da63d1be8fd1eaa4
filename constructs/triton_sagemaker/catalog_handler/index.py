"""Custom resource handler of `CatalogWriter`: writes a list of models into the catalog's table.

The list is an object with a catalog entry on each line. Only models whose entry differs from the
previous list are written, so that a published version stays until a deploy changes its model.
Models that left the list are removed last, unless another writer has changed them since. With the
property `Archives`, locations BUCKET/PREFIX/, a model is only written if its archive is below all;
a later deploy that has the archive writes it then, also if its entry is as in the previous list.

In a rollback by CloudFormation, each item that the failed deploy wrote gets the entry that it had
before, unless another writer has changed it since. A repeated event changes nothing: an item has
the id of the request that wrote it. Every change is a new revision of the item, in one transaction
with the number of the latest one as condition; `CatalogTable` documents the items. Lambda gets only
this file, so it repeats functions of the other handlers.
"""

import hashlib
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import boto3
from botocore.config import Config

Record = dict[str, Any]

WRITERS = 32
"""Concurrent writes; each takes some 10 ms."""
MAX_NUMBER = 10**18
"""The greatest number of a revision; DynamoDB stores numbers of up to 38 digits."""
ATTEMPTS = 8
"""Attempts to write an item that other writers change at the same time."""
CONFIG = Config(retries={"mode": "standard", "total_max_attempts": 8}, max_pool_connections=WRITERS)

Decision = tuple[str, str] | None
"""The new entry of an item and the digest of its list; None to keep the item."""
REMOVAL = "", ""


def handle(event: Record, _context: object) -> Record:
    """Write, restore or remove the items of an endpoint; return their numbers.

    Raise `RuntimeError` if a list does not have its digest, or an item could not be written.
    """
    properties, old_properties = event["ResourceProperties"], event.get("OldResourceProperties", {})
    keeps = "Archives" in {**old_properties, **properties}
    table = Table(properties["Table"], properties["Endpoint"], event)
    match event["RequestType"]:
        case "Create":
            counts = _deploy(table, {}, _read_list(properties), properties, keeps=keeps)
        case "Update":
            old, new = _read_list(old_properties), _read_list(properties)
            if _is_rolling_back(event["StackId"]):
                counts = _roll_back(table, old, new, old_properties["Digest"], keeps=keeps)
            else:
                counts = _deploy(table, old, new, properties, keeps=keeps)
        case _:  # all models, also published ones: the endpoint is deleted next
            counts = _for_each(table.models(), lambda m: table.change(m, lambda _: REMOVAL))
    name = f"{table.name}/{table.endpoint}"
    return {"PhysicalResourceId": name, "Data": {key: str(counts[key]) for key in sorted(counts)}}


def _deploy(
    table: "Table", old: Record, new: Record, properties: Record, *, keeps: bool
) -> Counter[str]:
    """Write the entries that differ between two lists, then remove the models without an entry.

    With `keeps`, this deploy or the last one keeps the entries of models that could not be built. A
    model that was kept last time, and has its archive now, is then written too.
    """
    digest = properties["Digest"]

    def write(model: str) -> str:
        def decide(item: Record) -> Decision:
            is_kept = _is_kept(item, new[model])
            return (new[model], digest) if is_kept or old.get(model) != new[model] else None

        return table.change(model, decide)

    def remove(model: str) -> str:
        def decide(item: Record) -> Decision:
            is_own = item.get("entry") == old[model] or (keeps and _is_kept(item, old[model]))
            return ("", digest) if is_own else None

        return table.change(model, decide)

    unbuilt = _unbuilt(new, properties.get("Archives", ()))
    changed = {model for model, entry in new.items() if keeps or old.get(model) != entry}
    counts = _for_each(sorted(changed - unbuilt), write) + Counter(Unbuilt=len(unbuilt))
    return counts + _for_each(sorted(old.keys() - new.keys()), remove)


def _is_kept(item: Record, entry: str) -> bool:
    """Return whether an item has another entry than the list because of a missing archive.

    No other writer has changed it then.
    """
    return item.get("entry") != entry and (not item or item.get("cause") == "deployed")


def _unbuilt(new: Record, locations: Iterable[str]) -> set[str]:
    """Return the models that have no archive, or no manifest of it, below one of the locations."""
    unbuilt = set[str]()
    for location in locations:
        bucket, _, prefix = location.partition("/")
        pages = boto3.client("s3").get_paginator("list_objects_v2")
        keys = {
            entry["Key"].removeprefix(prefix)
            for page in pages.paginate(Bucket=bucket, Prefix=prefix, Delimiter="/")
            for entry in page.get("Contents", ())
        }
        for model, entry in new.items():
            archive = json.loads(entry)["target_model"]
            if not keys >= {archive, archive.removesuffix(".tar.gz") + ".json"}:
                unbuilt.add(model)
    return unbuilt


def _roll_back(
    table: "Table", failed: Record, new: Record, digest: str, *, keeps: bool
) -> Counter[str]:
    """Restore the items that the deploy of the list with this digest wrote."""

    def decide(item: Record) -> Decision:
        if item.get("list") != digest:
            return None
        key = item["model_key"]
        number = (_latest(item) or table.last_number(key)) - 1
        before = table.revision(key, number) if number > 0 else {}
        return before.get("entry", ""), before.get("list", "")

    models = {*failed, *new}
    changed = sorted(m for m in models if keeps or failed.get(m) != new.get(m))
    return _for_each(changed, lambda model: table.change(model, decide))


def _for_each(models: list[str], change: Callable[[str], str]) -> Counter[str]:
    """Return the number of models for each result of `change`."""
    with ThreadPoolExecutor(WRITERS) as threads:
        return Counter(threads.map(change, models))


class Table:
    """The items of one endpoint in the table `name`, as a request of CloudFormation changes them.

    Items and revisions are dictionaries of texts: numbers are texts too.
    """

    def __init__(self, name: str, endpoint: str, event: Record) -> None:
        self.name, self.endpoint = name, endpoint
        self._caller, self._request = event["StackId"], event["RequestId"]
        self._dynamodb: Any = boto3.client("dynamodb", config=CONFIG)

    def change(self, model: str, decide: Callable[[Record], Decision]) -> str:
        """Write the entry and the list's digest that `decide` returns for an item; return a result.

        An empty entry removes the model. `decide` is called again if another writer changes the
        item at the same time.
        """
        key = f"{self.endpoint}#{model}"
        for attempt in range(ATTEMPTS):
            item = self.revision(key, 0)
            if item.get("request") == self._request:
                return "Repeated"
            decision = decide(item)
            if decision is None or not (decision[0] or item):
                return "Kept"
            try:
                self._write(key, item, *decision, is_repeated=attempt > 0)
            except self._dynamodb.exceptions.TransactionCanceledException:
                time.sleep(random.uniform(0, 0.05 * 2**attempt))
                continue
            return "Written" if decision[0] else "Removed"
        raise RuntimeError(f"{key} in {self.name} is changed all the time: deploy again")

    def models(self) -> list[str]:
        """Return the models that have an entry."""
        pages = self._dynamodb.get_paginator("query").paginate(
            TableName=self.name,
            IndexName="by-endpoint",
            KeyConditionExpression="endpoint = :endpoint",
            ExpressionAttributeValues={":endpoint": {"S": self.endpoint}},
        )
        keys = (_texts(item)["model_key"] for page in pages for item in page["Items"])
        return sorted(key.partition("#")[2] for key in keys)

    def revision(self, key: str, number: int) -> Record:
        """Return a revision, 0 for the current item; empty if there is none."""
        answer = self._dynamodb.get_item(
            TableName=self.name,
            Key={"model_key": {"S": key}, "revision": {"N": str(number)}},
            ConsistentRead=True,
        )
        return _texts(answer.get("Item", {}))

    def _write(self, key: str, item: Record, entry: str, digest: str, *, is_repeated: bool) -> None:
        """Write an item and its revision.

        Whoever may publish a model can write any value into its items, also numbers of revisions
        that exist or are too great. None of them may end a rollback.
        """
        latest = _latest(item)
        last = self.last_number(key) if latest is None or is_repeated else latest
        number = str(last + 1)
        texts = {
            "model_key": key,
            "cause": "deployed",
            "caller": self._caller,
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "request": self._request,
            "list": digest,
        }
        if entry:
            texts["entry"] = entry
        revision = {name: {"S": text} for name, text in texts.items() if text}
        current = {**revision, "revision": {"N": "0"}, "latest": {"N": number}}
        if entry:
            current["endpoint"] = {"S": self.endpoint}
        is_unchanged: Record = {}  # of an item without a valid number, which no program writes
        if not item:
            is_unchanged = {"ConditionExpression": "attribute_not_exists(model_key)"}
        elif latest is not None:
            is_unchanged = {
                "ConditionExpression": "latest = :latest",
                "ExpressionAttributeValues": {":latest": {"N": str(latest)}},
            }
        is_new = {} if is_repeated else {"ConditionExpression": "attribute_not_exists(model_key)"}
        revision["revision"] = {"N": number}
        self._dynamodb.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": self.name, "Item": current, **is_unchanged}},
                {"Put": {"TableName": self.name, "Item": revision, **is_new}},
            ]
        )

    def last_number(self, key: str) -> int:
        """Return the number of the latest revision of a model, or 0."""
        items = self._dynamodb.query(
            TableName=self.name,
            ConsistentRead=True,
            KeyConditionExpression="model_key = :key AND revision BETWEEN :first AND :last",
            ExpressionAttributeValues={
                ":key": {"S": key},
                ":first": {"N": "1"},
                ":last": {"N": str(MAX_NUMBER)},
            },
            ScanIndexForward=False,
            Limit=1,
        )["Items"]
        return int(Decimal(items[0]["revision"]["N"])) if items else 0


def _texts(item: Record) -> Record:
    """Return the texts and numbers of an item, without values of types that no program writes."""
    return {
        name: text
        for name, value in item.items()
        for kind, text in value.items()
        if kind == ("N" if name in {"latest", "revision"} else "S")
    }


def _latest(item: Record) -> int | None:
    """Return the number of the latest revision, None if the item has none that is valid."""
    latest = item.get("latest", "")
    return int(latest) if latest.isdecimal() and 0 < int(latest) <= MAX_NUMBER else None


def _read_list(properties: Record) -> dict[str, str]:
    """Return model -> entry of a list. Raise `RuntimeError` if it does not have its digest."""
    bucket, _, key = properties["List"].partition("/")
    content = boto3.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()
    if (digest := hashlib.sha256(content).hexdigest()) != properties["Digest"]:
        raise RuntimeError(f"s3://{bucket}/{key} has the SHA-256 {digest}, the template another")
    return {json.loads(line)["model"]: line for line in content.decode().splitlines()}


def _is_rolling_back(stack: str) -> bool:
    (description,) = boto3.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    return "ROLLBACK" in description["StackStatus"]
