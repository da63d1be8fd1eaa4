"""Plans of stages for tests."""

from typing import Any

from plan.document import (
    EndpointSettings,
    HostingName,
    Limits,
    Plan,
    PlannedArchive,
    PlannedComponent,
    PlannedEndpoint,
    PlannedModel,
    PlannedPool,
    PlannedVariant,
    TimeBudget,
    models_digest,
)
from platform_facts.rules.catalog import ModelEntry

SIGNATURE: Any = {
    "inputs": [{"name": "X", "datatype": "FP32", "shape": [-1, 4]}],
    "outputs": [{"name": "Y", "datatype": "FP32", "shape": [-1, 2]}],
    "max_batch_size": 8,
}
TARGET = "25.09-cpu"


def make_model(
    name: str,
    *,
    endpoint: str = "prod-text",
    digest: str = "a" * 64,
    prefix: str = f"text/{TARGET}/",
    engines: tuple[str, ...] = (),
    **changes: Any,
) -> PlannedModel:
    """Return a model of a multi-model endpoint with one archive."""
    version = digest[:12]
    archive = f"{name}-{version}.tar.gz"
    values: dict[str, Any] = {
        "version": version,
        "digest": digest,
        "source": f"prod/{name}.zip",
        "archives": {f"{prefix}{archive}": PlannedArchive(target=TARGET, engines=engines)},
        "catalog": ModelEntry(
            model=name,
            version=version,
            endpoint=endpoint,
            target_model=archive,
            signature=SIGNATURE,
        ),
    }
    return PlannedModel(**(values | changes))


def make_variant(instance_type: str = "ml.m5.xlarge", **changes: Any) -> PlannedVariant:
    """Return a variant with two instances and without scaling."""
    values: dict[str, Any] = {
        "weight": 1.0,
        "pools": (
            PlannedPool(instance_type=instance_type, prefix=f"text/{TARGET}/", target=TARGET),
        ),
        "initial_count": 2,
        "instances": Limits(minimum=2, maximum=2),
        "is_scaled": False,
    }
    return PlannedVariant(**(values | changes))


def make_endpoint(
    name: str = "prod-text",
    *,
    models: dict[str, PlannedModel] | None = None,
    variants: dict[str, PlannedVariant] | None = None,
    components: dict[str, PlannedComponent] | None = None,
    hosting: HostingName = "multi-model",
    settings: dict[str, Any] | None = None,
) -> PlannedEndpoint:
    """Return an endpoint with one variant, by default without models."""
    models = models or {}
    return PlannedEndpoint(
        settings=EndpointSettings(
            name=name,
            stack=name,
            hosting=hosting,
            variants=variants or {"AllTraffic": make_variant()},
            components=components or {},
            settings=settings or {},
            models_digest=models_digest(models),
        ),
        models=models,
    )


def make_plan(stage: str = "prod", **changes: Any) -> Plan:
    """Return a plan, by default without endpoints."""
    values: dict[str, Any] = {
        "stage": stage,
        "account": None,
        "region": "us-east-1",
        "release": "25.09",
        "production": stage == "prod",
        "settings": {},
        "endpoints": {},
        "time_budget": TimeBudget(rows={"builds": 148, "update": 60}, build_minutes=143),
    }
    return Plan(**(values | changes))
