"""The schema of a stage file."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, FiniteFloat, model_validator

import platform_facts
from platform_facts.rules import (
    Violation,
    observed,
    pools,
    prefix_violations,
    server,
    stage,
    variants,
)
from stages.hosting import MODES
from stages.schema.alarms import NotifyConfig
from stages.schema.delivery import DeliveryConfig
from stages.schema.endpoint import EndpointConfig
from stages.schema.names import AccountId, EcrImage, EndpointName, RegionName, ReleaseName
from stages.schema.part import Part, refuse
from stages.schema.tags import Tags

RetentionDays = Literal[
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922,
    3288, 3653,
]  # fmt: skip
"""CloudWatch Logs API reference, PutRetentionPolicy: retentionInDays."""


def _no_truth(value: object) -> object:
    """Reject true and false, which are equal to 1 and 0 in Python."""
    if value is True or value is False:
        raise ValueError("write a number of days")
    return value


class StageConfig(Part):
    """One environment: an AWS account and region with the endpoints in it."""

    UNSUPPORTED_KEYS: ClassVar[dict[str, str]] = dict.fromkeys(
        [
            *("async", "asynchronous", "batch_transform", "serverless", "shadow_variants"),
            *("vpc", "vpc_id", "subnets", "subnet_ids", "security_groups", "security_group_ids"),
            *("role", "role_arn", "execution_role", "permissions_boundary"),
            *("bucket", "model_bucket", "kms_key", "kms_key_id", "accounts", "regions"),
        ],
        "docs/not-in-a-stage.md has what to use instead",
    )
    account: AccountId | None = None
    """AWS account id. Left out: the account of whoever deploys."""
    region: RegionName
    """AWS region."""
    release: ReleaseName
    """Triton container release of the SageMaker image, for example 25.09."""
    production: bool = False
    """Production endpoints start with at least two instances, in two availability zones, and have
    alarms that somebody hears."""
    notify: NotifyConfig = NotifyConfig()
    """Who hears the alarms: production stages name somebody, others have no alarms."""
    private_network: bool = False
    """Put the instances into a VPC of the stage's own that reaches S3 and nothing else."""
    zones: Annotated[list[str], Field(min_length=2, max_length=6)] | None = None
    """Availability zones of the private network, each with the endpoints' instance types. Left out:
    CloudFormation chooses two."""
    delivery: DeliveryConfig | None = None
    """Roles for GitHub's workflows. Left out: people deploy, with credentials of their own."""
    gpu_build_images: dict[ReleaseName, EcrImage] = {}
    """Copies of NVIDIA's TensorRT images in ECR, by release: GPU builds pull those instead."""
    log_retention_days: Annotated[RetentionDays, BeforeValidator(_no_truth)] = 90
    """Days that the logs of the endpoints are kept."""
    tags: Tags = {}
    """Tags of every resource, and of the stacks: key -> value."""
    max_monthly_usd: Annotated[FiniteFloat, Field(gt=0)] | None = None
    """USD a month that all instances may cost at their most, on demand: a review finds a change
    that crosses it. It stops nothing that runs."""
    unconfirmed: list[Literal["pools", "components"]] = []
    """What the stage uses although sources of AWS differ on it, or none says it: pools are
    instance_types in regions that AWS's sample does not name, components an update that may set
    the number of copies back."""
    endpoints: Annotated[dict[EndpointName, EndpointConfig], Field(min_length=1)]
    """The endpoints, by their short names: `text` of stage `prod` is the endpoint `prod-text`."""

    @model_validator(mode="after")
    def _obeys(self) -> Self:
        region = platform_facts.region(self.region)
        release = platform_facts.release(self.release)
        # If the release has no image in the region, report only that.
        refuse(variants.image(release, region) or self._problems(region, release))
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
                ("endpoints", name), self._of_endpoint(endpoint, region, release)
            )
        yield from stage.complete_region(region)
        zones, private = self.zones or [], self.private_network
        yield from stage.zones_need_private_network(zones, private)
        yield from stage.no_duplicates.at("zones")(zones)
        for zone in zones:
            yield from stage.zone_of_the_region(zone, self.region)
        for name, image in self.gpu_build_images.items():
            yield from stage.image_of_the_region.at("gpu_build_images", name)(image, region)
        topics, emails = self.notify.topics, self.notify.email
        yield from stage.production_needs_notify(self.production, [*emails, *topics])
        yield from stage.notify_needs_production(self.production, [*emails, *topics])
        yield from stage.no_duplicates.at("notify")([*emails, *topics])
        yield from observed.number_of_topics(len(topics) + bool(emails))
        for topic in topics:
            yield from stage.topic_of_the_region(topic, self.region)

    def _of_endpoint(
        self,
        endpoint: EndpointConfig,
        region: platform_facts.Region,
        release: platform_facts.Release,
    ) -> Iterator[Violation]:
        for keys, instance_type in endpoint.placed_types:
            yield from prefix_violations(keys, variants.gpu_of_release(instance_type, release))
        if endpoint.instance_types:
            types = list(map(platform_facts.instance_type, endpoint.instance_types))
            yield from pools.one_driver(types, release)
            yield from pools.region_of_pools(region, self.unconfirmed)
        yield from stage.metrics_of_a_private_network(
            endpoint.publish_metrics, self.private_network
        )
        for option, value in endpoint.server:
            if value is not None:
                yield from server.option_of_release.at("server", option)(option, release)
        if endpoint.publish_metrics:
            yield from server.option_of_release.at("publish_metrics")("publish_metrics", release)
        mode = MODES[endpoint.hosting]
        yield from mode.problems_of_place(endpoint, region, self.unconfirmed)
        if self.production:
            for keys, count in mode.smallest_counts(endpoint).items():
                yield from stage.multi_az.at(*keys)(keys[-1], count)
