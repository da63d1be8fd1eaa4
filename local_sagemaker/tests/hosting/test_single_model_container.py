import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.single_model_container import SingleModelContainer


def test_call_needs_no_load() -> None:
    container = SingleModelContainer()
    call = container.acquire(None)
    assert (call.path, call.target_model, call.load) == ("/invocations", None, None)
    container.release(call)
    assert container.has(None)


def test_call_uses_the_path_of_the_server() -> None:
    container = SingleModelContainer("/v2/models/llm/generate")
    assert container.acquire(None).path == "/v2/models/llm/generate"


def test_target_model_is_refused() -> None:
    with pytest.raises(ApiError) as refused:
        SingleModelContainer().acquire("minilm.tar.gz")
    assert (refused.value.code, refused.value.status) == ("ValidationError", 400)
    assert refused.value.message == (
        "TargetModel is only supported for multi-model endpoints, which this is not."
    )
