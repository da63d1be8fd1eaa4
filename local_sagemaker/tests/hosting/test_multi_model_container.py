import asyncio
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.dashboard_events import EventKind
from local_sagemaker.errors import ApiError
from local_sagemaker.hosting import multi_model_container
from local_sagemaker.hosting.archives import S3Prefix
from local_sagemaker.hosting.capacity import GIB, MIB
from local_sagemaker.hosting.container import ModelStep, Phase, Report
from local_sagemaker.hosting.model_store import ModelStore, model_hash
from local_sagemaker.hosting.multi_model_container import (
    MAX_CONCURRENT_UNLOADS,
    MultiModelContainer,
)
from local_sagemaker.tests.support.tiny_models import tar_gz

TARGET = "minilm-0123456789ab.tar.gz"
JSON = {"Content-Type": "application/json"}
MODEL_BYTES = 100 * MIB
LOADED = [
    EventKind.MODEL_DOWNLOADING,
    EventKind.MODEL_DOWNLOADED,
    EventKind.MODEL_LOADING,
    EventKind.MODEL_LOADED,
]


class FakeTriton:
    """A fake Triton that records requests; also its own connections.

    Each loaded model takes `MODEL_BYTES`.
    """

    def __init__(self) -> None:
        self.connections = self
        self.in_memory: set[str] = set()
        self.requests: list[tuple[str, str, bytes, dict[str, str]]] = []
        self.load_answers: list[tuple[int, bytes] | Exception] = []
        self.may_load, self.may_answer, self.may_unload = (asyncio.Event() for _ in range(3))
        self.may_load.set()
        self.may_answer.set()
        self.hanging = ""  # the target models whose unload waits for `may_unload`, as a pattern
        self.loading = self.most_models = 0
        self.unload_error: OSError | None = None

    @contextmanager
    def hold_loads(self) -> Iterator[None]:
        """Let no load finish inside the with block."""
        self.may_load.clear()
        try:
            yield
        finally:
            self.may_load.set()

    async def invoke(self, path: str) -> bytes:
        self.requests.append(("POST", path, b"", {}))
        await self.may_answer.wait()
        return b"answer"

    async def send_model_request(
        self, method: str, path: str, *, body: bytes = b"", headers: dict[str, str], timeout: float
    ) -> tuple[int, bytes]:
        assert timeout > 0
        self.requests.append((method, path, body, headers))
        if path == "/models":
            self.loading += 1
            self.most_models = max(self.most_models, len(self.in_memory) + self.loading)
            await self.may_load.wait()
            self.loading -= 1
            answer = self.load_answers.pop(0) if self.load_answers else (200, b"")
            if isinstance(answer, Exception):
                raise answer
            if answer[0] == 200:
                self.in_memory.add(json.loads(body)["model_name"])
            return answer
        if re.fullmatch(self.hanging, headers["X-Amzn-SageMaker-Target-Model"]):
            await self.may_unload.wait()
        self.in_memory.remove(path.removeprefix("/models/"))
        if self.unload_error:
            raise self.unload_error
        return 200, b""

    def resident_by_folder(self) -> tuple[int, dict[str, int]]:
        return len(self.in_memory) * MODEL_BYTES, dict.fromkeys(self.in_memory, MODEL_BYTES)

    def count(self, method: str, end: str) -> int:
        return sum(request[0] == method and request[1].endswith(end) for request in self.requests)

    @property
    def loads(self) -> int:
        return self.count("POST", "/models")


@pytest.fixture
def triton() -> Any:
    return FakeTriton()


Make = Callable[..., MultiModelContainer]


@pytest.fixture
def make(triton: Any, s3: Any, tmp_path: Path) -> Make:
    """A function that makes a container with limits; the bucket has four archives."""
    for target in (TARGET, "a", "b", "c"):
        s3.objects["models", f"text/{target}"] = tar_gz({"minilm/config.pbtxt": bytes(100)})

    def container(
        *,
        memory: int = GIB,
        disk: int = GIB,
        caches: bool = True,
        path_in_sandbox: Path | None = None,
        report: Report = lambda *_: None,
    ) -> MultiModelContainer:
        store = ModelStore(
            s3,
            prefix=S3Prefix.parse("s3://models/text/"),
            folder=tmp_path / "models",
            backends=tmp_path / "backends",
            limit=disk,
        )
        path_in_sandbox = path_in_sandbox or tmp_path / "models"
        return MultiModelContainer(
            triton,
            store,
            path_in_sandbox=path_in_sandbox,
            memory=memory,
            caches=caches,
            report=report,
        )

    return container


@pytest.fixture
def container(make: Make) -> MultiModelContainer:
    """A container with memory for ten models."""
    return make()


def loaded(container: MultiModelContainer) -> list[str]:
    """Return the loaded target models, the least recently used first."""
    return [status.target_model for status in container.statuses() if status.phase is Phase.LOADED]


async def invoke(container: MultiModelContainer, target: str | None = TARGET) -> bytes:
    """Invoke a model as an instance does."""
    triton: Any = container._triton
    call = container.acquire(target)
    try:
        if call.load:
            await asyncio.shield(call.load)
        answer: bytes = await triton.invoke(call.path)
    finally:
        container.release(call)
    return answer


def start_invocations(container: MultiModelContainer, *targets: str) -> "list[asyncio.Task[bytes]]":
    return [asyncio.create_task(invoke(container, target)) for target in targets]


async def wait_until(condition: Callable[[], object]) -> None:
    """Run the event loop until a condition is true."""
    while not condition():
        await asyncio.sleep(0.001)


async def test_model_steps_are_reported(make: Make, triton: Any) -> None:
    messages: list[ModelStep] = []
    container = make(memory=2 * MODEL_BYTES, report=messages.append)
    assert (container.loaded_models, container.disk_bytes) == (0, 0)
    await invoke(container, "a")
    assert [event.kind for event in messages] == LOADED
    assert [(done.target_model, done.bytes) for done in messages[1::2]] == [("a", 100), ("a", 100)]
    assert (container.loaded_models, container.disk_bytes) == (1, 100)
    await invoke(container, "b")
    await invoke(container, "c")
    assert [event.kind for event in messages[4:]] == [
        *LOADED,
        *LOADED[:3],
        *(EventKind.MODEL_UNLOADING, EventKind.MODEL_UNLOADED),
        EventKind.MODEL_LOADED,
    ]
    assert [(event.target_model, event.room_for) for event in messages[11:13]] == [("a", "c")] * 2
    assert container.loaded_models == 2
    triton.load_answers = [(400, b"no")]
    with pytest.raises(ApiError):
        await invoke(container)
    assert (messages[-1].kind, messages[-1].target_model) == (EventKind.MODEL_FAILED, TARGET)
    assert 'with message "no"' in messages[-1].reason


@pytest.mark.parametrize(
    ("error", "reported_failures"),
    [
        (ConnectionError("the container disconnected"), []),  # the end of the server is reported
        (TimeoutError("timed out"), ["its server did not unload it within 360 s"]),
    ],
)
async def test_failed_unload_is_reported_only_for_a_hanging_server(
    make: Make, triton: Any, error: OSError, reported_failures: list[str]
) -> None:
    messages: list[ModelStep] = []
    container = make(memory=MODEL_BYTES, report=messages.append)
    await invoke(container, "a")
    triton.unload_error = error
    await invoke(container, "b")
    steps = [step for step in messages if step.target_model == "a"][len(LOADED) :]
    assert [
        step.reason for step in steps if step.kind is EventKind.MODEL_FAILED
    ] == reported_failures
    assert {step.kind for step in steps} <= {EventKind.MODEL_UNLOADING, EventKind.MODEL_FAILED}


async def test_status_has_phase_and_calls(make: Make) -> None:
    phases: dict[EventKind, list[tuple[str, Phase]]] = {}

    def record(step: ModelStep) -> None:
        phases[step.kind] = [(status.target_model, status.phase) for status in reporter.statuses()]

    reporter = make(memory=MODEL_BYTES, report=record)
    await invoke(reporter, "a")
    call = reporter.acquire("a")
    (status,) = reporter.statuses()
    assert (status.phase, status.calls, status.answered) == (Phase.LOADED, 1, 1)
    assert (status.bytes, status.folder) == (100, model_hash("a"))
    reporter.release(call)
    await invoke(reporter, "b")
    assert phases[EventKind.MODEL_DOWNLOADING] == [("a", Phase.LOADED), ("b", Phase.DOWNLOADING)]
    assert phases[EventKind.MODEL_LOADING] == [("a", Phase.LOADED), ("b", Phase.LOADING)]
    assert phases[EventKind.MODEL_UNLOADING] == [("b", Phase.LOADING), ("a", Phase.UNLOADING)]
    assert phases[EventKind.MODEL_LOADED] == [("b", Phase.LOADING)]


@pytest.mark.parametrize("target", [None, ""])
async def test_invocation_without_a_target_model_is_refused(
    container: MultiModelContainer, triton: Any, target: str | None
) -> None:
    with pytest.raises(ApiError) as refused:
        await invoke(container, target)
    assert (refused.value.code, refused.value.status) == ("ValidationError", 400)
    assert refused.value.message.endswith(" is missing a target model header")
    assert triton.requests == []


async def test_has_includes_loading_and_loaded_models(
    container: MultiModelContainer, triton: Any
) -> None:
    assert not container.has(TARGET)
    with triton.hold_loads():
        call = container.acquire(TARGET)
        assert container.has(TARGET)
    assert call.load
    await call.load
    container.release(call)
    assert container.has(TARGET)
    assert container.acquire(TARGET).load is None


async def test_concurrent_first_invocations_share_one_load(
    container: MultiModelContainer, triton: Any, s3: Any
) -> None:
    with triton.hold_loads():
        answers = start_invocations(container, *[TARGET] * 16)
        await wait_until(lambda: triton.loads)
        assert loaded(container) == []
    assert await asyncio.gather(*answers) == [b"answer"] * 16
    assert (len(s3.downloads), triton.loads, triton.count("POST", "/invoke")) == (1, 1, 16)


async def test_refused_load_fails_all_waiting_invocations(
    container: MultiModelContainer, triton: Any
) -> None:
    triton.load_answers = [(507, b"out of memory")]
    with triton.hold_loads():
        answers = start_invocations(container, *[TARGET] * 4)
        await wait_until(lambda: triton.loads)
    errors = await asyncio.gather(*answers, return_exceptions=True)
    assert [error.code for error in errors if isinstance(error, ApiError)] == ["ModelError"] * 4
    assert triton.loads == 1


async def test_load_conflict_counts_as_loaded(container: MultiModelContainer, triton: Any) -> None:
    triton.load_answers = [(409, b"has already been registered")]
    assert await invoke(container) == b"answer"
    assert loaded(container) == [TARGET]


# Room for models


def unloaded(triton: Any) -> list[str]:
    return [
        request[3]["X-Amzn-SageMaker-Target-Model"]
        for request in triton.requests
        if request[0] == "DELETE"
    ]


async def test_least_recently_used_model_is_unloaded(make: Make, triton: Any) -> None:
    container = make(memory=2 * MODEL_BYTES)
    for target in ("a", "b", "a", "c"):
        assert await invoke(container, target) == b"answer"
    assert unloaded(triton) == ["b"]
    assert loaded(container) == ["a", "c"]


async def test_unloaded_model_is_loaded_again_from_disk(make: Make, triton: Any, s3: Any) -> None:
    container = make(memory=MODEL_BYTES)
    for target in ("a", "b"):
        await invoke(container, target)
    s3.objects.clear()  # the archive is still on disk
    assert await invoke(container, "a") == b"answer"
    assert triton.loads == 3


async def test_load_refused_for_memory_is_retried_after_an_unload(
    container: MultiModelContainer, triton: Any
) -> None:
    await invoke(container, "a")
    await invoke(container, "b")
    triton.load_answers = [(507, b"CUDA out of memory")]
    assert await invoke(container, "c") == b"answer"
    assert unloaded(triton) == ["a"]


async def test_model_larger_than_the_memory_is_refused_with_507(make: Make, triton: Any) -> None:
    container = make(memory=MODEL_BYTES - 1)
    with pytest.raises(ApiError) as refused:
        await invoke(container)
    assert (refused.value.code, refused.value.status) == ("ModelError", 424)
    assert refused.value.fields == {
        "ErrorCode": "INTERNAL_FAILURE_FROM_MODEL",
        "OriginalStatusCode": 507,
        "OriginalMessage": "out of memory: 100 of 99 MiB are used",
    }
    assert not triton.in_memory


async def test_hanging_unload_does_not_block_other_unloads(
    make: Make, triton: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    container = make(memory=2 * MODEL_BYTES)
    for target in ("a", "b"):
        await invoke(container, target)
    monkeypatch.setattr(multi_model_container, "ROOM_SECONDS", 0.01)
    triton.hanging = "a"
    assert await invoke(container, "c") == b"answer"
    assert set(unloaded(triton)) == {"a", "b"}
    again = container.acquire("a")
    assert again.load
    triton.may_unload.set()
    await again.load
    assert unloaded(triton).count("a") == 1
    assert loaded(container)[-1] == "a"
    container.release(again)


async def test_models_are_unloaded_in_parallel_for_waiting_loads(
    make: Make, triton: Any, s3: Any
) -> None:
    container = make(memory=6 * MODEL_BYTES)
    old, new = [f"old-{number}" for number in range(6)], [f"new-{number}" for number in range(6)]
    for target in (*old, *new):
        s3.objects["models", f"text/{target}"] = tar_gz({"minilm/config.pbtxt": b""})
    await asyncio.gather(*start_invocations(container, *old))
    triton.hanging = "old-.*"
    answers = start_invocations(container, *new)
    await wait_until(lambda: len(unloaded(triton)) == MAX_CONCURRENT_UNLOADS)
    assert container.loaded_models == 1  # it answers while the others are unloaded
    in_use = next(target for target in old if container.has(target))
    assert await invoke(container, in_use) == b"answer"
    assert unloaded(triton).count(in_use) == 0
    triton.may_unload.set()
    assert await asyncio.gather(*answers) == [b"answer"] * 6
    assert triton.most_models == 6


async def test_model_with_a_call_in_progress_is_not_unloaded(make: Make, triton: Any) -> None:
    container = make(memory=MODEL_BYTES)
    triton.may_answer.clear()
    (first,) = start_invocations(container, "a")
    await wait_until(lambda: triton.count("POST", "/invoke"))
    (second,) = start_invocations(container, "b")
    await wait_until(lambda: unloaded(triton) == ["b"])  # "a" is in use, so "b" is unloaded
    triton.may_answer.set()
    assert [await first, await second] == [b"answer", b"answer"]
    assert unloaded(triton) == ["b", "a"]


async def test_model_is_removed_after_its_call_without_caching(
    make: Make, triton: Any, s3: Any, tmp_path: Path
) -> None:
    container = make(caches=False)
    for _ in range(2):
        assert await invoke(container) == b"answer"
        await wait_until(lambda: not container.statuses())
        assert not triton.in_memory
        assert not list((tmp_path / "models").iterdir())
    assert len(s3.downloads) == 2


# Room for archives


async def test_least_recently_used_archive_is_deleted(
    make: Make, triton: Any, tmp_path: Path
) -> None:
    container = make(disk=200)
    for target in ("a", "b", "c"):
        assert await invoke(container, target) == b"answer"
    assert unloaded(triton) == ["a"]
    assert list(container._store.sizes()) == ["b", "c"]
    assert len(list((tmp_path / "models").iterdir())) == 2


async def test_archive_larger_than_the_disk_is_refused(make: Make, tmp_path: Path) -> None:
    with pytest.raises(ApiError, match="No space left on device: more than 99 bytes, unpacked"):
        await invoke(make(disk=99))
    assert not [path for path in (tmp_path / "models").rglob("*") if path.is_file()]
