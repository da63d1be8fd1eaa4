"""Hosting of models as inference components, which share instances and scale to zero."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from platform_facts import InstanceType
from platform_facts.rules import components as rules
from platform_facts.rules import names
from triton_sagemaker.alarm_thresholds import AlarmThresholds
from triton_sagemaker.chart import Chart
from triton_sagemaker.component_metrics import ComponentMetrics
from triton_sagemaker.endpoint_component import EndpointComponent
from triton_sagemaker.endpoint_log import component_log_name
from triton_sagemaker.endpoint_metrics import INSTANCES, EndpointMetrics
from triton_sagemaker.hosting_mode import HostingMode, ModelHosting, Network
from triton_sagemaker.inference_component import ModelComponent, component_resource
from triton_sagemaker.problems import Problem, as_problems, prefix_problems
from triton_sagemaker.server_options import ServerOptions
from triton_sagemaker.updates import UpdatePolicy

if TYPE_CHECKING:
    from triton_sagemaker.variant import Variant

Cfn = sagemaker.CfnEndpointConfig


@dataclass(frozen=True, kw_only=True)
class ComponentHosting(HostingMode):
    """Models as inference components: SageMaker places copies by the resources they reserve.

    `components` maps a model name to its component. SageMaker runs as many instances as the copies
    need, from `min_instance_count` to `max_instance_count`.

    The endpoint is updated in place, without a blue/green update: each component is updated
    separately, in batches of copies, and rolled back by its own alarms.
    """

    name = "components"
    default_ping_mode = "ready"

    components: Mapping[str, ModelComponent]
    max_instance_count: int
    min_instance_count: int = 0

    @property
    def sources(self) -> Mapping[str, ModelHosting]:
        """The archives of the components."""
        return {f"-{model}": component.source for model, component in self.components.items()}

    @property
    def log_groups(self) -> list[str]:
        """The log groups of the components' copies."""
        return [component_log_name(component.name) for component in self.components.values()]

    def id_suffix(self, instance_type: InstanceType) -> str:
        """Return the instance type as suffix, so that another type replaces the endpoint.

        "Cannot update endpoint with a different instance type for endpoints to which you plan to
        deploy Inference Components." (aws-samples/sample-auto-extract-ai-ocr-app#66)
        """
        return f"-{instance_type.name}"

    def model_members(self, network: Network | None) -> dict[str, Any]:
        """Return no members: the network is a member of the EndpointConfig."""
        return {}

    def config_members(self, role_arn: str, network: Network | None) -> dict[str, Any]:
        """Return role (without it SageMaker returns 400: stdapi-ai/stdapi.ai#43) and network."""
        config = Cfn.VpcConfigProperty(**network) if network else None
        return {"execution_role_arn": role_arn, "vpc_config": config}

    def variant_members(self, models: Mapping[str, str]) -> dict[str, Any]:
        """Return the limits of the instance count, and no Model."""
        return {
            "managed_instance_scaling": Cfn.ManagedInstanceScalingProperty(
                max_instance_count=self.max_instance_count,
                min_instance_count=self.min_instance_count,
                status="ENABLED",
            )
        }

    def deployment(self, *_: Any, **__: Any) -> None:
        """Return None: the endpoint is updated in place."""

    def inference_components(
        self,
        scope: Construct,
        update: UpdatePolicy,
        *,
        endpoint: sagemaker.CfnEndpoint,
        variant: "Variant",
        models: Mapping[str, sagemaker.CfnModel],
        model_error_rate: float,
    ) -> list[EndpointComponent]:
        """Return the inference component of each model."""
        endpoint_components = []
        for model, component in self.components.items():
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
                id_suffix=self.id_suffix(variant.instance_type),
                endpoint=endpoint,
                model_name=model_name,
                update=update,
                model_error_rate=model_error_rate,
            )
            endpoint_components.append(
                EndpointComponent(
                    **vars(metrics),
                    endpoint=scope,
                    updated=resource,
                    component=component,
                    resource=resource,
                    model_name=model_name,
                )
            )
        return endpoint_components

    def charts(
        self, metrics: EndpointMetrics, variant: "Variant", limits: AlarmThresholds
    ) -> Iterator[Chart]:
        """Yield a chart of the resources that copies reserve on the instances."""
        reserved = [f"{resource}Reservation" for resource in ("CPU", "GPU", "Memory")]
        yield Chart(
            "Reserved by copies (percent)",
            other_metrics=[metrics.metric(INSTANCES, name, "Average") for name in reserved],
        )

    def problems(self, options: ServerOptions, instance_type: InstanceType) -> Iterator[Problem]:
        """Yield the values that SageMaker would reject."""
        limits = self.min_instance_count, self.max_instance_count
        yield from as_problems(
            rules.instances(*limits), *limits, where="hosting.max_instance_count"
        )
        published = options.publish_metrics is not None
        yield from as_problems(rules.metrics_of_copies(published), where="container.options")
        for model, component in self.components.items():
            where = f"hosting.components.{model}"
            yield from as_problems(
                names.component_name(component.name), component.name, where=f"{where}.name"
            )
            yield from prefix_problems(where, component.source.problems(options, instance_type))
            memory = int(component.memory.to_mebibytes())
            needs = memory, component.cpus, component.accelerators
            violations = rules.room_for_a_copy(*needs, instance_type)
            yield from as_problems(violations, *needs, where=where)
            if component.initial_copy_count < 1:
                message = "SageMaker creates a component with one copy or more: write 1"
                yield Problem(f"{where}.initial_copy_count", message)

    def endpoint_problems(
        self, variants: Sequence[object], update: UpdatePolicy, *, captures: bool
    ) -> Iterator[Problem]:
        """Yield the settings that an endpoint of inference components does not support."""
        yield from as_problems(rules.one_variant(len(variants)))
        yield from as_problems(rules.update_of_copies(update.strategy))
        yield from as_problems(rules.capture_of_copies(captures))
