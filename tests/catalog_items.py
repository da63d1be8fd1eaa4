"""Catalogs in tests: a DynamoDB in this process, tables, and entries that tests write."""

import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from ministack.services import dynamodb as ministack

from plan.catalog import Catalog, Entry, Revision
from platform_facts.rules.catalog import INDEX, table_name

_LOCK = threading.Lock()
"""ministack answers one request after the other."""


class _Body:
    """A complete body in the form that botocore reads."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self) -> Iterator[bytes]:
        yield self._content


def memory_dynamodb() -> Any:
    """Return a boto3 client whose requests ministack answers in this process, without tables."""
    ministack.reset()
    session = boto3.Session("test", "test", region_name="us-east-1")
    client: Any = session.client("dynamodb", config=Config(retries={"total_max_attempts": 1}))
    client.meta.events.register("before-send", _answer)
    return client


def _answer(request: AWSPreparedRequest, **_: Any) -> AWSResponse:
    headers = {
        name.lower(): value.decode() if isinstance(value, bytes) else value
        for name, value in request.headers.items()
    }
    body: Any = request.body
    path = urlsplit(request.url).path
    with _LOCK:
        request_handling = ministack.handle_request("POST", path, headers, body, {})
        try:
            request_handling.send(None)  # it never waits, and an event loop may be running
        except StopIteration as end:
            status, response_headers, content = end.value
    content = content if isinstance(content, bytes) else content.encode()
    raw: Any = _Body(content)
    return AWSResponse(request.url, status, response_headers, raw)


def create_table(dynamodb: Any, stage: str) -> None:
    """Create the table of a stage; `tests/synth/test_contracts.py` compares it with the stack's."""
    dynamodb.create_table(TableName=table_name(stage), BillingMode="PAY_PER_REQUEST", **SCHEMA)


def memory_catalog(stage: str) -> Catalog:
    """Return the catalog of the endpoint `text` of a stage, in this process."""
    dynamodb = memory_dynamodb()
    create_table(dynamodb, stage)
    return Catalog(dynamodb, stage, "text")


SCHEMA: Any = {
    "AttributeDefinitions": [
        {"AttributeName": "model_key", "AttributeType": "S"},
        {"AttributeName": "revision", "AttributeType": "N"},
        {"AttributeName": "endpoint", "AttributeType": "S"},
    ],
    "KeySchema": [
        {"AttributeName": "model_key", "KeyType": "HASH"},
        {"AttributeName": "revision", "KeyType": "RANGE"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": INDEX,
            "KeySchema": [
                {"AttributeName": "endpoint", "KeyType": "HASH"},
                {"AttributeName": "model_key", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


def write_entry(catalog: Catalog, entry: Entry, *, cause: Any = "deployed") -> None:
    """Make an entry current, whatever is current now."""
    model = entry["model"]
    catalog.write(entry, cause, caller="arn:ada", replaces=current(catalog, model))


def current(catalog: Catalog, model: str) -> Revision | None:
    """Return the current revision of a model."""
    return catalog.current([model]).get(model)


def current_key(endpoint: str, model: str) -> dict[str, Any]:
    """Return the key of the current item of a model."""
    return {"model_key": {"S": f"{endpoint}#{model}"}, "revision": {"N": "0"}}


def break_entry(catalog: Catalog, model: str, text: str = "9999") -> None:
    """Replace a model's entry by another text, as a person without tritonsm would."""
    item = {"endpoint": {"S": catalog.endpoint}, "entry": {"S": text}}
    catalog.dynamodb.put_item(
        TableName=table_name(catalog.stage), Item=current_key(catalog.endpoint, model) | item
    )


def delete_entry(catalog: Catalog, model: str) -> None:
    """Delete a model's current item by hand."""
    key = current_key(catalog.endpoint, model)
    catalog.dynamodb.delete_item(TableName=table_name(catalog.stage), Key=key)
