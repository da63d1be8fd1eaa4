"""What holds for every test."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The CDK's own checks of templates take seconds a synth; `make lint` has them of every stage. What
# cdk-nag finds fails a synth all the same. jsii's process inherits it, so it comes before the CDK.
os.environ["CDK_VALIDATION"] = "false"

# How long an example takes, or is drawn for, says how busy the machine is and nothing of the code.
settings.register_profile(
    "unhurried", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")

TESTS = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups when it is asked the same
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep on one worker what shares something costly: jsii's process, or a module's fixtures."""
    for item in items:
        if TESTS in item.path.parents:
            place = item.path.relative_to(TESTS)
            group = "synth" if place.parts[0] == "synth" else str(place)
            item.add_marker(pytest.mark.xdist_group(group))
