"""One production variant."""

from collections.abc import Iterator
from dataclasses import dataclass

from aws_cdk import aws_sagemaker as sagemaker

from platform_facts import Region
from platform_facts.rules import names, ranges, server
from triton_sagemaker.durations import seconds
from triton_sagemaker.hosting_mode import HostingMode
from triton_sagemaker.instances import Instances
from triton_sagemaker.problems import Problem, of_rules
from triton_sagemaker.triton_container import TritonContainer

DEFAULT_VARIANT = "AllTraffic"


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A container, what it serves, and where.

    `name` must never change: deployment guardrails and scaling go by it. `weight` is the variant's
    share of the traffic, relative to the others'.
    """

    container: TritonContainer
    hosting: HostingMode
    instances: Instances
    name: str = DEFAULT_VARIANT
    weight: float = 1.0

    def image(self, region: Region) -> str:
        """Return the URI of the image that the instances run."""
        return self.container.image(region, self.instances.instance_type)

    def container_property(self, image: str) -> sagemaker.CfnModel.ContainerDefinitionProperty:
        """Return the container of the variant's Model."""
        return sagemaker.CfnModel.ContainerDefinitionProperty(
            environment=self.container.all_environment(self.hosting),
            image=image,
            model_data_url=self.hosting.url,
            **self.hosting.container_properties,
        )

    def property(self, *, model_name: str) -> sagemaker.CfnEndpointConfig.ProductionVariantProperty:
        """Return the variant of an EndpointConfig, which serves the Model `model_name`."""
        instances = self.instances
        return sagemaker.CfnEndpointConfig.ProductionVariantProperty(
            container_startup_health_check_timeout_in_seconds=seconds(instances.startup_timeout),
            inference_ami_version=instances.ami(self.container.release),
            initial_instance_count=instances.initial_count,
            initial_variant_weight=self.weight,
            instance_type=instances.instance_type.name,
            model_data_download_timeout_in_seconds=seconds(instances.download_timeout),
            model_name=model_name,
            routing_config=sagemaker.CfnEndpointConfig.RoutingConfigProperty(
                routing_strategy=instances.routing
            ),
            variant_name=self.name,
            volume_size_in_gb=instances.volume_gibibytes,
        )

    def problems(self) -> Iterator[Problem]:
        """Yield everything that is wrong with the variant and its parts."""
        instance_type = self.instances.instance_type
        limit = self.container.options.model_load_gpu_limit
        yield from of_rules(names.variant_name(self.name), self.name)
        yield from of_rules(ranges.WEIGHT.at("weight")(self.weight), self.weight)
        yield from self.hosting.problems(self.container.options, instance_type)
        yield from self.container.problems(self.hosting)
        yield from of_rules(server.memory_of_a_gpu(limit, instance_type), limit)
        yield from self.instances.problems(self.container.release)
