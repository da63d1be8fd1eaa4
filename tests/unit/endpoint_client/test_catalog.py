import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from endpoint_client import (
    CatalogEntry,
    EndpointClient,
    EndpointError,
    NotSent,
    Tensor,
    Throttled,
    UnknownModel,
)
from endpoint_client._catalog import MAX_UNKNOWN, STALE_SECONDS, UNKNOWN_SECONDS
from tests.unit.endpoint_client.conftest import PREFIX, Answer, New, parameter

Clock = Callable[[float], None]
MINILM = f"{PREFIX}/minilm"


def test_a_parameter_says_how_the_model_is_invoked() -> None:
    assert CatalogEntry.parse(parameter()) == CatalogEntry(
        model="minilm",
        version="0123456789ab",
        endpoint="prod-text",
        target_model="minilm-0123456789ab.tar.gz",
        inputs=(Tensor("TEXT", "BYTES", (-1, 1)),),
        outputs=(Tensor("EMBEDDING", "FP32", (-1, 384)),),
        max_batch_size=8,
    )


@pytest.mark.parametrize("model", ["minilm:1", "minilm:old", "../image/bert", "a/b", "", "minilm "])
def test_a_version_or_a_path_is_no_model_s_name(
    client: EndpointClient, aws: Any, model: str
) -> None:
    # Systems Manager takes NAME:VERSION and NAME:LABEL (API reference, GetParameter, Name).
    aws.parameters[f"{PREFIX}/{model}"] = parameter(version="old")
    with pytest.raises(UnknownModel, match="is not a model name"):
        client.resolve(model)
    assert aws.look_ups == []


@pytest.mark.parametrize("value", ["{}", "[]", "not JSON", '{"signature": null}'])
def test_a_parameter_that_is_no_entry_is_named(
    client: EndpointClient, aws: Any, value: str
) -> None:
    aws.parameters[MINILM] = value
    with pytest.raises(EndpointError, match=f"{MINILM} is not a catalog entry"):
        client.resolve("minilm")


def test_a_bad_parameter_does_not_end_the_use_of_a_good_one(
    client: EndpointClient, aws: Any, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    client.resolve("minilm")
    aws.parameters[MINILM] = "{}"
    clock(61)
    for _ in range(5):
        assert client.resolve("minilm").version == "0123456789ab"
    assert len(aws.look_ups) == 2
    assert "using stale catalog entry " in caplog.text


def test_a_parameter_may_say_more_than_is_read() -> None:
    assert CatalogEntry.parse(parameter(added_later={"a": 1})).model == "minilm"


def test_the_models_of_all_pages_are_listed_sorted(client: EndpointClient, aws: Any) -> None:
    aws.parameters |= {f"{PREFIX}/clip": parameter("clip"), "/triton/dev/text/other": parameter()}
    assert client.models() == ["clip", "minilm"]


def test_an_entry_is_looked_up_once_while_it_is_fresh(
    client: EndpointClient, aws: Any, clock: Clock
) -> None:
    first = client.resolve("minilm")
    clock(53.9)
    assert client.resolve("minilm") is first
    assert aws.look_ups == [MINILM]


def test_a_new_version_is_used_once_the_old_entry_is_stale(
    client: EndpointClient, aws: Any, clock: Clock
) -> None:
    client.resolve("minilm")
    aws.parameters[MINILM] = parameter(version="new")
    clock(53.9)
    assert client.resolve("minilm").version == "0123456789ab"
    clock(6.2)  # 60 s and no more, whatever the jitter
    assert client.resolve("minilm").version == "new"
    clock(53.9)
    client.resolve("minilm")
    assert len(aws.look_ups) == 2


def test_processes_that_began_together_do_not_look_up_together(
    new_client: New, aws: Any, clock: Clock
) -> None:
    clients = [new_client() for _ in range(20)]
    for client in clients:
        client.resolve("minilm")
    clock(57)
    for client in clients:
        client.resolve("minilm")
    assert 20 < len(aws.look_ups) < 40


def test_each_model_is_remembered_for_itself(client: EndpointClient, aws: Any) -> None:
    aws.parameters[f"{PREFIX}/other"] = parameter("other")
    for _ in range(2):
        assert [client.resolve(each).model for each in ("minilm", "other")] == ["minilm", "other"]
    assert len(aws.look_ups) == 2


# Unknown names


def test_an_unknown_model_is_refused_with_those_there_are(client: EndpointClient, aws: Any) -> None:
    with pytest.raises(UnknownModel) as refused:
        client.resolve("minilm-l6")
    assert str(refused.value) == "no model 'minilm-l6' in /triton/prod/text: there are minilm"
    assert not refused.value.retry_safe


def test_an_unknown_model_of_an_empty_catalog_asks_whether_anything_is_deployed(
    client: EndpointClient, aws: Any
) -> None:
    aws.parameters.clear()
    with pytest.raises(UnknownModel, match=r"there are none: is the endpoint deployed\?$"):
        client.resolve("minilm")


def test_an_unknown_name_costs_two_calls_and_then_none_for_a_while(
    client: EndpointClient, aws: Any, clock: Clock
) -> None:
    aws.parameters |= {f"{PREFIX}/model-{number}": parameter() for number in range(5)}
    for _ in range(10):
        with pytest.raises(UnknownModel, match="no model 'new'"):
            client.resolve("new")
    assert (len(aws.look_ups), len(aws.listings)) == (1, 1)
    aws.parameters[f"{PREFIX}/new"] = parameter("new")
    clock(UNKNOWN_SECONDS)
    assert client.resolve("new").model == "new"


def test_a_model_that_was_retired_is_unknown_once_its_entry_is_stale(
    client: EndpointClient, aws: Any, clock: Clock
) -> None:
    client.resolve("minilm")
    del aws.parameters[MINILM]
    clock(61)
    for _ in range(2):
        with pytest.raises(UnknownModel):
            client.resolve("minilm")
    assert len(aws.look_ups) == 2


def test_unknown_names_do_not_fill_the_memory(new_client: New, aws: Any) -> None:
    client: Any = new_client()
    catalog = getattr(client, "threads", client)._catalog
    client.resolve("minilm")
    for number in range(MAX_UNKNOWN + 1):
        catalog._new(f"typo-{number}")
    assert len(catalog._known) < MAX_UNKNOWN
    client.resolve("minilm")
    assert aws.look_ups == [MINILM]


def test_unknown_names_may_be_dropped_while_another_thread_adds_one(aws: Any) -> None:
    with EndpointClient(stage="prod", endpoint="text", session=aws) as client:
        catalog = client._catalog

        class Slow:
            """What is known of a name; another thread adds one while it is read."""

            @property
            def entry(self) -> None:
                known.setdefault((0, f"new-{len(known)}"), Slow())

        known: Any = catalog._known
        known |= {(0, f"typo-{number}"): Slow() for number in range(MAX_UNKNOWN)}
        assert client.resolve("minilm").model == "minilm"


# A catalog that is slow or away


def test_threads_that_come_at_once_share_one_look_up(aws: Any) -> None:
    many = threading.Barrier(9)
    with EndpointClient(stage="prod", endpoint="text", session=aws) as client:

        def resolve(_: int) -> CatalogEntry:
            many.wait()
            return client.resolve("minilm")

        with ThreadPoolExecutor(8) as pool:
            entries = pool.map(resolve, range(8))
            many.wait()
            assert len(set(entries)) == 1
    assert len(aws.look_ups) == 1


def test_a_model_that_is_known_does_not_wait_for_the_look_up_of_another(aws: Any) -> None:
    aws.parameters[f"{PREFIX}/slow"] = parameter("slow")
    looking, answered = threading.Event(), threading.Event()

    def wait(name: str) -> None:
        if name.endswith("slow"):
            looking.set()
            answered.wait()

    aws.before_look_up = wait
    with EndpointClient(stage="prod", endpoint="text", session=aws) as client:
        client.resolve("minilm")
        with ThreadPoolExecutor(1) as pool:
            slow = pool.submit(client.resolve, "slow")
            looking.wait()
            assert client.resolve("minilm").model == "minilm"
            answered.set()
            assert slow.result().model == "slow"


def test_who_comes_while_an_entry_is_refreshed_uses_the_old_one(aws: Any, clock: Clock) -> None:
    looking, answered = threading.Event(), threading.Event()

    def wait(_: str) -> None:
        looking.set()
        answered.wait()

    with EndpointClient(stage="prod", endpoint="text", session=aws) as client:
        client.resolve("minilm")
        clock(61)
        aws.parameters[MINILM] = parameter(version="new")
        aws.before_look_up = wait
        with ThreadPoolExecutor(1) as pool:
            refreshed = pool.submit(client.resolve, "minilm")
            looking.wait()
            assert client.resolve("minilm").version == "0123456789ab"
            answered.set()
            assert refreshed.result().version == "new"


def unreadable() -> list[Answer]:
    return [
        Answer.error("ThrottlingException", "Rate exceeded"),
        Answer.error("InternalServerError", "sorry", status=500),
        Answer(200, b"{", breaks_off=True),
    ]


def test_an_entry_is_used_on_while_the_catalog_cannot_be_read_with_a_warning_and_a_bound(
    client: EndpointClient, aws: Any, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    client.resolve("minilm")
    aws.catalog_answers = unreadable()
    for number in range(3):
        clock(61)
        for _ in range(5):
            assert client.resolve("minilm").version == "0123456789ab"
        assert len(aws.look_ups) == 2 + number  # not once a call
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 3
    assert caplog.messages[0] == (
        "using stale catalog entry 'minilm 0123456789ab': cannot look 'minilm' up in "
        "/triton/prod/text: Rate exceeded"
    )
    aws.catalog_answers = [Answer.error("ThrottlingException", "Rate exceeded")] * 3
    clock(STALE_SECONDS)
    with pytest.raises(Throttled):
        client.resolve("minilm")


def test_a_catalog_that_is_throttled_is_asked_again(
    client: EndpointClient, aws: Any, sleeps: list[float]
) -> None:
    aws.catalog_answers = [Answer.error("ThrottlingException", "Rate exceeded")] * 2
    assert client.resolve("minilm").model == "minilm"
    assert (len(aws.look_ups), len(sleeps)) == (3, 2)


def test_a_catalog_that_may_not_be_read_is_an_endpoint_error_with_its_cause(
    client: EndpointClient, aws: Any
) -> None:
    for read, message in (
        (lambda: client.resolve("minilm"), "cannot look 'minilm' up in /triton/prod/text: no"),
        (client.models, "cannot list the models of /triton/prod/text: no"),
    ):
        aws.catalog_answers = [Answer.error("AccessDeniedException", "no")]
        with pytest.raises(EndpointError, match=f"^{message}$") as refused:
            read()
        assert type(refused.value) is EndpointError
        cause: Any = refused.value.__cause__
        assert cause.response["Error"]["Code"] == "AccessDeniedException"


def test_a_catalog_that_does_not_answer_means_that_nothing_was_sent(
    client: EndpointClient, aws: Any
) -> None:
    aws.catalog_answers = [Answer(200, b"{", breaks_off=True)] * 3
    with pytest.raises(NotSent, match=r"^cannot look 'minilm' up in /triton/prod/text: "):
        client.invoke("minilm", {"TEXT": ["one"]})
    assert aws.requests == []


def test_an_entry_of_the_first_distribution_has_no_batch_size() -> None:
    content = json.loads(parameter())
    del content["signature"]["max_batch_size"]
    assert CatalogEntry.parse(json.dumps(content)).max_batch_size == 0
