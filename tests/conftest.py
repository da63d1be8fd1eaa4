"""What holds for every test."""

import gc
import os
from functools import cache
from typing import Any

import botocore.loaders
import botocore.session
import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

# The CDK's own checks of templates take seconds a synth; `make lint` has them of every stage. What
# cdk-nag finds fails a synth all the same. jsii's process inherits it, so it comes before the CDK.
os.environ["CDK_VALIDATION"] = "false"

# What is imported and collected stays: to look through it again and again takes seconds.
gc.disable()

# How long an example takes, or is drawn for, says how busy the machine is and nothing of the code.
settings.register_profile(
    "unhurried", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")

# Service models are large, and parsed once a session: once a process is enough.
botocore.session.create_loader = cache(botocore.loaders.create_loader)


def pytest_collection_finish() -> None:
    """Collect garbage again, but what there is now."""
    gc.freeze()
    gc.enable()


class KeptTogether(LoadScopeScheduling):  # type: ignore[misc]
    """One worker runs a whole file, whose fixtures are costly, and all that shares jsii."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return "tests/synth" if file.startswith("tests/synth/") else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> KeptTogether:
    """Share the tests out by our groups."""
    return KeptTogether(config, log)
