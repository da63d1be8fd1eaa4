"""Valid stages and endpoints that tests change by arguments."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aws_cdk import App, Environment, Stack
from aws_cdk.assertions import Template

from platform_facts import instance_type, release
from stacks.model_stack import ModelStack
from stages import StageConfig
from stages.plan import PlannedStage
from triton_sagemaker import (
    ModelBucket,
    MultiModelHosting,
    ScalableInstanceCount,
    SingleModelHosting,
    TritonContainer,
    TritonEndpoint,
    Variant,
)


def trial_stage(*, region: str = "us-east-1", **endpoint: Any) -> StageConfig:
    """Return a stage whose only endpoint, `text`, serves minilm."""
    settings = {"models": ["minilm"], "instance_type": "ml.g5.xlarge", **endpoint}
    return StageConfig.model_validate(
        {"region": region, "release": "25.09", "endpoints": {"text": settings}}
    )


def model_stack(app: App, stage: StageConfig) -> ModelStack:
    """Return the models stack of a trial stage."""
    env = Environment(region=stage.region)
    return ModelStack(app, "trial-models", stage=PlannedStage.of("trial", stage), env=env)


def properties_of(
    template: Template | Mapping[str, Any], kind: str, name: str = ""
) -> list[dict[str, Any]]:
    """Return the properties of the resources of a type whose logical IDs contain a name."""
    content = template.to_json() if isinstance(template, Template) else template
    return [
        resource["Properties"]
        for logical_id, resource in content["Resources"].items()
        if resource["Type"] == kind and name in logical_id
    ]


class SampleStack:
    """A stack with a model bucket, and factories of its endpoints and their parts."""

    def __init__(
        self, context: dict[str, Any] | None = None, *, region: str | None = "us-east-1"
    ) -> None:
        self.app = App(context=context)
        self.stack = Stack(self.app, "Stack", env=Environment(region=region))
        self.bucket = ModelBucket(self.stack, "Models")

    def container(self, **changes: Any) -> TritonContainer:
        return replace(TritonContainer(release=release("25.09")), **changes)

    def multi_model(self, **changes: Any) -> MultiModelHosting:
        return replace(MultiModelHosting(bucket=self.bucket, prefix="test/"), **changes)

    def single_model(self, **changes: Any) -> SingleModelHosting:
        return replace(SingleModelHosting(bucket=self.bucket, key="test/m.tar.gz"), **changes)

    def variant(self, type_name: str = "ml.g5.xlarge", **changes: Any) -> Variant:
        variant = Variant(
            container=self.container(),
            hosting=self.multi_model(),
            instance_type=instance_type(type_name),
        )
        return replace(variant, **changes)

    def endpoint(self, *variants: Variant, **arguments: Any) -> TritonEndpoint:
        return TritonEndpoint(
            self.stack,
            "Endpoint",
            **{
                "endpoint_name": "under-test",
                "variants": variants or [self.variant()],
                **arguments,
            },
        )

    def scaling(self, *variants: Variant, max_capacity: int = 4) -> ScalableInstanceCount:
        """Return the scalable instance count of the first variant of a new endpoint."""
        first = self.endpoint(*variants).instance_production_variants[0]
        return first.auto_scale_instance_count(max_capacity=max_capacity)

    def template(self) -> Template:
        return Template.from_stack(self.stack)

    def properties(self, kind: str, name: str = "") -> dict[str, Any]:
        """Return the properties of the only resource of a type whose logical ID contains a name."""
        (properties,) = properties_of(self.template(), kind, name)
        return properties
