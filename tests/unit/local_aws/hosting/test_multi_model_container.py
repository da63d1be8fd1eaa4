import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from local_aws.errors import ApiError
from local_aws.hosting import multi_model_container
from local_aws.hosting.multi_model_container import MultiModelContainer, S3Prefix, model_error
from local_aws.hosting.triton import Response
from tests.unit.local_aws.conftest import eventually
from tests.unit.local_aws.hosting.conftest import tar_gz

TARGET = "minilm-0123456789ab.tar.gz"
JSON = {"Content-Type": "application/json"}


class FakeTriton:
    """Loads, invokes and unloads as it is told, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, bytes, dict[str, str]]] = []
        self.load_answers: list[Response | Exception] = []
        self._may_load = threading.Event()
        self._may_load.set()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no load end as long as the block."""
        self._may_load.clear()
        try:
            yield
        finally:
            self._may_load.set()

    def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes = b"",
        headers: dict[str, str],
        timeout: float,
    ) -> Response:
        assert timeout > 0
        self.asked.append((method, path, body, headers))
        if path == "/models":
            self._may_load.wait()
            answer = self.load_answers.pop(0) if self.load_answers else Response(200, {}, b"")
            if isinstance(answer, Exception):
                raise answer
            return answer
        return Response(200, {}, b"answer")

    def count(self, method: str, end: str) -> int:
        return sum(it[0] == method and it[1].endswith(end) for it in self.asked)

    @property
    def loads(self) -> int:
        return self.count("POST", "/models")


@pytest.fixture
def triton() -> Any:
    return FakeTriton()


@pytest.fixture
def container(triton: Any, s3: Any, tmp_path: Path) -> MultiModelContainer:
    """A container with one archive in its bucket."""
    s3.objects["models", f"text/{TARGET}"] = tar_gz({"minilm/config.pbtxt": b"ensemble"})
    prefix = S3Prefix.parse("s3://models/text/")
    return MultiModelContainer(
        triton,
        s3=s3,
        prefix=prefix,
        folder=tmp_path / "models",
        backends=tmp_path / "backends",
    )


def invoke(container: MultiModelContainer, target: str | None = TARGET) -> bytes:
    return container.invoke(target, body=b"question", headers=JSON).body


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("s3://models/text/", S3Prefix("models", "text/")),
        ("s3://models/a/b/", S3Prefix("models", "a/b/")),
        ("s3://models/", S3Prefix("models", "")),
        ("s3://models", S3Prefix("models", "")),
    ],
)
def test_a_model_data_url_is_a_bucket_and_a_prefix(url: str, expected: S3Prefix) -> None:
    assert S3Prefix.parse(url) == expected


def test_the_first_invocation_downloads_and_loads_and_is_answered(
    container: MultiModelContainer, triton: Any, s3: Any, tmp_path: Path
) -> None:
    assert invoke(container) == b"answer"
    (method, path, body, headers), invocation = triton.asked
    request = json.loads(body)
    folder = Path(request["url"])
    assert (method, path) == ("POST", "/models")
    assert headers == {**JSON, "X-Amzn-SageMaker-Target-Model": TARGET}
    assert folder == tmp_path / "models" / request["model_name"] / "model"
    assert (folder / "minilm" / "config.pbtxt").read_bytes() == b"ensemble"
    assert invocation == (
        "POST",
        f"/models/{request['model_name']}/invoke",
        b"question",
        {**JSON, "X-Amzn-SageMaker-Target-Model": TARGET},
    )
    assert s3.asked == [("models", f"text/{TARGET}")]


@pytest.mark.parametrize("target", [None, ""])
def test_an_invocation_names_its_target_model(
    container: MultiModelContainer, triton: Any, target: str | None
) -> None:
    with pytest.raises(ApiError) as refused:
        invoke(container, target)
    assert (refused.value.code, refused.value.status) == ("ValidationError", 400)
    assert refused.value.message == (
        "TargetModel is a required input for inference on a multi-model endpoint."
    )
    assert triton.asked == []


def test_later_invocations_neither_download_nor_load(
    container: MultiModelContainer, triton: Any, s3: Any
) -> None:
    for _ in range(3):
        invoke(container)
    assert (len(s3.asked), triton.loads, triton.count("POST", "/invoke")) == (1, 1, 3)
    assert container.loaded() == [TARGET]


def test_each_target_has_a_name_of_its_own_that_is_safe_in_a_path(
    container: MultiModelContainer, triton: Any, s3: Any
) -> None:
    other = "folder/ä b.tar.gz"
    s3.objects["models", f"text/{other}"] = tar_gz({"a": b""})
    invoke(container, other)
    invoke(container)
    names = [
        json.loads(body)["model_name"] for _, path, body, _ in triton.asked if path == "/models"
    ]
    assert len(set(names)) == 2
    assert all(name.isalnum() and name.isascii() for name in names)
    assert container.loaded() == [other, TARGET]


def test_many_first_invocations_share_one_load(
    container: MultiModelContainer, triton: Any, s3: Any
) -> None:
    with ThreadPoolExecutor(16) as pool, triton.held():
        answers = [pool.submit(invoke, container) for _ in range(16)]
        eventually(lambda: triton.loads)
        assert container.loaded() == []
    assert [it.result() for it in answers] == [b"answer"] * 16
    assert (len(s3.asked), triton.loads, triton.count("POST", "/invoke")) == (1, 1, 16)


def test_another_model_is_served_while_one_loads(
    container: MultiModelContainer, triton: Any, s3: Any
) -> None:
    s3.objects["models", "text/other.tar.gz"] = tar_gz({"a": b""})
    invoke(container, "other.tar.gz")
    with ThreadPoolExecutor(1) as pool, triton.held():
        slow = pool.submit(invoke, container)
        eventually(lambda: triton.loads == 2)
        assert invoke(container, "other.tar.gz") == b"answer"
        assert not slow.done()
    assert slow.result() == b"answer"


def test_a_refused_load_is_a_model_error_and_the_next_invocation_tries_again(
    container: MultiModelContainer, triton: Any, s3: Any
) -> None:
    triton.load_answers = [Response(400, {}, b"Traceback: no module named dali")]
    with pytest.raises(ApiError) as refused:
        invoke(container)
    assert (refused.value.code, refused.value.status) == ("ModelError", 424)
    assert refused.value.fields == {
        "OriginalStatusCode": 400,
        "OriginalMessage": "Traceback: no module named dali",
    }
    assert triton.count("POST", "/invoke") == 0
    assert container.loaded() == []
    assert invoke(container) == b"answer"
    assert (triton.loads, len(s3.asked)) == (2, 1)  # what was downloaded is there


def test_all_that_wait_for_a_refused_load_get_its_error(
    container: MultiModelContainer, triton: Any
) -> None:
    triton.load_answers = [Response(507, {}, b"out of memory")]
    with ThreadPoolExecutor(4) as pool, triton.held():
        answers = [pool.submit(invoke, container) for _ in range(4)]
        eventually(lambda: triton.loads)
        # The other three must be waiting before it fails, or they would start a load of their own.
        eventually(lambda: waiting(container) == 4)
    errors = [it.exception() for it in answers]
    assert [error.code for error in errors if isinstance(error, ApiError)] == ["ModelError"] * 4
    assert triton.loads == 1


def waiting(container: MultiModelContainer) -> int:
    """How many threads wait for the target's load."""
    load: Any = container._loads[TARGET]
    return len(load._waiters)


def test_a_model_that_is_loaded_already_counts_as_loaded(
    container: MultiModelContainer, triton: Any
) -> None:
    triton.load_answers = [Response(409, {}, b"has already been registered")]
    assert invoke(container) == b"answer"
    assert container.loaded() == [TARGET]


def test_a_server_that_is_gone_during_a_load_is_no_answer(
    container: MultiModelContainer, triton: Any
) -> None:
    triton.load_answers = [ConnectionError("the container broke off")]
    with pytest.raises(ConnectionError, match="the container broke off"):
        invoke(container)
    assert invoke(container) == b"answer"


def test_a_load_that_timed_out_is_not_still_loading(
    container: MultiModelContainer, triton: Any
) -> None:
    triton.load_answers = [TimeoutError("timed out")]
    with pytest.raises(TimeoutError, match="timed out"):
        invoke(container)
    assert invoke(container) == b"answer"


def test_a_failed_load_does_not_forget_the_one_after_an_unload(
    container: MultiModelContainer, triton: Any
) -> None:
    triton.load_answers = [Response(507, {}, b"out of memory")]
    with ThreadPoolExecutor(1) as pool, triton.held():
        failing = pool.submit(invoke, container)
        eventually(lambda: triton.loads)
        container.unload(TARGET)
        later = container._loads[TARGET] = Future()
    assert isinstance(failing.exception(), ApiError)
    assert container._loads[TARGET] is later


def test_a_missing_archive_is_a_validation_error_and_nothing_is_loaded(
    container: MultiModelContainer, triton: Any, s3: Any
) -> None:
    with pytest.raises(ApiError) as refused:
        invoke(container, "none.tar.gz")
    assert refused.value.code == "ValidationError"
    assert "(bucket: models, key: text/none.tar.gz)" in refused.value.message
    assert triton.asked == []
    s3.objects["models", "text/none.tar.gz"] = tar_gz({"a": b""})
    assert invoke(container, "none.tar.gz") == b"answer"


def test_an_invocation_that_waits_too_long_is_told_to_come_again(
    container: MultiModelContainer, triton: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multi_model_container, "INVOKE_SECONDS", 0.05)
    with triton.held():
        for _ in range(2):
            with pytest.raises(ApiError) as refused:
                invoke(container)
            assert (refused.value.code, refused.value.status) == ("ModelNotReadyException", 429)
            assert refused.value.message == (
                f"Model {TARGET} is not ready for inference: it is still loading. Retry."
            )
    eventually(container.loaded)
    assert invoke(container) == b"answer"
    assert triton.loads == 1  # the load went on while nobody waited


def test_an_unloaded_model_is_loaded_again_from_disk(
    container: MultiModelContainer, triton: Any, s3: Any
) -> None:
    invoke(container)
    name = json.loads(triton.asked[0][2])["model_name"]
    container.unload(TARGET)
    target = {"X-Amzn-SageMaker-Target-Model": TARGET}
    assert triton.asked[-1] == ("DELETE", f"/models/{name}", b"", target)
    assert container.loaded() == []
    assert invoke(container) == b"answer"
    assert (triton.loads, len(s3.asked)) == (2, 1)


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (
            400,
            b"no input X",
            'Received client error (400) from primary with message "no input X"',
        ),
        (
            500,
            b"\xff",
            'Received server error (500) from primary with message "\N{REPLACEMENT CHARACTER}"',
        ),
    ],
)
def test_a_containers_refusal_is_worded_as_sagemaker_words_it(
    status: int, body: bytes, message: str
) -> None:
    error = model_error(Response(status, {}, body))
    assert error.message == message
    assert error.fields["OriginalStatusCode"] == status
