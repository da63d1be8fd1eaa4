"""A production variant."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from aws_cdk import Duration, Size
from aws_cdk import aws_sagemaker as sagemaker

from platform_facts import InstanceType
from platform_facts.rules import names, pools, ranges, server, stage, updates, variants
from triton_sagemaker.hosting_mode import HostingMode, ModelHosting
from triton_sagemaker.problems import Problem, check, reject_plain_values
from triton_sagemaker.triton_container import TritonContainer

Cfn = sagemaker.CfnEndpointConfig
CONTAINER_TIMEOUT = Duration.minutes(updates.CONTAINER_MINUTES)


@dataclass(frozen=True, kw_only=True)
class Fallback:
    """An instance type to use if AWS has no capacity of preferred types, and its archive."""

    instance_type: InstanceType
    hosting: ModelHosting

    def __post_init__(self) -> None:
        reject_plain_values(instance_type=self.instance_type)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A production variant: container, hosting mode, and instances.

    - `variant_name` must not change, because deployment guardrails and scaling refer to it.
    - `initial_variant_weight` is the share of the traffic, relative to the sum of all weights.
    - `fallbacks` are further instance types in order of preference, for single-model hosting. Each
      has an archive for its GPU; several types can share an archive. An endpoint can have instances
      of several types, and does not return to the preferred type automatically (developer guide,
      realtime-endpoints-heterogeneous).
    - `provision_timeout` is the time for which SageMaker tries to get capacity of any type.
    - `download_timeout` is the time to download and unpack an archive, `startup_timeout` to load it
      and pass the first health check, also of a copy of an inference component.
    - `volume_size` is the size of the instances' volumes, for types without local NVMe storage; by
      default SageMaker chooses it.
    """

    container: TritonContainer
    hosting: HostingMode
    instance_type: InstanceType
    initial_instance_count: int = 1
    initial_variant_weight: float = 1.0
    variant_name: str = "AllTraffic"
    fallbacks: Sequence[Fallback] = ()
    provision_timeout: Duration | None = None
    download_timeout: Duration = CONTAINER_TIMEOUT
    startup_timeout: Duration = CONTAINER_TIMEOUT
    volume_size: Size | None = None

    def __post_init__(self) -> None:
        reject_plain_values(
            instance_type=self.instance_type,
            provision_timeout=self.provision_timeout,
            download_timeout=self.download_timeout,
            startup_timeout=self.startup_timeout,
            volume_size=self.volume_size,
        )

    @property
    def instance_types(self) -> list[InstanceType]:
        """The instance types in order of preference."""
        return [self.instance_type, *(fallback.instance_type for fallback in self.fallbacks)]

    @property
    def sources(self) -> dict[str, ModelHosting]:
        """The archive or prefix of each Model, by the suffix of the Model's construct id."""
        sources = dict(self.hosting.sources)
        for fallback in self.fallbacks:
            if fallback.hosting.location not in {source.location for source in sources.values()}:
                sources[f"-{len(sources) + 1}"] = fallback.hosting
        return sources

    @property
    def startup_properties(self) -> dict[str, Any]:
        """The timeouts of download and start, as properties of CloudFormation."""
        download, startup = (round(60 * minutes) for minutes in self.start_minutes)
        return {
            "container_startup_health_check_timeout_in_seconds": startup,
            "model_data_download_timeout_in_seconds": download,
        }

    @property
    def start_minutes(self) -> tuple[float, float]:
        """The timeouts of download and start in minutes."""
        return _minutes(self.download_timeout), _minutes(self.startup_timeout)

    def config_property(self, *, model_names: dict[str, str]) -> Cfn.ProductionVariantProperty:
        """Return the property of the EndpointConfig; `model_names` maps locations to Models.

        Routing is to the instance with the fewest requests in progress, because latencies differ
        between models and between instance types.
        """
        release = self.container.release
        return Cfn.ProductionVariantProperty(
            inference_ami_version=(
                release.preferred_inference_ami if self.instance_type.gpu else None
            ),
            initial_instance_count=self.initial_instance_count,
            initial_variant_weight=self.initial_variant_weight,
            instance_pools=self._pools(model_names) if self.fallbacks else None,
            instance_type=None if self.fallbacks else self.instance_type.name,
            routing_config=Cfn.RoutingConfigProperty(routing_strategy="LEAST_OUTSTANDING_REQUESTS"),
            variant_instance_provision_timeout_in_seconds=(
                self.provision_timeout.to_seconds() if self.provision_timeout else None
            ),
            variant_name=self.variant_name,
            volume_size_in_gb=self._volume_gib,
            **self.startup_properties,
            **self.hosting.variant_properties(model_names),
        )

    @property
    def _volume_gib(self) -> float | None:
        return self.volume_size.to_gibibytes() if self.volume_size else None

    def _pools(self, model_names: dict[str, str]) -> list[Cfn.InstancePoolProperty]:
        first_model = model_names.get(next(iter(self.sources.values())).location)
        pools = {self.instance_type.name: first_model} | {
            fallback.instance_type.name: model_names[fallback.hosting.location]
            for fallback in self.fallbacks
        }
        return [
            Cfn.InstancePoolProperty(
                instance_type=name,
                model_name_override=None if model == first_model else model,
                priority=priority,
            )
            for priority, (name, model) in enumerate(pools.items(), start=1)
        ]

    def problems(self) -> Iterator[Problem]:
        """Yield the invalid arguments of the variant."""
        count, weight = self.initial_instance_count, self.initial_variant_weight
        limit = self.container.options.model_load_gpu_limit
        yield from check(names.check_variant_name, self.variant_name)
        yield from check(ranges.WEIGHT.at("weight"), weight)
        for hosting in [self.hosting, *(fallback.hosting for fallback in self.fallbacks)]:
            yield from hosting.problems(self.container.options, self.instance_type)
        yield from self.container.problems(
            self.hosting.environment, multi_model=self.hosting.is_multi_model
        )
        if self.container.image and self.hosting.is_multi_model:
            yield from check(variants.check_multi_model_image, self.instance_type)
        yield from check(ranges.INSTANCE_COUNT, count)
        for instance_type in self.instance_types:
            yield from check(server.check_gpu_load_limit, limit, instance_type)
            yield from check(variants.check_gpu_release, instance_type, self.container.release)
            yield from check(variants.check_volume_size, self._volume_gib, instance_type)
        yield from check(ranges.VOLUME_GB, self._volume_gib)
        download, startup = self.start_minutes
        yield from check(ranges.DOWNLOAD_MINUTES, download)
        yield from check(ranges.STARTUP_MINUTES, startup)
        if self.hosting.is_multi_model:
            yield from check(stage.check_download_timeout, download)
        if self.fallbacks:
            yield from self._pool_problems()
        timeout = self.provision_timeout.to_minutes() if self.provision_timeout else None
        yield from check(pools.check_provision_timeout, timeout, self.fallbacks)
        yield from check(ranges.PROVISION_MINUTES, timeout)

    def _pool_problems(self) -> Iterator[Problem]:
        types = self.instance_types
        type_names = [instance_type.name for instance_type in types]
        yield from check(pools.check_pool_size, type_names)
        yield from check(pools.check_pool_hosting, self.hosting.name)
        yield from check(pools.check_same_processor, types)
        yield from check(pools.check_same_storage, types)
        yield from check(pools.check_pool_inference_ami, types, self.container.release)


def start_seconds(variants: Sequence[Variant]) -> int:
    """Return the maximum time until instances of all variants serve."""
    starts = (updates.start_seconds(*variant.start_minutes) for variant in variants)
    return max(starts, default=updates.START_SECONDS)


@cache  # a call of jsii for each object, which the default timeouts share
def _minutes(duration: Duration) -> float:
    return duration.to_minutes(integral=False)
