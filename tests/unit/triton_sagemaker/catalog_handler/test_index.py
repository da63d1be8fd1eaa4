"""The Lambda function of CatalogWriter, loaded from its file as Lambda does."""

import hashlib
import json
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import count
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from plan.catalog import Catalog
from platform_facts.rules.catalog import entry_text, list_text
from tests.catalog_items import create_table, current, delete_entry, memory_dynamodb, write_entry
from tests.modules import load_module

INDEX = Path(__file__).parents[4] / "constructs/triton_sagemaker/catalog_handler/index.py"
STACK = "arn:aws:cloudformation:us-east-1:000000000000:stack/prod-text/0a1b"

_Versions = dict[str, str]
"""Model -> version."""


class Account:
    """The account of a stage: a table, lists in a bucket, and the events of a stack."""

    def __init__(self, handler: ModuleType) -> None:
        self.handler, self.dynamodb = handler, memory_dynamodb()
        create_table(self.dynamodb, "prod")
        self.catalog = Catalog(self.dynamodb, "prod", "text")
        self.lists: dict[str, bytes] = {}
        self.stack_status = "UPDATE_IN_PROGRESS"
        self.keeps, self.keys = False, set[str]()
        self._requests = count(1)

    def client(self, service: str, **_: object) -> Any:
        return self.dynamodb if service == "dynamodb" else self

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        assert Bucket == "assets"
        return {"Body": BytesIO(self.lists[Key])}

    def get_paginator(self, operation: str) -> Any:
        def paginate(*, Bucket: str, Prefix: str, Delimiter: str) -> Iterator[dict[str, Any]]:  # noqa: N803
            assert (operation, Bucket, Delimiter) == ("list_objects_v2", "models", "/")
            yield {}
            yield {"Contents": [{"Key": key} for key in self.keys if key.startswith(Prefix)]}

        return SimpleNamespace(paginate=paginate)

    def build(self, model: str, version: str) -> None:
        """Write an archive and its manifest."""
        self.keys |= {f"text/cpu/{model}-{version}{suffix}" for suffix in (".tar.gz", ".json")}

    def describe_stacks(self, *, StackName: str) -> dict[str, Any]:  # noqa: N803
        assert StackName == STACK
        return {"Stacks": [{"StackStatus": self.stack_status}]}

    def event(self, kind: str, new: _Versions, old: _Versions | None = None) -> dict[str, Any]:
        """Return the event of the provider framework for a new list, and the one before it."""
        event = {"RequestType": kind, "StackId": STACK, "RequestId": f"r{next(self._requests)}"}
        event["ResourceProperties"] = self._properties(new)  # type: ignore[assignment]
        if old is not None:
            event["OldResourceProperties"] = self._properties(old)  # type: ignore[assignment]
        return event

    def send(self, kind: str, new: _Versions, old: _Versions | None = None) -> dict[str, str]:
        """Send an event; return the counts in the answer."""
        return self.answer(self.event(kind, new, old))

    def answer(self, event: dict[str, Any]) -> dict[str, str]:
        answer: dict[str, Any] = self.handler.handle(event, None)
        assert answer["PhysicalResourceId"] == "triton-catalog-prod/text"
        assert len(json.dumps(answer)) < 4096
        return dict(answer["Data"])

    def fail(self, new: _Versions, old: _Versions) -> dict[str, str]:
        """Roll an update from `old` to `new` back, as CloudFormation does."""
        self.stack_status = "UPDATE_ROLLBACK_IN_PROGRESS"
        return self.send("Update", old, new)

    def publish(self, model: str, version: str) -> None:
        write_entry(self.catalog, entry(model, version), cause="published")

    @property
    def versions(self) -> _Versions:
        """The versions in the catalog."""
        return {name: revision.version for name, revision in self.catalog.current().items()}

    def _properties(self, versions: _Versions) -> dict[str, Any]:
        content = list_text(entry_text(entry(*item)) for item in versions.items()).encode()
        digest = hashlib.sha256(content).hexdigest()
        self.lists[f"prod/{digest}.jsonl"] = content
        names = {"ServiceToken": "arn", "Table": "triton-catalog-prod", "Endpoint": "text"}
        keep = {"Archives": ["models/text/cpu/"]} if self.keeps else {}
        return {**names, **keep, "Digest": digest, "List": f"assets/prod/{digest}.jsonl"}


def entry(model: str, version: str) -> dict[str, Any]:
    return {
        "model": model,
        "version": version,
        "endpoint": "prod-text",
        "target_model": f"{model}-{version}.tar.gz",
        "signature": {},
    }


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Account:
    account = Account(load_module(INDEX))
    monkeypatch.setattr("boto3.client", account.client)
    monkeypatch.setattr("time.sleep", lambda _: None)
    return account


def test_published_version_stays_until_a_deploy_changes_its_model(account: Account) -> None:
    account.send("Create", {"a": "1", "b": "1"})
    account.publish("a", "published")
    account.send("Update", {"a": "1", "b": "2"}, {"a": "1", "b": "1"})
    assert account.versions == {"a": "published", "b": "2"}
    account.send("Update", {"a": "3", "b": "2"}, {"a": "1", "b": "2"})
    assert account.versions == {"a": "3", "b": "2"}


def test_removed_model_is_deleted_unless_it_was_published(account: Account) -> None:
    old = {"a": "1", "b": "1", "c": "1"}
    account.send("Create", old)
    account.publish("b", "2")
    counts = account.send("Update", {"a": "1"}, old)
    assert counts == {"Kept": "1", "Removed": "1"}
    assert account.versions == {"a": "1", "b": "2"}
    account.send("Update", {"a": "1", "c": "4"}, {"a": "1"})
    assert account.versions == {"a": "1", "b": "2", "c": "4"}
    assert [revision.version for revision in account.catalog.history("c")] == ["1", "4"]


def test_removal_of_a_deleted_item_changes_nothing(account: Account) -> None:
    account.send("Create", {"a": "1", "b": "1"})
    delete_entry(account.catalog, "b")
    assert account.send("Update", {"a": "1"}, {"a": "1", "b": "1"}) == {"Kept": "1"}


def test_rollback_restores_a_published_version_that_the_deploy_replaced(account: Account) -> None:
    account.send("Create", {"a": "1"})
    account.publish("a", "published")
    account.send("Update", {"a": "2"}, {"a": "1"})
    assert account.versions == {"a": "2"}
    account.fail({"a": "2"}, {"a": "1"})
    assert account.versions == {"a": "published"}


@pytest.mark.parametrize(
    "changes",
    [
        {"latest": {"N": "9.9E+125"}},
        {"latest": {"N": "1.5"}},
        {"latest": {"N": "1"}},
        {"latest": {"S": "3"}},
        {"latest": {"L": []}},
        {"latest": {"N": "0"}, "entry": {"L": []}},
        {"latest": {"N": "1000000000000000001"}, "revision": {"N": "1000000000000000001"}},
        {"latest": {"N": "9.9E+125"}, "revision": {"N": "1000000000000000000"}},
    ],
)
def test_rollback_ends_whatever_a_publisher_has_written(
    account: Account, changes: dict[str, Any]
) -> None:
    """Its grant is by model, the leading key: a failed rollback would stop the whole stack."""
    old, new = {"a": "1", "b": "1"}, {"a": "2", "b": "2"}
    account.send("Create", old)
    account.send("Update", new, old)
    table = "triton-catalog-prod"
    key = {"model_key": {"S": "text#a"}, "revision": {"N": "0"}}
    item = account.dynamodb.get_item(TableName=table, Key=key)["Item"]
    account.dynamodb.put_item(TableName=table, Item=item | changes)
    account.dynamodb.put_item(TableName=table, Item=item | {**changes, **key})
    account.fail(new, old)
    assert account.versions["b"] == "1"
    account.stack_status = "UPDATE_IN_PROGRESS"
    account.send("Update", new, old)
    assert account.versions == new


def test_rollback_keeps_a_version_published_after_the_deploy(account: Account) -> None:
    account.send("Create", {"a": "1", "b": "1"})
    new = {"a": "2", "b": "2"}
    account.send("Update", new, {"a": "1", "b": "1"})
    account.publish("a", "published")
    assert account.fail(new, {"a": "1", "b": "1"}) == {"Kept": "1", "Written": "1"}
    assert account.versions == {"a": "published", "b": "1"}


@pytest.mark.parametrize("fails", [False, True])
def test_repeated_event_changes_nothing(account: Account, *, fails: bool) -> None:
    old, new = {"a": "1", "b": "1"}, {"a": "2"}
    account.send("Create", old)
    event = account.event("Update", new, old)
    account.answer(event)
    if fails:
        account.stack_status = "UPDATE_ROLLBACK_IN_PROGRESS"
        event = account.event("Update", old, new)
        account.answer(event)
    account.publish("a", "published")
    versions, history = account.versions, account.catalog.history("a")
    assert account.answer(event) == {"Repeated": "2"}
    assert account.versions == versions
    assert account.catalog.history("a") == history


def test_interrupted_event_is_completed_when_it_is_repeated(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = account.event("Create", {"a": "1", "b": "1"})
    change: Callable[..., str] = account.handler.Table.change

    def interrupt(table: Any, model: str, decide: Any) -> str:
        if model == "b":
            raise TimeoutError
        return change(table, model, decide)

    monkeypatch.setattr(account.handler.Table, "change", interrupt)
    with pytest.raises(TimeoutError):
        account.answer(event)
    monkeypatch.setattr(account.handler.Table, "change", change)
    assert account.answer(event) == {"Repeated": "1", "Written": "1"}


@pytest.mark.parametrize("fails", [False, True])
def test_version_that_is_published_meanwhile_is_not_lost(
    account: Account, monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    account.send("Create", {"a": "1"})
    if fails:
        account.send("Update", {"a": "2"}, {"a": "1"})
    write: Callable[..., None] = account.handler.Table._write

    def publish_before(*arguments: Any, **options: Any) -> None:
        monkeypatch.setattr(account.handler.Table, "_write", write)
        account.publish("a", "published")
        write(*arguments, **options)

    monkeypatch.setattr(account.handler.Table, "_write", publish_before)
    if fails:
        account.fail({"a": "2"}, {"a": "1"})
        assert account.versions == {"a": "published"}
    else:
        account.send("Update", {"a": "2"}, {"a": "1"})
        assert account.versions == {"a": "2"}
        assert [r.version for r in account.catalog.history("a")] == ["1", "published", "2"]


def test_deleted_endpoint_has_no_entries(account: Account) -> None:
    account.send("Create", {"a": "1"})
    account.publish("by-hand", "1")
    other = Catalog(account.dynamodb, "prod", "vision")
    write_entry(other, entry("a", "1"))
    assert account.send("Delete", {"a": "1"}) == {"Removed": "2"}
    assert account.versions == {}
    assert current(other, "a")
    assert account.send("Delete", {"a": "1"}) == {}


def test_list_with_another_digest_is_refused(account: Account) -> None:
    event = account.event("Create", {"a": "1"})
    account.lists = dict.fromkeys(account.lists, b"{}\n")
    with pytest.raises(RuntimeError, match=r"s3://assets/prod/.* has the SHA-256"):
        account.answer(event)
    assert account.versions == {}


@pytest.fixture
def keeping(account: Account) -> Account:
    """An account after a second deploy, whose builds of model b and of the new model c failed."""
    account.keeps = True
    account.build("a", "1")
    account.build("b", "1")
    account.send("Create", {"a": "1", "b": "1"})
    account.build("a", "2")
    counts = account.send("Update", SECOND, {"a": "1", "b": "1"})
    assert counts == {"Written": "1", "Unbuilt": "2"}
    return account


SECOND = {"a": "2", "b": "2", "c": "1"}


def test_model_without_an_archive_keeps_its_entry(keeping: Account) -> None:
    assert keeping.versions == {"a": "2", "b": "1"}
    keeping.keys.add("text/cpu/b-2.tar.gz")  # its manifest is written last
    keeping.send("Update", {**SECOND, "a": "1"}, SECOND)
    assert keeping.versions == {"a": "1", "b": "1"}


@pytest.mark.parametrize("keeps", [False, True])
def test_later_deploy_writes_what_was_kept(keeping: Account, *, keeps: bool) -> None:
    old = keeping.event("Update", SECOND, SECOND)
    keeping.build("b", "2")
    keeping.build("c", "1")
    keeping.keeps = keeps
    event = {**keeping.event("Update", SECOND), "OldResourceProperties": old["ResourceProperties"]}
    keeping.answer(event)
    assert keeping.versions == SECOND


def test_published_version_is_none_that_was_kept(keeping: Account) -> None:
    keeping.publish("b", "published")
    keeping.build("b", "2")
    keeping.send("Update", {**SECOND, "a": "1"}, SECOND)
    assert keeping.versions == {"a": "1", "b": "published"}


def test_rollback_restores_an_entry_that_was_kept_before(keeping: Account) -> None:
    keeping.build("b", "2")
    keeping.send("Update", {**SECOND, "a": "1"}, SECOND)
    assert keeping.versions == {"a": "1", "b": "2"}
    keeping.fail({**SECOND, "a": "1"}, SECOND)
    assert keeping.versions == {"a": "2", "b": "1"}


def test_model_whose_entry_was_kept_is_removed(keeping: Account) -> None:
    keeping.send("Update", {"a": "2"}, SECOND)
    assert keeping.versions == {"a": "2"}
