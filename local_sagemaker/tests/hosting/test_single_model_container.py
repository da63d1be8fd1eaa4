import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.single_model_container import SingleModelContainer


def test_an_invocation_goes_to_the_one_model_and_waits_for_no_load() -> None:
    container = SingleModelContainer()
    call = container.acquire(None)
    assert (call.path, call.target_model, call.load) == ("/invocations", None, None)
    container.release(call)
    assert container.has(None)


def test_a_server_may_answer_invocations_at_another_path() -> None:
    container = SingleModelContainer("/v2/models/llm/generate")
    assert container.acquire(None).path == "/v2/models/llm/generate"


def test_an_invocation_names_no_target_model() -> None:
    with pytest.raises(ApiError) as refused:
        SingleModelContainer().acquire("minilm.tar.gz")
    assert (refused.value.code, refused.value.status) == ("ValidationError", 400)
    assert refused.value.message == (
        "TargetModel is only supported for multi-model endpoints, which this is not."
    )
