"""Metrics, scaling and charts of an inference component."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from triton_sagemaker.alarm_thresholds import AlarmThresholds
from triton_sagemaker.chart import Chart, alarmed_metrics
from triton_sagemaker.charts import memory_chart, request_charts
from triton_sagemaker.component_hosting import ComponentHosting
from triton_sagemaker.component_metrics import ComponentMetrics
from triton_sagemaker.endpoint_metrics import GPU_UTILIZATION
from triton_sagemaker.inference_component import ModelComponent, component_resource
from triton_sagemaker.scalable_copy_count import ScalableCopyCount
from triton_sagemaker.updates import UpdatePolicy
from triton_sagemaker.variant import Variant, start_seconds


@dataclass(frozen=True, kw_only=True)
class EndpointComponent(ComponentMetrics):
    """An inference component of a `TritonEndpoint`.

    `resource` is its CloudFormation resource, which serves the Model `model_name`.
    """

    endpoint: Construct
    updated: Construct
    component: ModelComponent
    resource: sagemaker.CfnInferenceComponent
    model_name: str
    scalings: list[ScalableCopyCount] = field(default_factory=list)

    def auto_scale_copy_count(
        self, *, max_capacity: int, min_capacity: int = 0
    ) -> ScalableCopyCount:
        """Scale the number of copies between two limits, after the component is updated."""
        scaling = ScalableCopyCount(
            self.endpoint,
            f"Scaling-{self.model}",
            metrics=self,
            after=self.updated,
            min_capacity=min_capacity,
            max_capacity=max_capacity,
        )
        scaling.node.add_dependency(self.resource)  # also when the component is removed
        self.scalings.append(scaling)
        return scaling

    def charts(self, thresholds: AlarmThresholds) -> Iterator[Chart]:
        """Yield the charts of the component."""
        yield from request_charts(self, thresholds)
        if self.component.accelerators:
            memory = alarmed_metrics(self, thresholds, "gpu_memory_percent")
            utilization = [self.utilization(GPU_UTILIZATION)]
            yield Chart("GPU (percent of the copies')", memory, utilization)
        yield memory_chart("Memory and CPU (percent of the copies')", self, thresholds)


def create_components(
    scope: Construct,
    variant: Variant,
    models: Mapping[str, sagemaker.CfnModel],
    *,
    endpoint: sagemaker.CfnEndpoint,
    update: UpdatePolicy,
    model_error_rate: float,
) -> list[EndpointComponent]:
    """Return the inference components of a variant; `models` maps locations to Models."""
    hosting, components = variant.hosting, list[EndpointComponent]()
    if not isinstance(hosting, ComponentHosting):
        return components
    times = update.times(start_seconds([variant]))
    for model, component in hosting.components.items():
        metrics = ComponentMetrics(
            endpoint_name=endpoint.endpoint_name or "",
            variant_name=variant.variant_name,
            component_name=component.name,
            model=model,
        )
        model_name = models[component.source.location].attr_model_name
        resource = component_resource(
            scope,
            metrics,
            component,
            id_suffix=hosting.id_suffix(variant.instance_type),
            endpoint=endpoint,
            model_name=model_name,
            startup=variant.startup_properties,
            times=times,
            model_error_rate=model_error_rate,
        )
        components.append(
            EndpointComponent(
                **vars(metrics),
                endpoint=scope,
                updated=resource,
                component=component,
                resource=resource,
                model_name=model_name,
            )
        )
    return components
