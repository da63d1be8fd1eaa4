"""Fake states of a local SageMaker, and a server of the dashboard that shows them."""

import asyncio
import copy
import hashlib
import math
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from local_sagemaker.dashboard_events import DashboardEvent, EventKind
from local_sagemaker.front.http_server import RequestGuard, http_server
from local_sagemaker.watch.events import Events
from local_sagemaker.watch.web_app import DashboardApp

Record = dict[str, Any]

NOW = 1_790_000_000.0
MIB = 1 << 20
DIGEST = "0123456789ab"


class FakeRun:
    """A local SageMaker whose state and clock are set by tests."""

    def __init__(self, *, started: float = NOW - 900) -> None:
        self.now = NOW
        self.started = started
        self.events = Events(lambda: self.now)
        self.endpoints: list[Record] = []
        self.alarms: list[Record] = []
        self.requests: list[dict[str, int]] = []

    def state(self, *, after: int = 0, since: int = 0) -> Record:
        """Return the state, as `StateReader.state` does."""
        self.requests.append({"after": after, "since": since})
        endpoints = copy.deepcopy(self.endpoints)
        for endpoint in endpoints:
            for variant in endpoint["variants"]:
                rates: Any = variant["rates"]
                skipped = max(0, since - rates["first"])
                for name in ("calls", "errors", "p50", "p95"):
                    rates[name] = rates[name][skipped:]
                rates["first"] += skipped
        return {
            "speed": 60.0,
            "started": self.started,
            "now": self.now,
            "endpoints": endpoints,
            "alarms": copy.deepcopy(self.alarms),
            "events": self.events.after(after),
        }

    def add_event(self, kind: EventKind, message: str, *names: str, ago: float = 0) -> None:
        """Add an event `ago` seconds before now; `names` are endpoint, variant, instance, model."""
        members = dict(zip(("endpoint", "variant", "instance", "model"), names, strict=False))
        self.events.add(DashboardEvent(kind, message, **members, time=self.now - ago))


def model(name: str, ago: float, *, state: str = "loaded", **members: Any) -> Record:
    return {
        "target": f"{name}-{DIGEST}.tar.gz",
        "name": name,
        "state": state,
        "since": NOW - ago,
        "calls": 1,
        "answered": 12,
        "disk": 90 * MIB,
        **members,
    }


def instance_id(number: int) -> str:
    """Return an instance id whose displayed prefix is unique."""
    return f"i-{hashlib.sha256(bytes([number])).hexdigest()[:17]}"


def instance(number: int, *models: Record, **members: Any) -> Record:
    return {
        "id": instance_id(number),
        "state": "serving",
        "calls": sum(model["calls"] for model in models),
        "memory": (180 * len(models) + 30) * MIB,
        "memory_limit": 900 * MIB,
        "disk": sum(model["disk"] for model in models),
        "disk_limit": 30 << 30,
        "cpu": 42.0,
        "models": list(models),
        **members,
    }


def rates(seconds: int = 600, *, maximum: float = 20, failing: bool = False) -> Record:
    """Return rates in waves, with a period of errors if `failing`."""
    waves = [0.5 + 0.5 * math.sin(second / 40) for second in range(seconds)]
    calls = [int(maximum * wave) for wave in waves]
    errors = [c // 4 if failing and 420 < i < 460 else 0 for i, c in enumerate(calls)]
    p50 = [12 + 6 * w if c else None for w, c in zip(waves, calls, strict=True)]
    p95 = [30 + 40 * w * w if c else None for w, c in zip(waves, calls, strict=True)]
    return {"first": int(NOW) - seconds, "calls": calls, "errors": errors, "p50": p50, "p95": p95}


def variant(*instances: Record, name: str = "AllTraffic", **members: Any) -> Record:
    return {
        "name": name,
        "weight": 1.0,
        "instance_type": "ml.g5.xlarge",
        "container_mode": "MultiModel",
        "current_count": len(instances),
        "desired_count": len(instances),
        "scaling": None,
        "components": [],
        "processes_at_most": None,
        "instances": list(instances),
        "rates": rates(),
        **members,
    }


def endpoint(name: str, *variants: Record, **members: Any) -> Record:
    return {
        "name": name,
        "status": "InService",
        "configuration": "Config1",
        "failure": None,
        "variants": list(variants),
        **members,
    }


def alarm(
    name: str, state: str = "OK", *, endpoint: str | None = "prod-text", **members: Any
) -> Record:
    return {
        "name": name,
        "endpoint": endpoint,
        "variant": "AllTraffic",
        "watches": "ModelLatency",
        "condition": "p99 > 500000 in 2 of 3 periods of 60 s",
        "value": 620_000.0 if state == "ALARM" else 120_000.0,
        "state": state,
        "since": NOW - 40,
        **members,
    }


def busy_run() -> FakeRun:
    """Return a run with two endpoints: one scales out, evicts a model and is in ALARM."""
    run = FakeRun()
    text, only = "prod-text", "AllTraffic"
    first, second = map(instance_id, (1, 2))
    for number, ago in ((first, 420.0), (second, 110.0)):
        run.add_event(
            EventKind.INSTANCE_STARTED,
            "The container was started.",
            text,
            only,
            number,
            ago=ago,
        )
        message = "The instance passed the ping health check after 8.0 s."
        run.add_event(EventKind.INSTANCE_HEALTHY, message, text, only, number, ago=ago - 8)
    for name, instance_, ago, evicted_ago in (
        ("minilm", first, 400, None),
        ("bert", first, 260, 60),
        ("reranker", first, 190, None),
        ("minilm", second, 95, None),
        ("bert", second, 50, None),
    ):
        names = text, only, instance_, f"{name}-{DIGEST}.tar.gz"
        run.add_event(EventKind.MODEL_DOWNLOADING, f"{name} was requested.", *names, ago=ago)
        run.add_event(EventKind.MODEL_LOADING, f"{name} is being loaded.", *names, ago=ago - 5)
        run.add_event(EventKind.MODEL_LOADED, f"{name} was loaded in 9.0 s.", *names, ago=ago - 14)
        if evicted_ago:
            message = f"{name} was unloaded in 0.2 s to make room for clip."
            run.add_event(EventKind.MODEL_EVICTED, message, *names, ago=evicted_ago)
    names = text, only, first, f"clip-{DIGEST}.tar.gz"
    run.add_event(EventKind.MODEL_DOWNLOADING, "clip was requested.", *names, ago=66)
    run.add_event(EventKind.MODEL_LOADING, "clip is being loaded.", *names, ago=60)
    message = (
        "Setting desired instance count to 2 (InProgress): "
        "monitor alarm TargetTracking in state ALARM triggered policy calls"
    )
    run.add_event(EventKind.SCALING, message, text, only, ago=112)
    run.add_event(
        EventKind.ALARM,
        "prod-text-slow: updated from OK to ALARM. Crossed.",
        text,
        only,
        ago=40,
    )
    scaling = {
        "min": 1,
        "max": 6,
        "policies": [
            {
                "name": "calls",
                "metric": "SageMakerVariantInvocationsPerInstance",
                "target": 300.0,
                "value": 412.0,
            }
        ],
    }
    run.endpoints = [
        endpoint(
            text,
            variant(
                instance(
                    1,
                    model("minilm", 386),
                    model("reranker", 176, calls=0),
                    model("clip", 60, state="loading", disk=0, answered=0),
                ),
                instance(2, model("minilm", 81), model("bert", 36)),
                current_count=2,
                desired_count=3,
                scaling=scaling,
                rates=rates(failing=True),
            ),
        ),
        endpoint(
            "prod-vision",
            variant(instance(7, model("resnet50", 500)), name="Blue", weight=0.9),
            variant(
                instance(8, state="starting", calls=0, memory=None, cpu=None),
                name="Green",
                weight=0.1,
                rates=rates(0),
            ),
            status="Updating",
        ),
    ]
    policy = "TargetTracking-endpoint/prod-text/variant/AllTraffic-AlarmHigh"
    run.alarms = [
        alarm("prod-text-errors"),
        alarm("prod-text-slow", "ALARM"),
        alarm(f"{policy}-9b1c0b8e-8f58-4f0a-9e0e-0a8f4f6f2a11", "INSUFFICIENT_DATA", value=None),
        alarm("prod-vision-errors", endpoint="prod-vision"),
    ]
    return run


@contextmanager
def serve_run(run: FakeRun, port: int = 0) -> Iterator[str]:
    """Serve the dashboard of a run, with the real guard; yield its URL."""
    no_application: Any = None
    dashboard = DashboardApp(lambda **requests: run.state(**requests))
    server = http_server(RequestGuard(no_application, dashboard), port=port)
    port_number: Future[int] = Future()

    async def serve() -> None:
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        await server.startup()
        port_number.set_result(server.servers[0].sockets[0].getsockname()[1])
        await server.main_loop()
        for connection in list(server.server_state.connections):
            connection.transport.close()
        await server.shutdown()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        yield f"http://127.0.0.1:{port_number.result()}/_local_sagemaker/"
    finally:
        server.should_exit = True
        thread.join()
