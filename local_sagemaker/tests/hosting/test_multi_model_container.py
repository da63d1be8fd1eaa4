import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting import multi_model_container
from local_sagemaker.hosting.archives import S3Prefix
from local_sagemaker.hosting.capacity import GIB, MIB
from local_sagemaker.hosting.container import ModelStep, Phase, Report, Step
from local_sagemaker.hosting.model_store import ModelStore, name
from local_sagemaker.hosting.multi_model_container import MultiModelContainer
from local_sagemaker.hosting.triton import Response
from local_sagemaker.tests.hosting.conftest import tar_gz
from local_sagemaker.tests.support.waiting import eventually

TARGET = "minilm-0123456789ab.tar.gz"
JSON = {"Content-Type": "application/json"}
MODEL_BYTES = 100 * MIB
LOADED = [Step.DOWNLOADING, Step.DOWNLOAD, Step.LOADING, Step.LOAD]


class FakeTriton:
    """Loads and unloads as it is told, and keeps what it was asked, invocations too.

    Each model that is loaded takes `MODEL_BYTES`.
    """

    def __init__(self) -> None:
        self.in_memory: set[str] = set()
        self.asked: list[tuple[str, str, bytes, dict[str, str]]] = []
        self.load_answers: list[Response | Exception] = []
        self._may_load = threading.Event()
        self._may_load.set()
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.may_unload = threading.Event()
        self.hanging = ""  # what is not unloaded before
        self.unload_breaks_off: OSError | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no load end as long as the block."""
        self._may_load.clear()
        try:
            yield
        finally:
            self._may_load.set()

    def invoke(self, path: str) -> bytes:
        self.asked.append(("POST", path, b"", {}))
        self.may_answer.wait()
        return b"answer"

    def manage(
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
            if answer.status == 200:
                self.in_memory.add(json.loads(body)["model_name"])
            return answer
        if headers["X-Amzn-SageMaker-Target-Model"] == self.hanging:
            self.may_unload.wait()
        self.in_memory.remove(path.removeprefix("/models/"))
        if self.unload_breaks_off:
            raise self.unload_breaks_off
        return Response(200, {}, b"")

    def resident_bytes(self) -> int:
        return len(self.in_memory) * MODEL_BYTES

    def count(self, method: str, end: str) -> int:
        return sum(it[0] == method and it[1].endswith(end) for it in self.asked)

    @property
    def loads(self) -> int:
        return self.count("POST", "/models")


@pytest.fixture
def triton() -> Any:
    return FakeTriton()


Make = Callable[..., MultiModelContainer]


@pytest.fixture
def make(triton: Any, s3: Any, tmp_path: Path) -> Make:
    """Make a container with so much room, and some archives in its bucket."""
    for target in (TARGET, "a", "b", "c"):
        s3.objects["models", f"text/{target}"] = tar_gz({"minilm/config.pbtxt": bytes(100)})

    def container(
        *,
        memory: int = GIB,
        disk: int = GIB,
        caches: bool = True,
        seen_at: Path | None = None,
        report: Report = lambda *_: None,
    ) -> MultiModelContainer:
        store = ModelStore(
            s3,
            prefix=S3Prefix.parse("s3://models/text/"),
            folder=tmp_path / "models",
            backends=tmp_path / "backends",
            limit=disk,
        )
        seen_at = seen_at or tmp_path / "models"
        return MultiModelContainer(
            triton, store, seen_at=seen_at, memory=memory, caches=caches, report=report
        )

    return container


@pytest.fixture
def container(make: Make) -> MultiModelContainer:
    """A container with room for ten models."""
    return make()


def loaded(container: MultiModelContainer) -> list[str]:
    """Return the target models that are loaded, the least recently used first."""
    return [target for target, model in container._models.items() if model.loaded]


def invoke(container: MultiModelContainer, target: str | None = TARGET) -> bytes:
    """Do what an instance does for an invocation."""
    triton: Any = container._triton
    call = container.acquire(target)
    try:
        if call.load:
            call.load.result()
        answer: bytes = triton.invoke(call.path)
    finally:
        container.release(call)
    return answer


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


def test_a_server_loads_a_model_from_where_it_sees_it(make: Make, triton: Any) -> None:
    invoke(make(seen_at=Path("/opt/ml/models")))
    (load,) = (json.loads(body) for _, path, body, _ in triton.asked if path == "/models")
    assert load["url"] == f"/opt/ml/models/{load['model_name']}/model"


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
    assert (folder / "minilm" / "config.pbtxt").read_bytes() == bytes(100)
    assert invocation[:2] == ("POST", f"/models/{request['model_name']}/invoke")
    assert s3.downloads == [("models", f"text/{TARGET}")]


def test_what_happens_to_models_is_reported_and_counted(make: Make, triton: Any) -> None:
    told: list[ModelStep] = []
    container = make(memory=2 * MODEL_BYTES, report=told.append)
    assert (container.loaded_models, container.disk_bytes) == (0, 0)
    invoke(container, "a")
    assert [it.step for it in told] == LOADED
    assert [(it.target_model, it.bytes) for it in told[1::2]] == [("a", 100), ("a", 100)]
    assert (container.loaded_models, container.disk_bytes) == (1, 100)
    invoke(container, "b")
    invoke(container, "c")
    assert [it.step for it in told[4:]] == [
        *LOADED,
        *LOADED[:3],
        *(Step.UNLOADING, Step.UNLOAD),
        Step.LOAD,
    ]
    assert [(it.target_model, it.room_for) for it in told[11:13]] == [("a", "c")] * 2
    assert container.loaded_models == 2
    triton.load_answers = [Response(400, {}, b"no")]
    with pytest.raises(ApiError):
        invoke(container)
    assert (told[-1].step, told[-1].target_model) == (Step.FAIL, TARGET)
    assert 'with message "no"' in told[-1].why


@pytest.mark.parametrize(
    ("broken_off", "told_of_it"),
    [
        (ConnectionError("the container broke off"), []),  # its server's end is told, and enough
        (TimeoutError("timed out"), ["its server did not unload it within 360 s"]),
    ],
)
def test_a_model_goes_with_its_server_and_fails_to_leave_one_that_hangs(
    make: Make, triton: Any, broken_off: OSError, told_of_it: list[str]
) -> None:
    told: list[ModelStep] = []
    container = make(memory=MODEL_BYTES, report=told.append)
    invoke(container, "a")
    triton.unload_breaks_off = broken_off
    invoke(container, "b")
    steps = [it for it in told if it.target_model == "a"][len(LOADED) :]
    assert [it.why for it in steps if it.step is Step.FAIL] == told_of_it
    assert {it.step for it in steps} <= {Step.UNLOADING, Step.FAIL}


def test_models_are_told_with_their_phase_and_calls(make: Make) -> None:
    phases: dict[Step, list[tuple[str, Phase]]] = {}

    def note(step: ModelStep) -> None:
        phases[step.step] = [(it.target_model, it.phase) for it in made.statuses()]

    made = make(memory=MODEL_BYTES, report=note)
    invoke(made, "a")
    call = made.acquire("a")
    (status,) = made.statuses()
    assert (status.phase, status.calls, status.answered) == (Phase.LOADED, 1, 1)
    assert (status.bytes, status.folder) == (100, name("a"))
    made.release(call)
    invoke(made, "b")
    assert phases[Step.DOWNLOADING] == [("a", Phase.LOADED), ("b", Phase.DOWNLOADING)]
    assert phases[Step.LOADING] == [("a", Phase.LOADED), ("b", Phase.LOADING)]
    assert phases[Step.UNLOADING] == [("b", Phase.LOADING), ("a", Phase.UNLOADING)]
    assert phases[Step.LOAD] == [("b", Phase.LOADING)]


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
    assert (len(s3.downloads), triton.loads, triton.count("POST", "/invoke")) == (1, 1, 3)
    assert loaded(container) == [TARGET]


def test_a_model_that_is_there_or_on_its_way_needs_no_other_instance(
    container: MultiModelContainer, triton: Any
) -> None:
    assert not container.has(TARGET)
    with triton.held():
        call = container.acquire(TARGET)
        assert container.has(TARGET)
    assert call.load
    call.load.result()
    container.release(call)
    assert container.has(TARGET)
    assert container.acquire(TARGET).load is None


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
    assert loaded(container) == [other, TARGET]


def test_many_first_invocations_share_one_load(
    container: MultiModelContainer, triton: Any, s3: Any
) -> None:
    with ThreadPoolExecutor(16) as pool, triton.held():
        answers = [pool.submit(invoke, container) for _ in range(16)]
        eventually(lambda: triton.loads)
        assert loaded(container) == []
    assert [it.result() for it in answers] == [b"answer"] * 16
    assert (len(s3.downloads), triton.loads, triton.count("POST", "/invoke")) == (1, 1, 16)


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
    container: MultiModelContainer, triton: Any
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
    assert loaded(container) == []
    assert invoke(container) == b"answer"
    assert triton.loads == 2


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
    """How many invocations wait for the target's load."""
    return container._models[TARGET].calls


def test_a_model_that_is_loaded_already_counts_as_loaded(
    container: MultiModelContainer, triton: Any
) -> None:
    triton.load_answers = [Response(409, {}, b"has already been registered")]
    assert invoke(container) == b"answer"
    assert loaded(container) == [TARGET]


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


# Room for models


def unloaded(triton: Any) -> list[str]:
    return [it[3]["X-Amzn-SageMaker-Target-Model"] for it in triton.asked if it[0] == "DELETE"]


def test_the_least_recently_used_model_makes_room(make: Make, triton: Any) -> None:
    container = make(memory=2 * MODEL_BYTES)
    for target in ("a", "b", "a", "c"):
        assert invoke(container, target) == b"answer"
    assert unloaded(triton) == ["b"]
    assert loaded(container) == ["a", "c"]


def test_an_unloaded_model_is_loaded_again_from_disk(make: Make, triton: Any, s3: Any) -> None:
    container = make(memory=MODEL_BYTES)
    for target in ("a", "b"):
        invoke(container, target)
    s3.objects.clear()  # not needed any more, as when the bucket is away
    assert invoke(container, "a") == b"answer"
    assert triton.loads == 3


def test_a_load_that_is_refused_for_memory_is_tried_again_after_an_unload(
    container: MultiModelContainer, triton: Any
) -> None:
    invoke(container, "a")
    invoke(container, "b")
    triton.load_answers = [Response(507, {}, b"CUDA out of memory")]
    assert invoke(container, "c") == b"answer"
    assert unloaded(triton) == ["a"]


def test_a_model_that_does_not_fit_is_refused_with_507_and_not_kept(
    make: Make, triton: Any
) -> None:
    container = make(memory=MODEL_BYTES - 1)
    with pytest.raises(ApiError) as refused:
        invoke(container)
    assert (refused.value.code, refused.value.status) == ("ModelError", 424)
    assert refused.value.fields == {
        "OriginalStatusCode": 507,
        "OriginalMessage": "out of memory: 100 of 99 MiB are used",
    }
    assert not triton.in_memory


def test_beside_an_unload_that_hangs_others_make_room(
    make: Make, triton: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    container = make(memory=2 * MODEL_BYTES)
    for target in ("a", "b"):
        invoke(container, target)
    monkeypatch.setattr(multi_model_container, "ROOM_SECONDS", 0.01)
    triton.hanging = "a"
    assert invoke(container, "c") == b"answer"
    assert set(unloaded(triton)) == {"a", "b"}
    again = container.acquire("a")
    assert again.load
    triton.may_unload.set()
    again.load.result()
    assert unloaded(triton).count("a") == 1
    assert loaded(container)[-1] == "a"
    container.release(again)


def test_a_model_with_a_call_under_way_is_not_unloaded(make: Make, triton: Any) -> None:
    container = make(memory=MODEL_BYTES)
    triton.may_answer.clear()
    with ThreadPoolExecutor(2) as pool:
        under_way = pool.submit(invoke, container, "a")
        eventually(lambda: triton.count("POST", "/invoke"))
        waiting = pool.submit(invoke, container, "b")
        eventually(lambda: getattr(container._changed, "_waiters"))  # noqa: B009 - for room
        assert unloaded(triton) == ["b"]  # which was too much beside the other
        triton.may_answer.set()
        assert (under_way.result(), waiting.result()) == (b"answer", b"answer")
    assert unloaded(triton) == ["b", "a"]


def test_loads_leave_threads_of_triton_to_loaded_models(
    container: MultiModelContainer, triton: Any, s3: Any
) -> None:
    invoke(container)
    targets = [f"cold-{number}" for number in range(8)]
    for target in targets:
        s3.objects["models", f"text/{target}"] = tar_gz({"minilm/config.pbtxt": b""})
    with ThreadPoolExecutor(8) as pool, triton.held():
        answers = [pool.submit(invoke, container, target) for target in targets]
        eventually(lambda: triton.loads == 1 + 4)
        assert invoke(container) == b"answer"
        assert triton.loads == 1 + 4
    assert [it.result() for it in answers] == [b"answer"] * 8


def test_without_caching_a_model_goes_after_its_call(
    make: Make, triton: Any, s3: Any, tmp_path: Path
) -> None:
    container = make(caches=False)
    for _ in range(2):
        assert invoke(container) == b"answer"
        eventually(lambda: not container._leaving and not loaded(container))
        assert not triton.in_memory
        assert not list((tmp_path / "models").iterdir())
    assert len(s3.downloads) == 2


# Room for archives


def test_an_archive_that_was_replaced_is_seen_at_the_next_load(
    make: Make, s3: Any, tmp_path: Path
) -> None:
    container = make(memory=MODEL_BYTES)
    invoke(container, "a")
    s3.objects["models", "text/a"] = tar_gz({"minilm/config.pbtxt": b"other"})
    invoke(container, "b")
    invoke(container, "a")
    configs = [it.read_bytes() for it in (tmp_path / "models").rglob("config.pbtxt")]
    assert sorted(configs) == [bytes(100), b"other"]


def test_the_least_recently_used_archive_makes_room_on_disk(
    make: Make, triton: Any, tmp_path: Path
) -> None:
    container = make(disk=200)
    for target in ("a", "b", "c"):
        assert invoke(container, target) == b"answer"
    assert unloaded(triton) == ["a"]
    assert list(container._store._archives) == ["b", "c"]
    assert len(list((tmp_path / "models").iterdir())) == 2


def test_an_archive_for_which_there_is_no_room_is_refused_and_leaves_nothing(
    make: Make, tmp_path: Path
) -> None:
    with pytest.raises(ApiError, match="No space left on device: more than 99 bytes, unpacked"):
        invoke(make(disk=99))
    assert not [it for it in (tmp_path / "models").rglob("*") if it.is_file()]
