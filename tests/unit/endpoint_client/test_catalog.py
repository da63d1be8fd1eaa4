"""Look-ups in the catalog, and their cache."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from endpoint_client import (
    CatalogEntry,
    EndpointClient,
    EndpointError,
    Throttled,
    UnknownModel,
)
from endpoint_client._catalog import STALE_SECONDS, UNKNOWN_SECONDS
from tests.unit.endpoint_client.conftest import (
    PREFIX,
    Blocker,
    Response,
    entry_text,
    throttling_error,
)

Clock = Callable[[float], None]
MINILM = f"{PREFIX}minilm"


@pytest.mark.parametrize("model", ["minilm:1", "minilm:old", "../image/bert", "a/b", "", "minilm "])
def test_version_or_path_in_model_name_is_rejected(
    client: EndpointClient, aws: Any, model: str
) -> None:
    aws.entries[f"{PREFIX}{model}"] = entry_text(version="old")
    with pytest.raises(UnknownModel, match="is not a model name"):
        client.resolve(model)
    assert aws.look_ups == []


@pytest.mark.parametrize("value", ["{}", "[]", "not JSON", '{"signature": null}'])
def test_invalid_entry_is_an_error(client: EndpointClient, aws: Any, value: str) -> None:
    aws.entries[MINILM] = value
    message = "^text#minilm in triton-catalog-prod is not a catalog entry"
    with pytest.raises(EndpointError, match=message):
        client.resolve("minilm")


def test_models_of_all_pages_are_listed_sorted(client: EndpointClient, aws: Any) -> None:
    aws.entries |= {
        f"{PREFIX}clip": entry_text("clip"),
        "text-2#other": entry_text(),
        f"{PREFIX}removed": None,
    }
    assert client.models() == ["clip", "minilm"]
    assert len(aws.listings) == 2


def test_listed_models_need_no_look_up(client: EndpointClient, aws: Any, clock: Clock) -> None:
    aws.entries |= {f"{PREFIX}clip": entry_text("clip"), f"{PREFIX}broken": "{}"}
    assert client.models() == ["broken", "clip", "minilm"]
    assert client.resolve("clip").model == "clip"
    assert aws.look_ups == []
    with pytest.raises(EndpointError, match="text#broken"):
        client.resolve("broken")
    aws.entries[MINILM] = entry_text(version="new")
    client.models()
    assert client.resolve("minilm").version == "new"
    clock(61)
    client.resolve("clip")
    assert aws.look_ups == [f"{PREFIX}broken", f"{PREFIX}clip"]


def test_item_of_another_endpoint_in_the_index_is_ignored(client: EndpointClient, aws: Any) -> None:
    aws.entries["text-2#fraud"] = entry_text("fraud")
    aws.in_every_index.add("text-2#fraud")
    assert client.models() == ["minilm"]
    with pytest.raises(EndpointError, match="fraud"):
        client.resolve("fraud")


def test_new_version_is_used_after_the_ttl(client: EndpointClient, aws: Any, clock: Clock) -> None:
    first = client.resolve("minilm")
    aws.entries[MINILM] = entry_text(version="new")
    clock(53.9)
    assert client.resolve("minilm") is first
    clock(6.2)  # together 60.1 s, more than the maximum with jitter
    assert client.resolve("minilm").version == "new"
    clock(53.9)
    client.resolve("minilm")
    assert len(aws.look_ups) == 2


# Unknown names


@pytest.mark.parametrize("names", ["minilm", "none: is the endpoint deployed?"])
def test_error_of_unknown_model_lists_existing_models(
    client: EndpointClient, aws: Any, names: str
) -> None:
    if names != "minilm":
        aws.entries.clear()
    with pytest.raises(UnknownModel) as raised:
        client.invoke("bert", {})
    assert str(raised.value) == f"no model 'bert' in triton-catalog-prod/text: there are {names}"
    assert not raised.value.retry_safe
    assert aws.requests == []


def test_unknown_name_is_cached_for_a_short_time(
    client: EndpointClient, aws: Any, clock: Clock
) -> None:
    aws.entries |= {f"{PREFIX}model-{number}": entry_text() for number in range(5)}
    for _ in range(10):
        with pytest.raises(UnknownModel, match="no model 'new'"):
            client.resolve("new")
    assert (len(aws.look_ups), len(aws.listings)) == (1, 1)
    aws.entries[f"{PREFIX}new"] = entry_text("new")
    clock(UNKNOWN_SECONDS)
    assert client.resolve("new").model == "new"


def test_retired_model_is_unknown_after_the_ttl(
    client: EndpointClient, aws: Any, clock: Clock
) -> None:
    client.resolve("minilm")
    aws.entries[MINILM] = None
    clock(61)
    for _ in range(2):
        with pytest.raises(UnknownModel):
            client.resolve("minilm")
    assert len(aws.look_ups) == 2


# Concurrent look-ups


def test_concurrent_threads_share_one_look_up(sync_client: EndpointClient, aws: Any) -> None:
    barrier = threading.Barrier(8)

    def resolve(_: int) -> CatalogEntry:
        barrier.wait()
        return sync_client.resolve("minilm")

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(resolve, range(8)))) == 1
    assert len(aws.look_ups) == 1


def test_expired_entry_is_used_during_its_refresh(
    sync_client: EndpointClient, aws: Any, clock: Clock
) -> None:
    sync_client.resolve("minilm")
    clock(61)
    aws.entries[MINILM] = entry_text(version="new")
    aws.before_look_up = blocker = Blocker()
    with ThreadPoolExecutor(1) as pool:
        refreshed = pool.submit(sync_client.resolve, "minilm")
        blocker.reached.wait()
        assert sync_client.resolve("minilm").version == "0123456789ab"
        blocker.released.set()
        assert refreshed.result().version == "new"


# Errors of the catalog


def test_stale_entry_is_used_with_a_warning_for_a_limited_time(
    client: EndpointClient, aws: Any, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    client.resolve("minilm")
    aws.catalog_responses = [
        throttling_error(),
        Response.error("InternalServerError", "error", status=500),
        Response(200, b"{", truncated=True),
        Response(200, b'{"Item": {"entry": {"S": "{}"}}}'),
    ]
    for number in range(4):
        clock(61)
        for _ in range(5):
            assert client.resolve("minilm").version == "0123456789ab"
        assert len(aws.look_ups) == 2 + number
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 4
    assert caplog.messages[0].startswith("using stale catalog entry 'minilm 0123456789ab'")
    aws.catalog_responses = [throttling_error()] * 3
    clock(STALE_SECONDS)
    with pytest.raises(Throttled):
        client.resolve("minilm")


def test_throttled_look_up_is_retried(
    client: EndpointClient, aws: Any, pauses: list[float]
) -> None:
    aws.catalog_responses = [throttling_error()] * 2
    assert client.resolve("minilm").model == "minilm"
    assert (len(aws.look_ups), len(pauses)) == (3, 2)


def test_denied_access_to_the_catalog_is_an_endpoint_error(
    client: EndpointClient, aws: Any
) -> None:
    name = "triton-catalog-prod/text"
    for call, message in (
        (lambda: client.resolve("minilm"), f"cannot look 'minilm' up in {name}: no"),
        (client.models, f"cannot list the models of {name}: no"),
    ):
        aws.catalog_responses = [Response.error("AccessDeniedException", "no")]
        with pytest.raises(EndpointError, match=f"^{message}$") as raised:
            call()
        assert type(raised.value) is EndpointError
        cause: Any = raised.value.__cause__
        assert cause.response["Error"]["Code"] == "AccessDeniedException"


def test_unknown_model_is_reported_to_callers_that_may_not_list(
    client: EndpointClient, aws: Any
) -> None:
    aws.entries[f"{PREFIX}mine"] = None
    aws.catalog_responses = [Response(200, b"{}"), Response.error("AccessDeniedException", "no")]
    with pytest.raises(UnknownModel, match=r"no model 'mine' in .*: there are models that are not"):
        client.resolve("mine")
