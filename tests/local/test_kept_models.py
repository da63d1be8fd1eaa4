"""A table with rows that cannot be built, with both settings of `on_failure`."""

import shutil

import pytest

from delivery.bucket import model_bucket
from delivery.catalog import describe_unbuilt, unbuilt_models
from plan.archives import ArchiveBucket
from plan.catalog import Catalog
from plan.document import Plan
from tests.local.conftest import ROOT, Checkout

pytestmark = pytest.mark.drill

TABLE = "models/demand/shops.csv"
LYON = "models/demand/weights/lyon.json"


@pytest.fixture(scope="module")
def deployed(checkout: Checkout) -> Checkout:
    shutil.copytree(ROOT / "models" / "demand", checkout.path / "models" / "demand")
    # With it, builds load the rows into Triton.
    shutil.copytree(ROOT / "local_sagemaker", checkout.path / "local_sagemaker")
    stage = checkout.path / "stages" / "local.yaml"
    stage.write_text(stage.read_text().replace("[minilm]", "[demand]"))
    checkout.deploy()
    return checkout


def versions(checkout: Checkout) -> dict[str, str]:
    """Return model -> version in the catalog."""
    catalog = Catalog(checkout.aws.session("delivery").client("dynamodb"), "local", "text")
    return {name: revision.version for name, revision in catalog.current().items()}


def unbuilt(checkout: Checkout) -> list[str]:
    """Return what deploys and deliveries print of models that could not be built."""
    session = checkout.aws.session("delivery")
    name = model_bucket(session.client("cloudformation"), "local")
    assert name
    plan = Plan.read(checkout.path / "cdk.out")
    models = unbuilt_models(plan, ArchiveBucket(session.client("s3"), name))
    return describe_unbuilt(session, plan, models)


def test_models_that_cannot_be_built_stop_or_are_kept(deployed: Checkout) -> None:
    before = versions(deployed)
    deployed.edit("models/demand/weights/berlin.json", "90.0", "95.0")
    with (deployed.path / TABLE).open("a") as table:
        table.write("oslo,weights/oslo.json\n")
    (deployed.path / "models/demand/weights/oslo.json").write_text("[")
    original = (deployed.path / LYON).read_text()
    (deployed.path / LYON).write_text("[")
    output = deployed.deploy(code=1)
    assert "2 of 4 archives were not built. " in output
    assert "demand-lyon: " in output
    assert versions(deployed) == before
    deployed.edit("stages/local.yaml", "models: [demand]", "models: [demand]\n    on_failure: keep")
    deployed.deploy()
    kept = versions(deployed)
    assert {name for name in kept if kept[name] != before[name]} == {"demand-berlin"}
    lyon, oslo = unbuilt(deployed)
    assert lyon.endswith(f" could not be built: clients keep {before['demand-lyon']}")
    assert oslo.startswith("text/demand-oslo: version ")
    assert oslo.endswith(" could not be built: no client can call it")
    for name in ("lyon", "oslo"):
        (deployed.path / f"models/demand/weights/{name}.json").write_text(original)
    deployed.deploy()
    assert versions(deployed).keys() == {*before, "demand-oslo"}
    assert versions(deployed)["demand-lyon"] == before["demand-lyon"]
    assert unbuilt(deployed) == []
