"""One production variant."""

from collections.abc import Iterator
from dataclasses import dataclass

from aws_cdk import aws_sagemaker as sagemaker

from platform_facts import InstanceType
from platform_facts.rules import names, ranges, server, variants
from platform_facts.rules.updates import CONTAINER_SECONDS
from triton_sagemaker.hosting_mode import HostingMode
from triton_sagemaker.problems import Problem, of_rules
from triton_sagemaker.triton_container import TritonContainer


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A container, what it serves, and the instances that it runs on.

    `variant_name` must never change: deployment guardrails and scaling go by it.
    `initial_variant_weight` is the variant's share of the traffic, relative to the others'.
    """

    container: TritonContainer
    hosting: HostingMode
    instance_type: InstanceType
    initial_instance_count: int = 1
    initial_variant_weight: float = 1.0
    variant_name: str = "AllTraffic"

    def property(self, *, model_name: str) -> sagemaker.CfnEndpointConfig.ProductionVariantProperty:
        """Return the variant of an EndpointConfig, which serves the Model `model_name`.

        Requests go to the instance with the fewest in progress: models' latencies are uneven.
        """
        release = self.container.release
        return sagemaker.CfnEndpointConfig.ProductionVariantProperty(
            container_startup_health_check_timeout_in_seconds=CONTAINER_SECONDS,
            inference_ami_version=(
                release.preferred_inference_ami if self.instance_type.gpu else None
            ),
            initial_instance_count=self.initial_instance_count,
            initial_variant_weight=self.initial_variant_weight,
            instance_type=self.instance_type.name,
            model_data_download_timeout_in_seconds=CONTAINER_SECONDS,
            model_name=model_name,
            routing_config=sagemaker.CfnEndpointConfig.RoutingConfigProperty(
                routing_strategy="LEAST_OUTSTANDING_REQUESTS"
            ),
            variant_name=self.variant_name,
        )

    def problems(self) -> Iterator[Problem]:
        """Yield everything that is wrong with the variant and its parts."""
        count, weight = self.initial_instance_count, self.initial_variant_weight
        limit = self.container.options.model_load_gpu_limit
        yield from of_rules(names.variant_name(self.variant_name), self.variant_name)
        yield from of_rules(ranges.WEIGHT.at("weight")(weight), weight)
        yield from self.hosting.problems(self.container.options, self.instance_type)
        yield from self.container.problems(self.hosting)
        yield from of_rules(server.memory_of_a_gpu(limit, self.instance_type), limit)
        yield from of_rules(ranges.INSTANCE_COUNT(count), count)
        yield from of_rules(variants.gpu_of_release(self.instance_type, self.container.release))
