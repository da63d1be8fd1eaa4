from typing import Any

import pytest

from local_aws.errors import ApiError
from local_aws.hosting.single_model_container import SingleModelContainer
from local_aws.hosting.triton import Response

JSON = {"Content-Type": "application/json"}


class FakeTriton:
    """Keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def request(
        self, method: str, path: str, *, body: bytes, headers: dict[str, str], timeout: float
    ) -> Response:
        assert timeout > 0
        self.asked.append((method, path, body, headers))
        return Response(200, {}, b"answer")


@pytest.fixture
def triton() -> Any:
    return FakeTriton()


def test_an_invocation_goes_to_the_one_model(triton: Any) -> None:
    response = SingleModelContainer(triton).invoke(None, body=b"question", headers=JSON)
    assert response.body == b"answer"
    assert triton.asked == [("POST", "/invocations", b"question", JSON)]


def test_a_server_may_answer_invocations_at_another_path(triton: Any) -> None:
    container = SingleModelContainer(triton, invocations="/v2/models/llm/generate")
    container.invoke(None, body=b"question", headers=JSON)
    assert triton.asked == [("POST", "/v2/models/llm/generate", b"question", JSON)]


def test_an_invocation_names_no_target_model(triton: Any) -> None:
    with pytest.raises(ApiError) as refused:
        SingleModelContainer(triton).invoke("minilm.tar.gz", body=b"", headers=JSON)
    assert (refused.value.code, refused.value.status) == ("ValidationError", 400)
    assert refused.value.message == (
        "TargetModel is only supported for multi-model endpoints, which this is not."
    )
    assert triton.asked == []
