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
    """Hosting of several models as inference components on shared instances.

    `components` maps names of models to their components. SageMaker places copies on instances by
    the resources that they reserve, and runs between `min_instance_count` and
    `max_instance_count` instances.

    The endpoint has no blue/green updates: each component is updated separately, in batches of
    copies, and rolled back by its own alarms.
    """

    name = "components"
    default_ping_mode = "ready"
    has_deployment_config = False

    components: Mapping[str, ModelComponent]
    max_instance_count: int
    min_instance_count: int = 0

    @property
    def sources(self) -> Mapping[str, ModelHosting]:
        """The archives of the components."""
        return {f"-{model}": each.source for model, each in self.components.items()}

    @property
    def log_groups(self) -> list[str]:
        """The log groups of the copies."""
        return [component_log_name(each.name) for each in self.components.values()]

    def id_suffix(self, instance_type: InstanceType) -> str:
        """Return the instance type, because its change requires a new endpoint.

        "Cannot update endpoint with a different instance type for endpoints to which you plan to
        deploy Inference Components." (aws-samples/sample-auto-extract-ai-ocr-app#66)
        """
        return f"-{instance_type.name}"

    def model_members(self, network: Network | None) -> dict[str, Any]:
        """Return no members, because the EndpointConfig has the network."""
        return {}

    def config_members(self, role_arn: str, network: Network | None) -> dict[str, Any]:
        """Return role and network. SageMaker requires the role (stdapi-ai/stdapi.ai#43)."""
        config = Cfn.VpcConfigProperty(**network) if network else None
        return {"execution_role_arn": role_arn, "vpc_config": config}

    def variant_members(self, models: Mapping[str, str]) -> dict[str, Any]:
        """Return the limits of managed instance scaling; the variant has no Model."""
        return {
            "managed_instance_scaling": Cfn.ManagedInstanceScalingProperty(
                max_instance_count=self.max_instance_count,
                min_instance_count=self.min_instance_count,
                status="ENABLED",
            )
        }

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
        """Return the component of each model."""
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
        """Yield a chart of the resources that copies reserve."""
        reserved = [f"{resource}Reservation" for resource in ("CPU", "GPU", "Memory")]
        yield Chart(
            "Reserved by copies (percent)",
            beside=[metrics.metric(INSTANCES, name, "Average") for name in reserved],
        )

    def problems(self, options: ServerOptions, instance_type: InstanceType) -> Iterator[Problem]:
        """Yield the settings that SageMaker would reject."""
        limits = self.min_instance_count, self.max_instance_count
        yield from as_problems(
            rules.check_instance_limits(*limits), *limits, where="hosting.max_instance_count"
        )
        published = options.publish_metrics is not None
        yield from as_problems(
            rules.check_no_published_metrics(published), where="container.options"
        )
        for model, each in self.components.items():
            where = f"hosting.components.{model}"
            yield from as_problems(
                names.check_component_name(each.name), each.name, where=f"{where}.name"
            )
            yield from prefix_problems(where, each.source.problems(options, instance_type))
            memory = int(each.memory.to_mebibytes())
            needs = memory, each.cpus, each.accelerators
            violations = rules.check_copy_resources(*needs, instance_type)
            yield from as_problems(violations, *needs, where=where)
            if each.initial_copy_count < 1:
                what = "SageMaker creates a component with one copy or more: write 1"
                yield Problem(f"{where}.initial_copy_count", what)

    def endpoint_problems(
        self, variants: Sequence[object], update: UpdatePolicy, *, captures: bool
    ) -> Iterator[Problem]:
        """Yield the settings that an endpoint with components does not support."""
        yield from as_problems(rules.check_single_variant(len(variants)))
        yield from as_problems(rules.check_component_update_strategy(update.strategy))
        yield from as_problems(rules.check_no_data_capture(captures))
