"""Endpoints with fake instances, whose waits take no time."""

import threading
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from local_sagemaker.api import JsonService
from local_sagemaker.dashboard_events import DashboardEvent
from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.hosting.invocation import Invocation
from local_sagemaker.hosting.pools import Pool
from local_sagemaker.quotas import AccountQuotas
from local_sagemaker.sagemaker.component_operations import HostingOperations
from local_sagemaker.tests.sagemaker.endpoints import create, wait_in_service
from local_sagemaker.tests.support.waiting import eventually


class FakeInstance:
    """A fake instance of `fleet` that responds with the name of its endpoint configuration."""

    variant = "only"
    pool: Pool | None = None

    def __init__(self, fleet: "FakeFleet") -> None:
        self.config_name, self._fleet = fleet.config, fleet

    async def invoke(self, invocation: Invocation) -> None:
        try:
            await self.answer(invocation)
        finally:
            self._fleet.busy -= 1

    async def answer(self, invocation: Invocation) -> None:
        headers = [(b"content-type", b"text/plain"), *invocation.response_headers]
        await invocation.start_response(headers)
        await invocation.send_chunk(self.config_name.encode(), more=False)


class FakeFleet:
    """A fake fleet that records its calls; instances respond with its configuration's name."""

    def __init__(self, fleets: "Fleets") -> None:
        self._fleets = fleets
        self.config = ""
        self.counts: dict[str, int] = {}
        self.events: list[str] = []
        self.weights: dict[str, float] = {}
        self.busy = 0

    def start(self, *arguments: Any) -> None:
        self._fleets.start_arguments.append(arguments)
        self._fleets.ready.wait()
        if self._fleets.failure:
            raise self._fleets.failure
        self.config, self.counts = arguments[2]["EndpointConfigName"], dict(arguments[4])
        self._fleets.started.append(self)

    def reconfigure(self, config: dict[str, Any]) -> None:
        self.config = config["EndpointConfigName"]

    def scale(self, counts: Mapping[str, int]) -> None:
        self.events.append(f"scaling to {sum(counts.values())}")
        if self._fleets.scaling_errors:
            raise self._fleets.scaling_errors.pop(0)
        self.counts = dict(counts)

    def serving(self) -> dict[str, list[Any]]:
        return {name: [] for name in self.counts}

    def instance_types(self, variant: str) -> list[str]:
        return []

    def choose(self, weights: Mapping[str, float], **_: Any) -> FakeInstance | None:
        if not any(self.counts.values()):
            return None
        self.weights = dict(weights)
        self.busy += 1
        return FakeInstance(self)

    def drain(self, timeout: float) -> None:
        assert timeout > 0
        self.events.append("draining")
        if self.config:
            self._fleets.idle.wait()

    def stop(self) -> None:
        self.events.append("stopped")


class Fleets:
    """A factory of fake fleets.

    A start waits for `ready` and raises `failure` if it is set. Each scaling raises the next error
    in `scaling_errors`. Draining waits for `idle`: no invocation is in progress.
    """

    def __init__(self) -> None:
        self.all: list[FakeFleet] = []
        self.started: list[FakeFleet] = []
        self.start_arguments: list[tuple[Any, ...]] = []
        self.ready, self.idle = threading.Event(), threading.Event()
        self.ready.set()
        self.idle.set()
        self.failure: Exception | None = None
        self.scaling_errors: list[Exception] = []

    def make(self, copies: Any = None) -> FakeFleet:
        self.all.append(FakeFleet(self))
        return self.all[-1]

    def fail(self, reason: str) -> None:
        self.failure = LocalSageMakerError(reason)


class FakeClock:
    """A clock that only `sleep` advances; `on_sleep` is called with the new time in seconds.

    `wait_until_elapsed` only waits for the event `elapsed`. `waiting` is true during such a wait;
    `longest` is the longest requested wait in seconds.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.elapsed = threading.Event()
        self.elapsed.set()
        self.waiting, self.longest = False, 0.0
        self.on_sleep: Callable[[float], None] = lambda _: None

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float, until: threading.Event) -> None:
        assert not until.is_set()
        self.seconds += seconds
        self.on_sleep(self.seconds)

    def wait_until_elapsed(self, seconds: float, until: threading.Event) -> None:
        assert seconds > 0
        self.waiting, self.longest = True, max(self.longest, seconds)
        eventually(lambda: self.elapsed.is_set() or until.is_set())
        self.waiting = False


@pytest.fixture
def clock() -> FakeClock:
    """The clock of all updates."""
    return FakeClock()


@pytest.fixture
def alarms() -> dict[str, str]:
    """The states of the CloudWatch alarms by name."""
    return {}


@pytest.fixture
def fleets(clock: FakeClock) -> Iterator[Fleets]:
    """The fake fleets; after the test, all transitions must finish."""
    fleets = Fleets()
    before = set(threading.enumerate())
    yield fleets
    fleets.ready.set()
    fleets.idle.set()
    clock.elapsed.set()
    eventually(lambda: not any(thread.daemon for thread in set(threading.enumerate()) - before))


@pytest.fixture
def scalable_variants() -> set[str]:
    """The variants of the endpoint `Text` that are scalable targets."""
    return set()


@pytest.fixture
def quotas() -> AccountQuotas:
    """The account's quotas."""
    return AccountQuotas()


@pytest.fixture
def dashboard_events() -> list[DashboardEvent]:
    """The recorded events of endpoints."""
    return []


NewHosting = Callable[[], HostingOperations]


@pytest.fixture
def new_hosting(
    fleets: Fleets,
    dashboard_events: list[DashboardEvent],
    s3: Any,
    scalable_variants: set[str],
    clock: FakeClock,
    alarms: dict[str, str],
    quotas: AccountQuotas,
) -> NewHosting:
    """A function that returns SageMaker's hosting without resources."""
    s3.objects["models", "m.tar.gz"] = b""
    return lambda: HostingOperations(
        SimpleNamespace(s3=s3, report_event=dashboard_events.append),  # type: ignore[arg-type]
        fleet=fleets.make,
        clock=lambda: clock,
        alarms=lambda names: {name: alarms[name] for name in names if name in alarms},
        is_assumable=lambda role: role.endswith("/known"),
        quota_value=quotas.value,
        scalable_variants=lambda name: scalable_variants if name == "Text" else (),
        deregister=lambda name: scalable_variants.clear() if name == "Text" else None,
    )


@pytest.fixture
def hosting(new_hosting: NewHosting) -> HostingOperations:
    """SageMaker's hosting with model `m` and the configurations `one` and `two`."""
    operations = new_hosting()
    operations.create_model(model("m"))
    for name in ("one", "two"):
        operations.create_endpoint_config(config(name))
    return operations


@pytest.fixture
def serving(hosting: HostingOperations) -> HostingOperations:
    """SageMaker's hosting with the endpoint `Text` of the configuration `one` in service."""
    create(hosting)
    wait_in_service(hosting)
    return hosting


@pytest.fixture
def sagemaker(hosting: HostingOperations) -> JsonService:
    """The SageMaker API of `hosting`."""
    return JsonService("sagemaker", hosting, hosting.tags)


CONTAINER = {"Image": "triton", "ModelDataUrl": "s3://models/m.tar.gz"}
VARIANT = {"VariantName": "only", "InstanceType": "ml.g5.xlarge", "InitialInstanceCount": 1}


def model(name: str, **container: Any) -> dict[str, Any]:
    """Return a request for a model of one container."""
    return {"ModelName": name, "PrimaryContainer": {**CONTAINER, **container}}


def config(name: str, *, model: str = "m", **variant: Any) -> dict[str, Any]:
    """Return a request for an endpoint configuration of one variant."""
    first = {**VARIANT, "ModelName": model, **variant}
    return {"EndpointConfigName": name, "ProductionVariants": [first]}
