"""The schema of a stage file."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, FiniteFloat, model_validator

import platform_facts
from platform_facts.rules import (
    Violation,
    components,
    existing,
    monitoring,
    pools,
    prefix_violations,
    server,
    stage,
    variants,
)
from stages.schema.alarms import NotifyConfig
from stages.schema.delivery import DeliveryConfig
from stages.schema.endpoint import EndpointConfig
from stages.schema.existing import ExistingConfig
from stages.schema.names import AccountId, EcrImage, EndpointName, RegionName, ReleaseName
from stages.schema.section import Section, raise_problems

RetentionDays = Literal[
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922,
    3288, 3653,
]  # fmt: skip
"""CloudWatch Logs API reference, PutRetentionPolicy: retentionInDays."""


TagKey = Annotated[str, Field(min_length=1, max_length=127)]
TagValue = Annotated[str, Field(min_length=1, max_length=255)]
"""The shortest limits of services (CloudFormation refuses a change set with other invalid tags)."""


def _reject_bool(value: object) -> object:
    """Reject true and false, which are equal to 1 and 0 in Python."""
    if value is True or value is False:
        raise ValueError("write a number of days")
    return value


class StageConfig(Section):
    """One environment: an AWS account and region with the endpoints in it."""

    UNSUPPORTED_KEYS: ClassVar[dict[str, str]] = {
        **dict.fromkeys(
            [
                *("async", "asynchronous", "batch_transform", "serverless", "shadow_variants"),
                *("bucket", "model_bucket", "accounts", "regions"),
            ],
            "docs/stages.md, What a stage cannot do, has alternatives",
        ),
        **dict.fromkeys(
            ["vpc", "vpc_id", "subnet_ids", "role", "execution_role_arn", "kms_key_arn"],
            "write existing: at the top of the file (docs/stages.md)",
        ),
    }
    account: AccountId | None = None
    """AWS account ID. Default: the account of the credentials that deploy."""
    region: RegionName
    """AWS region."""
    release: ReleaseName
    """Triton container release of the SageMaker image, for example 25.09."""
    production: bool = False
    """Production endpoints have at least two instances, in two Availability Zones, and alarms with
    notifications."""
    notify: NotifyConfig = NotifyConfig()
    """Notification targets of the alarms. Required in production; other stages have no alarms."""
    private_network: bool = False
    """Put the instances into a VPC of the stage, with a route to S3 only."""
    zones: Annotated[list[str], Field(min_length=2, max_length=6)] | None = None
    """Availability Zones of the private network; each must offer the endpoints' instance types.
    Default: CloudFormation chooses two."""
    existing: ExistingConfig = ExistingConfig()
    """Network, key, role, boundary, qualifier and bucket that exist already. Default: the stage
    creates its own."""
    delivery: DeliveryConfig | None = None
    """Roles for GitHub workflows. Default: no roles; deploy with your own credentials."""
    gpu_build_images: dict[ReleaseName, EcrImage] = {}
    """Copies of NVIDIA's TensorRT images in ECR, by release; GPU builds pull these images
    instead."""
    log_retention_days: Annotated[RetentionDays, BeforeValidator(_reject_bool)] = 90
    """Retention of the endpoint logs, in days."""
    tags: dict[TagKey, TagValue] = {}
    """Tags of all resources, not of the stacks: key -> value."""
    max_monthly_usd: Annotated[FiniteFloat, Field(gt=0)] | None = None
    """Monthly limit for the on-demand price of all instances at maximum scale, in USD. A review
    reports a change that exceeds it; running instances are not stopped."""
    cost_budget: bool = True
    """In production, notify the addresses of notify.email if the account's costs of SageMaker in a
    month exceed max_monthly_usd, or will probably do so. Without it, the limit is the price of all
    instances at maximum scale."""
    unconfirmed: list[Literal["pools", "components"]] = []
    """Features with contradictory or missing AWS documentation that this stage accepts. pools:
    instance_types in regions that AWS's sample does not name; components: updates that may reset
    the number of copies."""
    endpoints: Annotated[dict[EndpointName, EndpointConfig], Field(min_length=1)]
    """Endpoints by short name: `text` in stage `prod` is the SageMaker endpoint `prod-text`."""

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        region = platform_facts.region(self.region)
        release = platform_facts.release(self.release)
        if not all(endpoint.image for endpoint in self.endpoints.values()):
            # Other problems are irrelevant if the region has no image of the release.
            raise_problems(variants.check_release_region(release, region))
        raise_problems(self._problems(region, release))
        return self

    @property
    def captures(self) -> dict[str, int]:
        """Endpoint -> retention of its captured data in days."""
        return {
            name: endpoint.data_capture.keep_days
            for name, endpoint in self.endpoints.items()
            if endpoint.data_capture
        }

    def _problems(
        self, region: platform_facts.Region, release: platform_facts.Release
    ) -> Iterator[Violation]:
        for name, endpoint in self.endpoints.items():
            yield from prefix_violations(
                ("endpoints", name), self._endpoint_problems(endpoint, region, release)
            )
        yield from stage.check_region_resource_types(region)
        yield from self._existing_problems(region)
        zones, private = self.zones or [], self.private_network
        yield from stage.check_zones_need_network(zones, private)
        yield from stage.check_no_duplicates.at("zones")(zones)
        for zone in zones:
            yield from stage.check_zone_region(zone, self.region)
        for name, image in self.gpu_build_images.items():
            keys = "gpu_build_images", name
            yield from stage.check_build_region.at(*keys)(region)
            yield from variants.check_image_region.at(*keys)(image, self.region)
        topics, emails = self.notify.topics, self.notify.email
        yield from stage.check_production_has_recipients(self.production, [*emails, *topics])
        yield from stage.check_recipients_need_production(self.production, [*emails, *topics])
        yield from stage.check_no_duplicates.at("notify")([*emails, *topics])
        yield from monitoring.check_topic_count(len(topics) + bool(emails))
        for topic in topics:
            yield from stage.check_topic_region(topic, self.region)
            yield from stage.check_partition.at("notify", "topics")(topic, region)

    def _existing_problems(self, region: platform_facts.Region) -> Iterator[Violation]:
        used = self.existing
        key, role = used.kms_key_arn, used.execution_role_arn
        groups = used.security_group_ids
        yield from existing.check_vpc_keys(used.vpc_id, used.subnet_ids, groups)
        yield from existing.check_one_network(self.private_network, used.vpc_id)
        yield from existing.check_key_region(key, self.region)
        yield from existing.check_role_account(role, self.account)
        yield from existing.check_one_account(key, role, self.account)
        for name, arn in {"kms_key_arn": key, "execution_role_arn": role}.items():
            yield from stage.check_partition.at("existing", name)(arn, region)
        yield from existing.check_bucket_is_used(used.capture_bucket, self.captures)
        for name, endpoint in self.endpoints.items():
            if capture := endpoint.data_capture:
                is_set = "keep_days" in capture.model_fields_set
                rule = existing.check_no_retention.at(
                    "endpoints", name, "data_capture", "keep_days"
                )
                yield from rule(used.capture_bucket, is_set)

    def _endpoint_problems(
        self,
        endpoint: EndpointConfig,
        region: platform_facts.Region,
        release: platform_facts.Release,
    ) -> Iterator[Violation]:
        for keys, instance_type in endpoint.instance_type_settings:
            yield from prefix_violations(keys, variants.check_gpu_release(instance_type, release))
        if endpoint.instance_types:
            types = list(map(platform_facts.instance_type, endpoint.instance_types))
            yield from pools.check_pool_inference_ami(types, release)
            yield from pools.check_pool_region(region, self.unconfirmed)
        if endpoint.image:
            yield from variants.check_image_region(endpoint.image.uri, self.region)
        yield from stage.check_metrics_network(endpoint.publish_metrics, self.private_network)
        for option, value in endpoint.server:
            if value is not None:
                yield from server.check_option_release.at("server", option)(option, release)
        yield from server.check_tensorflow_version(endpoint.server.tensorflow_version, release)
        if endpoint.publish_metrics:
            yield from server.check_option_release.at("publish_metrics")("publish_metrics", release)
        if endpoint.hosting == "components":
            if endpoint.instances:
                yield from components.check_zero_instances(endpoint.instances.min, region)
            yield from components.check_components_confirmed(self.unconfirmed)
        if self.production:
            for keys, count in endpoint.minimum_counts.items():
                yield from stage.check_production_count.at(*keys)(str(keys[-1]), count)
