"""The catalog of a stage: a DynamoDB table with the current and earlier entries of each model.

The partition key `model_key` is `ENDPOINT#MODEL`, so that `dynamodb:LeadingKeys` can restrict a
caller to models. The sort key `revision` is 0 for the current entry, and 1, 2, 3... for every
entry that was ever current (DynamoDB developer guide, "Using sort keys for version control"). The
current item has the number of the latest one in `latest`; a write adds a revision and replaces the
current item in one transaction, on the condition that `latest` is the number that the writer has
read. So no change is lost, and an item without `entry` is a model that was removed.

Only current items with an entry have `endpoint`, the partition key of the index.
"""

import json
import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, cast

from platform_facts.rules.catalog import INDEX, TABLE_PREFIX, entry_text, table_name

KEYS_PER_BATCH = 100
"""Maximum number of keys of a BatchGetItem (API reference)."""

Entry = dict[str, Any]
"""How clients invoke a model: `model`, `version`, `endpoint`, `target_model`, `signature`."""
Cause = Literal["deployed", "published", "rolled back"]
"""The operation that made an entry current."""
Item = dict[str, Any]


class ChangedMeanwhile(Exception):
    """Another writer has changed an item since it was read."""


@dataclass(frozen=True)
class Revision:
    """An entry that is, or was, current; `entry` is empty if clients cannot read it.

    endpoint: its short name in the stage's file.
    number: of the revision; the first one of a model is 1. It is 0 if somebody has replaced the
        item without this module.
    cause, caller, time: of the change. `caller` is an ARN, `time` is ISO 8601 in UTC.
    request: the CloudFormation request that last wrote an entry of this model, if any.
    """

    endpoint: str
    model: str
    number: int
    entry: Entry
    cause: Cause = "deployed"
    caller: str = ""
    time: str = ""
    request: str = ""

    @property
    def version(self) -> str:
        """The model's version."""
        return str(self.entry["version"])

    @classmethod
    def of_item(cls, item: Item) -> "Revision":
        """Return the revision in an item."""
        texts = {name: value["S"] for name, value in item.items() if "S" in value}
        number = (item.get("latest") or item["revision"]).get("N", "0")
        endpoint, _, model = texts["model_key"].partition("#")
        return cls(
            endpoint=endpoint,
            model=model,
            number=int(number) if number.isdecimal() else 0,
            entry=parse_entry(texts.get("entry", "")),
            cause=cast("Cause", texts.get("cause", "deployed")),
            caller=texts.get("caller", ""),
            time=texts.get("time", ""),
            request=texts.get("request", ""),
        )


def parse_entry(text: str) -> Entry:
    """Return the entry in a text, empty if clients cannot read it."""
    try:
        entry = json.loads(text)
        texts = [entry[name] for name in ("model", "version", "endpoint")]
        archive, signature = entry["target_model"], entry["signature"]
    except (ValueError, KeyError, TypeError):
        return {}
    is_entry = all(isinstance(text, str) for text in texts) and isinstance(signature, dict)
    return entry if is_entry and isinstance(archive, str | None) else {}


@dataclass(frozen=True)
class Catalog:
    """The catalog of one endpoint of a stage. Without the table, it is empty."""

    dynamodb: Any
    stage: str
    endpoint: str

    @property
    def name(self) -> str:
        """The table and the endpoint, for messages."""
        return f"{table_name(self.stage)}/{self.endpoint}"

    def current(self, models: Iterable[str] = ()) -> dict[str, Revision]:
        """Return model -> current revision of all models, sorted; removed models are left out.

        Reads are consistent, but the index, which lists the models, may lack an item for a moment
        after it was written: `models` are read in any case.
        """
        names = {revision.model for revision in listed(self.dynamodb, self.stage, self.endpoint)}
        return self.revisions({*names, *models})

    def revisions(self, models: Iterable[str]) -> dict[str, Revision]:
        """Return the current revisions of the models that have one, as `current` does."""
        keys = [self._key(model) for model in sorted(models)]
        items = [
            item
            for start in range(0, len(keys), KEYS_PER_BATCH)
            for item in self._batch(keys[start : start + KEYS_PER_BATCH])
        ]
        revisions = [Revision.of_item(item) for item in items if "entry" in item]
        return {revision.model: revision for revision in sorted(revisions, key=lambda r: r.model)}

    def endpoint_name(self) -> str:
        """Return the endpoint's name in SageMaker: as in the entries, or else the stack's name."""
        entries = (revision.entry for revision in self.current().values())
        names = (str(entry["endpoint"]) for entry in entries if entry)
        return next(names, f"{self.stage}-{self.endpoint}")

    def history(self, model: str) -> list[Revision]:
        """Return all entries that were current, the current one last.

        Removals are left out, and entries that clients cannot read, with a warning.
        """
        revisions = []
        for item in self._revisions(model):
            revision = Revision.of_item(item)
            if revision.entry:
                revisions.append(revision)
            elif "entry" in item:
                name = f"revision {revision.number} of {model} in {self.name}"
                print(f"! {name} is not a catalog entry: left out", file=sys.stderr)  # noqa: T201
        return revisions

    def write(self, entry: Entry, cause: Cause, *, caller: str, replaces: Revision | None) -> None:
        """Make `entry` the current entry of its model in place of `replaces`, None if it has none.

        Raise `ChangedMeanwhile` if the current item is another one.
        """
        model = entry["model"]
        latest = replaces.number if replaces and replaces.number else self._last_number(model)
        item: Item = {
            **self._key(model),
            "entry": {"S": entry_text(entry)},
            "cause": {"S": cause},
            "caller": {"S": caller},
            "time": {"S": datetime.now(UTC).isoformat(timespec="seconds")},
            "request": {"S": replaces.request if replaces else ""},
        }
        number_before, number = {"N": str(latest)}, {"N": str(latest + 1)}
        current = {"latest": number, "endpoint": {"S": self.endpoint}}
        is_new = {"ConditionExpression": "attribute_not_exists(model_key)"}
        is_unchanged: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(entry)"}
        if replaces and not replaces.number:  # written by hand
            is_unchanged = {"ConditionExpression": "attribute_not_exists(latest)"}
        elif replaces:
            is_unchanged = {
                "ConditionExpression": "latest = :latest",
                "ExpressionAttributeValues": {":latest": number_before},
            }
        table = {"TableName": table_name(self.stage)}
        try:
            self.dynamodb.transact_write_items(
                TransactItems=[
                    {"Put": {**table, **is_unchanged, "Item": item | current}},
                    {"Put": {**table, **is_new, "Item": item | {"revision": number}}},
                ]
            )
        except self.dynamodb.exceptions.TransactionCanceledException as error:
            name = f"{model} in {self.name}"
            raise ChangedMeanwhile(f"{name} was changed at the same time: run again") from error

    def delete_command(self, model: str) -> str:
        """Return a command that deletes a model's current item; its history remains."""
        key = shlex.quote(json.dumps(self._key(model), separators=(",", ":")))
        return f"aws dynamodb delete-item --table-name {table_name(self.stage)} --key {key}"

    def _key(self, model: str) -> Item:
        return {"model_key": {"S": f"{self.endpoint}#{model}"}, "revision": {"N": "0"}}

    def _batch(self, keys: list[Item]) -> Iterator[Item]:
        requests: Any = {table_name(self.stage): {"Keys": keys, "ConsistentRead": True}}
        while requests:
            try:
                answer = self.dynamodb.batch_get_item(RequestItems=requests)
            except self.dynamodb.exceptions.ResourceNotFoundException:
                return
            yield from answer["Responses"].get(table_name(self.stage), ())
            requests = answer.get("UnprocessedKeys")

    def _revisions(self, model: str, **options: Any) -> Iterator[Item]:
        key = self._key(model)
        pages = self.dynamodb.get_paginator("query").paginate(
            TableName=table_name(self.stage),
            ConsistentRead=True,
            KeyConditionExpression="model_key = :key AND revision > :current",
            ExpressionAttributeValues={":key": key["model_key"], ":current": key["revision"]},
            **options,
        )
        return (item for page in pages for item in page["Items"])

    def _last_number(self, model: str) -> int:
        """Return the number of the latest revision, or 0."""
        newest = next(self._revisions(model, ScanIndexForward=False), None)
        return Revision.of_item(newest).number if newest else 0


def listed(dynamodb: Any, stage: str, endpoint: str | None = None) -> Iterator[Revision]:
    """Yield the current revisions of an endpoint, or of the whole stage, from the index.

    The index may lack a change for a moment after it was written. Without the table, it is empty.
    """
    request: dict[str, Any] = {"TableName": table_name(stage), "IndexName": INDEX}
    operation = "scan"
    if endpoint is not None:
        operation = "query"
        request["KeyConditionExpression"] = "endpoint = :endpoint"
        request["ExpressionAttributeValues"] = {":endpoint": {"S": endpoint}}
    try:
        for page in dynamodb.get_paginator(operation).paginate(**request):
            for item in page["Items"]:
                # Grants limit writes by key, and not by the attribute of the index.
                if item["model_key"]["S"].startswith(f"{item['endpoint']['S']}#"):
                    yield Revision.of_item(item)
    except dynamodb.exceptions.ResourceNotFoundException:
        return


def stages_with_catalog(dynamodb: Any) -> list[str]:
    """Return the stages that have a catalog in this account and region."""
    pages = dynamodb.get_paginator("list_tables").paginate()
    names = [name for page in pages for name in page["TableNames"]]
    return [name.removeprefix(TABLE_PREFIX) for name in names if name.startswith(TABLE_PREFIX)]
