"""Hosting of models as inference components, which share instances and scale to zero."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import aws_sagemaker as sagemaker

from platform_facts import InstanceType
from platform_facts.rules import components as rules
from platform_facts.rules import names
from triton_sagemaker.hosting_mode import HostingMode, ModelHosting, VpcConfig
from triton_sagemaker.inference_component import ModelComponent
from triton_sagemaker.problems import Problem, check, prefix_problems
from triton_sagemaker.server_options import ServerOptions
from triton_sagemaker.updates import UpdatePolicy

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
    has_deployment_config = False

    components: Mapping[str, ModelComponent]
    max_instance_count: int
    min_instance_count: int = 0

    @property
    def sources(self) -> Mapping[str, ModelHosting]:
        """The archives of the components."""
        return {f"-{model}": component.source for model, component in self.components.items()}

    @property
    def log_groups(self) -> list[str]:
        """The log groups of the copies."""
        return [names.component_log_group(component.name) for component in self.components.values()]

    def id_suffix(self, instance_type: InstanceType) -> str:
        """Return the instance type, because its change requires a new endpoint.

        "Cannot update endpoint with a different instance type for endpoints to which you plan to
        deploy Inference Components." (aws-samples/sample-auto-extract-ai-ocr-app#66)
        """
        return f"-{instance_type.name}"

    def model_properties(self, vpc_config: VpcConfig | None) -> dict[str, Any]:
        """Return no properties, because the EndpointConfig has the VPC."""
        return {}

    def config_properties(self, role_arn: str, vpc_config: VpcConfig | None) -> dict[str, Any]:
        """Return role and VPC. SageMaker requires the role (stdapi-ai/stdapi.ai#43)."""
        vpc_property = Cfn.VpcConfigProperty(**vpc_config) if vpc_config else None
        return {"execution_role_arn": role_arn, "vpc_config": vpc_property}

    def variant_properties(self, models: Mapping[str, str]) -> dict[str, Any]:
        """Return the limits of managed instance scaling; the variant has no Model."""
        return {
            "managed_instance_scaling": Cfn.ManagedInstanceScalingProperty(
                max_instance_count=self.max_instance_count,
                min_instance_count=self.min_instance_count,
                status="ENABLED",
            )
        }

    def problems(self, options: ServerOptions, instance_type: InstanceType) -> Iterator[Problem]:
        """Yield the settings that SageMaker would reject."""
        limits = self.min_instance_count, self.max_instance_count
        yield from check(
            rules.check_instance_limits, *limits, argument="hosting.max_instance_count"
        )
        has_metrics = options.publish_metrics is not None
        yield from check(
            rules.check_no_published_metrics, has_metrics, argument="container.options"
        )
        for model, component in self.components.items():
            argument = f"hosting.components.{model}"
            name = f"{argument}.name"
            yield from check(names.check_component_name, component.name, argument=name)
            yield from prefix_problems(argument, component.source.problems(options, instance_type))
            memory = int(component.memory.to_mebibytes())
            resources = memory, component.cpus, component.accelerators
            rule = rules.check_copy_resources
            yield from check(rule, *resources, instance_type, argument=argument)
            if component.initial_copy_count < 1:
                message = "SageMaker creates a component with one copy or more: write 1"
                yield Problem(f"{argument}.initial_copy_count", message)

    def endpoint_problems(
        self, variants: Sequence[object], update: UpdatePolicy, *, has_data_capture: bool
    ) -> Iterator[Problem]:
        """Yield the settings that an endpoint with components does not support."""
        yield from check(rules.check_single_variant, len(variants))
        yield from check(rules.check_component_update_strategy, update.strategy)
        yield from check(rules.check_no_data_capture, has_data_capture)
