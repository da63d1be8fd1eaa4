from typing import Any

import numpy as np
import pytest
from botocore.exceptions import EndpointConnectionError, NoCredentialsError, ReadTimeoutError

from endpoint_client import (
    EndpointClient,
    EndpointError,
    InvalidInput,
    ModelFailed,
    ModelNotReady,
    UnknownModel,
)
from tests.unit.endpoint_client.conftest import BINARY, client_error, parameter


@pytest.fixture
def client(session: Any) -> EndpointClient:
    return EndpointClient(stage="prod", endpoint="text", session=session)


@pytest.fixture(autouse=True)
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that were slept, without sleeping."""
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    return slept


def not_ready() -> Any:
    return client_error("ModelNotReadyException", "still loading", "InvokeEndpoint")


@pytest.mark.parametrize(
    ("stage", "endpoint"), [("", "text"), ("my/stage", "text"), ("dev", "a b")]
)
def test_what_is_no_name_is_refused_before_anything_is_asked(
    session: Any, stage: str, endpoint: str
) -> None:
    with pytest.raises(EndpointError, match="names none: write letters, digits and hyphens"):
        EndpointClient(stage=stage, endpoint=endpoint, session=session)


@pytest.mark.parametrize("region", [None, ""])
def test_a_session_without_a_region_is_refused(session: Any, region: str | None) -> None:
    session.region_name = region
    with pytest.raises(EndpointError, match=r"^no AWS region: set AWS_DEFAULT_REGION, or give "):
        EndpointClient(stage="prod", endpoint="text", session=session)


def test_a_model_is_invoked_by_its_name(client: EndpointClient, session: Any) -> None:
    assert client.invoke("minilm", {"TEXT": ["one", "two"]})["EMBEDDING"].tolist() == [
        [b"one"],
        [b"two"],
    ]
    (request,) = session.runtime.requests
    assert request["EndpointName"] == "prod-text"
    assert request["TargetModel"] == "minilm-0123456789ab.tar.gz"
    assert request["ContentType"].startswith(BINARY)


def test_a_single_model_endpoint_is_asked_for_no_target(
    client: EndpointClient, session: Any
) -> None:
    session.ssm.parameters["/triton/prod/text/only"] = parameter("only", target_model=None)
    client.invoke("only", {"TEXT": ["one"]})
    (request,) = session.runtime.requests
    assert "TargetModel" not in request


def test_json_is_sent_and_asked_for_on_request(client: EndpointClient, session: Any) -> None:
    client.invoke("minilm", {"TEXT": ["one"]}, binary=False)
    (request,) = session.runtime.requests
    assert request["ContentType"] == "application/json"


def test_arrays_come_back_in_the_models_dtype(client: EndpointClient, session: Any) -> None:
    signature = {
        "inputs": [{"name": "X", "datatype": "FP32", "shape": [-1, 2]}],
        "outputs": [{"name": "Y", "datatype": "FP32", "shape": [-1, 2]}],
    }
    session.ssm.parameters["/triton/prod/text/copy"] = parameter("copy", signature=signature)
    given = np.array([[1.5, -0.0]], np.float32)
    for binary in (True, False):
        answer = client.invoke("copy", {"X": given}, binary=binary)["Y"]
        assert answer.dtype == np.float32
        np.testing.assert_array_equal(answer, given)


def test_the_catalog_is_asked_once_for_many_invocations(
    client: EndpointClient, session: Any
) -> None:
    for _ in range(3):
        client.invoke("minilm", {"TEXT": ["one"]})
    assert client.resolve("minilm").version == "0123456789ab"
    assert session.ssm.asked == ["/triton/prod/text/minilm"]


def test_catalog_ttl_is_how_long_an_entry_is_used(session: Any, clock: Any) -> None:
    client = EndpointClient(stage="prod", endpoint="text", catalog_ttl=5, session=session)
    client.resolve("minilm")
    session.ssm.parameters["/triton/prod/text/minilm"] = parameter(version="new")
    clock(4)
    assert client.resolve("minilm").version == "0123456789ab"
    clock(2)
    assert client.resolve("minilm").version == "new"


def test_the_models_of_the_endpoint_are_listed(client: EndpointClient, session: Any) -> None:
    session.ssm.parameters["/triton/prod/text/clip"] = parameter("clip")
    session.ssm.parameters["/triton/prod/images/resnet"] = parameter("resnet")
    assert client.models() == ["clip", "minilm"]


def test_an_unknown_model_is_refused_before_anything_is_sent(
    client: EndpointClient, session: Any
) -> None:
    with pytest.raises(UnknownModel, match=r"no model 'bert' in /triton/prod/text: .* minilm$"):
        client.invoke("bert", {})
    assert session.runtime.requests == []


def test_inputs_that_do_not_fit_are_refused_before_anything_is_sent(
    client: EndpointClient, session: Any
) -> None:
    with pytest.raises(InvalidInput, match=r"^minilm 0123456789ab: input 'TEXT' is missing$"):
        client.invoke("minilm", {})
    assert session.runtime.requests == []


# Failures


def test_an_invocation_is_tried_again_while_the_model_loads(
    client: EndpointClient, session: Any, sleeps: list[float]
) -> None:
    session.runtime.errors = [not_ready() for _ in range(3)]
    assert client.invoke("minilm", {"TEXT": ["one"]})["EMBEDDING"].tolist() == [[b"one"]]
    assert sleeps == [1, 2, 4]
    requests = session.runtime.requests
    assert len(requests) == 4
    assert all(request == requests[0] for request in requests)


@pytest.mark.parametrize("attempts", [1, 3, 5])
def test_a_model_that_never_gets_ready_is_given_up(
    session: Any, sleeps: list[float], attempts: int
) -> None:
    client = EndpointClient(stage="prod", endpoint="text", load_attempts=attempts, session=session)
    session.runtime.errors = [not_ready() for _ in range(10)]
    with pytest.raises(ModelNotReady) as refused:
        client.invoke("minilm", {"TEXT": ["one"]})
    assert str(refused.value) == (f"minilm 0123456789ab is still loading after {attempts} attempts")
    assert len(session.runtime.requests) == attempts
    assert sleeps == [2**it for it in range(attempts - 1)]  # nothing is waited for after the last


def test_five_attempts_are_made_without_being_told(client: EndpointClient, session: Any) -> None:
    session.runtime.errors = [not_ready() for _ in range(10)]
    with pytest.raises(ModelNotReady, match="after 5 attempts"):
        client.invoke("minilm", {"TEXT": ["one"]})


def test_a_containers_refusal_has_its_status_and_its_own_words(
    client: EndpointClient, session: Any, sleeps: list[float]
) -> None:
    cause = client_error(
        "ModelError",
        'Received client error (400) from primary with message "..."',
        "InvokeEndpoint",
        OriginalStatusCode=400,
        OriginalMessage='{"error":"batch 40 > 32"}',
    )
    session.runtime.errors = [cause]
    with pytest.raises(ModelFailed) as refused:
        client.invoke("minilm", {"TEXT": ["one"]})
    assert refused.value.status == 400
    assert str(refused.value) == 'minilm 0123456789ab: {"error":"batch 40 > 32"}'
    assert refused.value.__cause__ is cause
    assert sleeps == []
    assert len(session.runtime.requests) == 1


def test_a_refusal_without_the_containers_words_has_sagemakers(
    client: EndpointClient, session: Any
) -> None:
    session.runtime.errors = [client_error("ModelError", "did not answer", "InvokeEndpoint")]
    with pytest.raises(ModelFailed, match="did not answer") as refused:
        client.invoke("minilm", {"TEXT": ["one"]})
    assert refused.value.status == 0


def test_any_other_refusal_is_an_endpoint_error_with_its_message(
    client: EndpointClient, session: Any
) -> None:
    message = "Endpoint prod-text of account 000000000000 not found."
    session.runtime.errors = [client_error("ValidationError", message, "InvokeEndpoint")]
    with pytest.raises(EndpointError) as refused:
        client.invoke("minilm", {"TEXT": ["one"]})
    assert type(refused.value) is EndpointError
    assert str(refused.value) == f"minilm 0123456789ab: {message}"


@pytest.mark.parametrize(
    "cause",
    [
        client_error("AccessDeniedException", "not authorized", "GetParameter"),
        EndpointConnectionError(endpoint_url="https://ssm"),
        NoCredentialsError(),
    ],
)
def test_a_catalog_that_cannot_be_read_is_an_endpoint_error_with_its_cause(
    client: EndpointClient, session: Any, monkeypatch: pytest.MonkeyPatch, cause: Exception
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise cause

    monkeypatch.setattr(session.ssm, "get_parameter", refuse)
    monkeypatch.setattr(session.ssm, "paginate", refuse)
    for read, message in (
        (lambda: client.resolve("minilm"), "cannot look 'minilm' up in /triton/prod/text: "),
        (client.models, "cannot list the models of /triton/prod/text: "),
    ):
        with pytest.raises(EndpointError) as refused:
            read()
        assert type(refused.value) is EndpointError
        assert str(refused.value) == f"{message}{cause}"
        assert refused.value.__cause__ is cause


@pytest.mark.parametrize("cause", [ReadTimeoutError(endpoint_url="x"), NoCredentialsError()])
def test_an_endpoint_that_is_not_reached_is_an_endpoint_error_with_its_cause(
    client: EndpointClient, session: Any, cause: Any
) -> None:
    session.runtime.errors = [cause]
    with pytest.raises(EndpointError) as refused:
        client.invoke("minilm", {"TEXT": ["one"]})
    assert str(refused.value) == f"minilm 0123456789ab: {cause}"
    assert refused.value.__cause__ is cause


def test_a_failure_after_waiting_for_the_model_is_the_failure(
    client: EndpointClient, session: Any, sleeps: list[float]
) -> None:
    failed = client_error(
        "ModelError", "no", "InvokeEndpoint", OriginalStatusCode=507, OriginalMessage="no memory"
    )
    session.runtime.errors = [not_ready(), failed]
    with pytest.raises(ModelFailed, match="no memory") as refused:
        client.invoke("minilm", {"TEXT": ["one"]})
    assert refused.value.status == 507
    assert sleeps == [1]


def test_botocore_repeats_nothing_and_waits_longer_than_the_container_may_take(
    client: EndpointClient, session: Any
) -> None:
    config = session.configs["sagemaker-runtime"]
    assert config.retries["total_max_attempts"] == 1
    assert config.read_timeout > 60
