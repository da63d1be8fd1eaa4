"""Endpoints whose instances are pretended."""

import threading
from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest

from local_aws.errors import LocalAwsError
from local_aws.hosting.fleet import Fleet
from local_aws.hosting.triton import Response
from local_aws.sagemaker.hosting_api import Hosting
from local_aws.sagemaker.service import SageMaker
from tests.unit.local_aws.conftest import eventually

BOTOCORE = botocore.session.get_session()
"""Keeps SageMaker's service model, which takes 0.1 s to read."""


class FakeFleet:
    """Writes down what happens to it; answers with the name of its configuration."""

    def __init__(self, config: str, *, may_end: threading.Event) -> None:
        self.config = config
        self.events: list[str] = []
        self._may_end = may_end

    def invoke(self, *_: Any, **__: Any) -> tuple[str, Response]:
        return "only", Response(200, {"Content-Type": "text/plain"}, self.config.encode())

    def drain(self, timeout: float) -> None:
        assert timeout > 0
        self.events.append("draining")
        assert self._may_end.wait(10)

    def stop(self) -> None:
        self.events.append("stopped")


class Fleets:
    """Stands in for `Fleet.start`: `ready` lets starts go on, `failure` makes them fail.

    `quiet` says whether fleets have nothing left to answer when they are drained.
    """

    def __init__(self) -> None:
        self.started: list[FakeFleet] = []
        self.asked: list[tuple[Any, ...]] = []
        self.ready, self.quiet = threading.Event(), threading.Event()
        self.ready.set()
        self.quiet.set()
        self.failure: str | None = None

    def start(self, *arguments: Any) -> FakeFleet:
        self.asked.append(arguments)
        assert self.ready.wait(10)
        if self.failure:
            raise LocalAwsError(self.failure)
        fleet = FakeFleet(arguments[2]["EndpointConfigName"], may_end=self.quiet)
        self.started.append(fleet)
        return fleet


@pytest.fixture
def fleets(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleets]:
    """What starts instead of Triton processes; at the end, no transition is under way."""
    made = Fleets()
    before = set(threading.enumerate())
    monkeypatch.setattr(Fleet, "start", made.start)
    yield made
    made.ready.set()
    made.quiet.set()
    eventually(lambda: not any(it.daemon for it in set(threading.enumerate()) - before))


@pytest.fixture
def hosting(fleets: Fleets) -> Hosting:
    """SageMaker's hosting with model `m` and the configurations `one` and `two`."""
    made = Hosting("the host")  # type: ignore[arg-type]
    made.create_model({"ModelName": "m", "PrimaryContainer": {"Image": "triton"}})
    for name in ("one", "two"):
        made.create_endpoint_config(config(name))
    return made


@pytest.fixture
def sagemaker(hosting: Hosting, monkeypatch: pytest.MonkeyPatch) -> SageMaker:
    """The service in front of it."""
    monkeypatch.setattr(botocore.session, "get_session", lambda: BOTOCORE)
    return SageMaker(hosting)


def config(name: str, *, model: str = "m", **variant: Any) -> dict[str, Any]:
    """Return a request for an endpoint configuration of one variant."""
    first = {"VariantName": "only", "ModelName": model, **variant}
    return {"EndpointConfigName": name, "ProductionVariants": [first]}
