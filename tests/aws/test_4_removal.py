"""The removal of what the other steps deployed."""

import pytest

from tests.aws.ladder import ENDPOINT, STAGE, Ladder


@pytest.mark.aws("cents", "destroys the stage")
def test_destroy_deletes_the_stacks(deployed: Ladder) -> None:
    deployed.tritonsm("destroy", STAGE, "--yes")
    assert not any(map(deployed.stack_status, (f"{STAGE}-models", ENDPOINT)))
