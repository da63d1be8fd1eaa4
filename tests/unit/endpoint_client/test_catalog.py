import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from endpoint_client import CatalogEntry, EndpointError, Tensor, UnknownModel
from endpoint_client._catalog import Catalog
from tests.unit.endpoint_client.conftest import FakeSsm, parameter

Clock = Callable[[float], None]
PREFIX = "/triton/prod/text"


@pytest.fixture
def ssm() -> Any:
    made = FakeSsm()
    made.parameters[f"{PREFIX}/minilm"] = parameter()
    return made


def test_a_parameter_says_how_the_model_is_invoked() -> None:
    assert CatalogEntry.parse(parameter()) == CatalogEntry(
        model="minilm",
        version="0123456789ab",
        endpoint="prod-text",
        target_model="minilm-0123456789ab.tar.gz",
        inputs=(Tensor("TEXT", "BYTES", (-1, 1)),),
        outputs=(Tensor("EMBEDDING", "FP32", (-1, 384)),),
    )


@pytest.mark.parametrize("model", ["minilm:1", "minilm:old", "../image/bert", "a/b", "", "minilm "])
def test_a_version_or_a_path_is_no_model_s_name(ssm: Any, model: str) -> None:
    # Systems Manager takes NAME:VERSION and NAME:LABEL (API reference, GetParameter, Name).
    ssm.parameters[f"{PREFIX}/{model}"] = parameter(version="old")
    with pytest.raises(UnknownModel, match="is no model's name"):
        Catalog(ssm, prefix=PREFIX, ttl=60).resolve(model)
    assert ssm.asked == []


@pytest.mark.parametrize("value", ["{}", "[]", "not JSON", '{"signature": null}'])
def test_a_parameter_that_is_no_entry_is_named(ssm: Any, value: str) -> None:
    ssm.parameters[f"{PREFIX}/minilm"] = value
    with pytest.raises(EndpointError, match=f"{PREFIX}/minilm is not a catalog entry"):
        Catalog(ssm, prefix=PREFIX, ttl=0).resolve("minilm")


def test_a_parameter_may_say_more_than_is_read() -> None:
    assert CatalogEntry.parse(parameter(added_later={"a": 1})).model == "minilm"


def test_an_entry_is_asked_for_once_while_it_is_fresh(ssm: Any, clock: Clock) -> None:
    catalog = Catalog(ssm, prefix=PREFIX, ttl=60)
    first = catalog.resolve("minilm")
    clock(59.9)
    assert catalog.resolve("minilm") is first
    assert ssm.asked == [f"{PREFIX}/minilm"]


def test_a_new_version_is_seen_once_the_old_entry_is_stale(ssm: Any, clock: Clock) -> None:
    catalog = Catalog(ssm, prefix=PREFIX, ttl=60)
    catalog.resolve("minilm")
    ssm.parameters[f"{PREFIX}/minilm"] = parameter(version="new")
    clock(59.9)
    assert catalog.resolve("minilm").version == "0123456789ab"
    clock(0.2)
    assert catalog.resolve("minilm").version == "new"
    clock(59.9)
    catalog.resolve("minilm")
    assert len(ssm.asked) == 2


def test_each_model_is_remembered_for_itself(ssm: Any, clock: Clock) -> None:
    ssm.parameters[f"{PREFIX}/other"] = parameter("other")
    catalog = Catalog(ssm, prefix=PREFIX, ttl=60)
    for _ in range(2):
        assert [catalog.resolve(it).model for it in ("minilm", "other")] == ["minilm", "other"]
    assert len(ssm.asked) == 2


def test_an_unknown_model_is_refused_with_those_there_are(ssm: Any) -> None:
    ssm.parameters |= {f"{PREFIX}/clip": parameter("clip"), "/triton/dev/text/other": parameter()}
    with pytest.raises(UnknownModel) as refused:
        Catalog(ssm, prefix=PREFIX, ttl=60).resolve("minilm-l6")
    assert str(refused.value) == "no model 'minilm-l6' in /triton/prod/text: there are clip, minilm"
    assert refused.value.__suppress_context__


def test_an_unknown_model_of_an_empty_catalog_asks_whether_anything_is_deployed() -> None:
    empty: Any = FakeSsm()
    with pytest.raises(UnknownModel, match=r"there are none: is the endpoint deployed\?$"):
        Catalog(empty, prefix=PREFIX, ttl=60).resolve("minilm")


def test_a_model_that_was_unknown_is_looked_for_again(ssm: Any, clock: Clock) -> None:
    catalog = Catalog(ssm, prefix=PREFIX, ttl=60)
    with pytest.raises(UnknownModel):
        catalog.resolve("new")
    ssm.parameters[f"{PREFIX}/new"] = parameter("new")
    assert catalog.resolve("new").model == "new"


def test_threads_that_ask_at_once_share_one_look_up(ssm: Any) -> None:
    catalog, answer = Catalog(ssm, prefix=PREFIX, ttl=60), ssm.get_parameter
    happened, waiting, looking = threading.Condition(), list[int](), list[int]()

    def happen(what: list[int]) -> None:
        with happened:
            what.append(1)
            happened.notify_all()

    class SeenLock:
        def __init__(self) -> None:
            self._lock = threading.Lock()

        def __enter__(self) -> None:
            happen(waiting)
            self._lock.acquire()

        def __exit__(self, *_: object) -> None:
            self._lock.release()

    def look_up(**asked: str) -> Any:
        happen(looking)
        with happened:  # the others wait by now, or begin a look-up of their own
            happened.wait_for(lambda: len(waiting) == 8 or len(looking) > 1)
        return answer(**asked)

    ssm.get_parameter, catalog._lock = look_up, SeenLock()  # type: ignore[assignment]
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: catalog.resolve("minilm"), range(8)))) == 1
    assert len(ssm.asked) == 1


# Against botocore's own client


@pytest.fixture
def stubbed() -> Iterator[tuple[Any, Stubber]]:
    client = boto3.client(
        "ssm", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
    )
    with Stubber(client) as stubber:
        yield client, stubber
        stubber.assert_no_pending_responses()
    client.close()


def test_the_parameter_that_is_asked_for_is_named_for_the_model(
    stubbed: tuple[Any, Stubber],
) -> None:
    client, stubber = stubbed
    answer = {"Parameter": {"Name": f"{PREFIX}/minilm", "Value": parameter()}}
    stubber.add_response("get_parameter", answer, {"Name": f"{PREFIX}/minilm"})
    assert Catalog(client, prefix=PREFIX, ttl=60).resolve("minilm").version == "0123456789ab"


def test_models_are_the_last_parts_of_the_parameters_of_all_pages_sorted(
    stubbed: tuple[Any, Stubber],
) -> None:
    client, stubber = stubbed
    first = {"Parameters": [{"Name": f"{PREFIX}/minilm"}], "NextToken": "more"}
    second = {"Parameters": [{"Name": f"{PREFIX}/clip"}]}
    stubber.add_response("get_parameters_by_path", first, {"Path": PREFIX})
    stubber.add_response("get_parameters_by_path", second, {"Path": PREFIX, "NextToken": "more"})
    assert Catalog(client, prefix=PREFIX, ttl=60).models() == ["clip", "minilm"]


def test_botocores_error_for_a_missing_parameter_is_understood(
    stubbed: tuple[Any, Stubber],
) -> None:
    client, stubber = stubbed
    stubber.add_client_error("get_parameter", "ParameterNotFound")
    stubber.add_response("get_parameters_by_path", {"Parameters": []}, {"Path": PREFIX})
    with pytest.raises(UnknownModel, match="no model 'minilm' in /triton/prod/text"):
        Catalog(client, prefix=PREFIX, ttl=60).resolve("minilm")
