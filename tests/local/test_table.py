"""A stage with a table: each row is built from one source, and a changed row alone again."""

import shutil

import numpy as np
import pytest

from endpoint_client import EndpointClient
from tests.local.conftest import ROOT, Checkout

DAY = np.array([[10, 0, 0, 0]], np.float32)


@pytest.fixture(scope="module")
def deployed(checkout: Checkout) -> Checkout:
    shutil.copytree(ROOT / "models" / "demand", checkout.path / "models" / "demand")
    stage = checkout.path / "stages" / "local.yaml"
    stage.write_text(stage.read_text().replace("[minilm]", "[demand]"))
    checkout.deploy()
    return checkout


def test_changed_row_is_built_and_served_alone(deployed: Checkout) -> None:
    client = EndpointClient(
        stage="local", endpoint="text", session=deployed.aws.session("application"), catalog_ttl=0
    )

    def units() -> dict[str, float]:
        return {
            model: float(client.invoke(model, {"DAY": DAY})["UNITS"][0, 0])
            for model in client.models()
        }

    expected = {"demand-berlin": 105.0, "demand-lyon": 145.0, "demand-porto": 82.5}
    assert units() == pytest.approx(expected)
    before = {model: client.resolve(model).version for model in expected}
    file = deployed.path / "models" / "demand" / "weights" / "lyon.json"
    file.write_text(file.read_text().replace("140.0", "150.0"))
    deployed.deploy()
    assert units() == pytest.approx({**expected, "demand-lyon": 155.0})
    after = {model: client.resolve(model).version for model in expected}
    assert [name for name in expected if after[name] != before[name]] == ["demand-lyon"]
