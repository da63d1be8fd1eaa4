"""What a stage cannot ask for together."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import checked_yaml
import platform_facts
from stages.schema.alarms import MAX_ALARM_ACTIONS
from stages.schema.part import Found

if TYPE_CHECKING:
    from stages.schema.endpoint import EndpointConfig
    from stages.schema.stage import StageConfig


def misfits(stage: "StageConfig") -> Found:
    """Yield what does not fit together; without an image, nothing else is asked."""
    try:
        platform_facts.image_uri(
            release=platform_facts.release(stage.release),
            region=platform_facts.region(stage.region),
            processor=platform_facts.Processor.GPU,
        )
    except platform_facts.UnsupportedCombination as error:
        yield ("release",), str(error)
        return
    for name, endpoint in stage.endpoints.items():
        yield from _endpoint(stage, name, endpoint)
    yield from _region(stage)
    yield from _zones(stage)
    yield from _gpu_build_images(stage)
    yield from _notify(stage)


def _region(stage: "StageConfig") -> Found:
    if missing := platform_facts.region(stage.region).missing:
        yield (
            ("region",),
            f"CloudFormation has no {missing} in {stage.region}: write another region",
        )


def _zones(stage: "StageConfig") -> Found:
    zones = stage.zones or []
    if zones and not stage.private_network:
        yield ("zones",), "only a private network has subnets: write private_network: true"
    if twice := sorted({it for it in zones if zones.count(it) > 1}):
        yield ("zones",), f"{', '.join(twice)} listed twice: remove one"
    for zone in zones:
        # Local Zones (us-west-2-lax-1a) have longer names, and no SageMaker endpoints.
        if not re.fullmatch(rf"{stage.region}[a-z]", zone):
            yield (
                ("zones",),
                f"{zone!r} is no zone of {stage.region}: write {stage.region}a, for example",
            )


def _gpu_build_images(stage: "StageConfig") -> Found:
    for release, image in stage.gpu_build_images.items():
        place = ("gpu_build_images", release)
        if not platform_facts.region(stage.region).codebuild_gpu:
            yield place, f"CodeBuild has no GPU in {stage.region}: remove it"
        elif f".ecr.{stage.region}." not in image:
            # No page says that CodeBuild pulls from another region.
            yield place, f"the image is in another region than {stage.region}: copy it there"


def _notify(stage: "StageConfig") -> Found:
    told = [*stage.notify.email, *stage.notify.topics]
    if stage.production and not told:
        yield (
            ("production",),
            "nobody hears the alarms of a production stage: write notify: "
            "{ email: [team@company.com] }, or ARNs of SNS topics under notify.topics",
        )
    elif told and not stage.production:
        yield ("notify",), "only production stages have alarms to hear: remove notify"
    if twice := sorted({it for it in told if told.count(it) > 1}):
        yield ("notify",), f"{', '.join(twice)} listed twice: remove one"
    if len(stage.notify.topics) + bool(stage.notify.email) > MAX_ALARM_ACTIONS:
        yield (
            ("notify",),
            f"an alarm tells {MAX_ALARM_ACTIONS} topics, of which all addresses need one: "
            "remove some, or subscribe them to another's topic",
        )
    # PutMetricAlarm: "Invalid region ca-central-1 specified. Only us-west-2 is supported."
    # (cds-snc/notification-terraform#128)
    for topic in stage.notify.topics:
        if topic.split(":")[3] != stage.region:
            yield (
                ("notify", "topics"),
                f"{topic} is not in {stage.region}, and an alarm tells topics of its own region "
                "alone: write another",
            )


def _endpoint(stage: "StageConfig", name: str, endpoint: "EndpointConfig") -> Found:
    release = platform_facts.release(stage.release)
    places = {endpoint.place_of_type(it): endpoint.variant_instance_type(it)
              for it in endpoint.variants}  # fmt: skip
    for place, type_name in places.items():
        gpu = platform_facts.instance_type(type_name).gpu
        if gpu and (wanted := release.wants_gpu(gpu.compute_capability)):
            yield (
                ("endpoints", name, *place),
                f"{type_name} has a {gpu.name} of compute capability "
                f"{gpu.compute_capability}, release {stage.release} needs {wanted}: write "
                "another instance_type or another release",
            )
    if endpoint.publish_metrics and stage.private_network:
        yield (
            ("endpoints", name, "publish_metrics"),
            "the instances of a private network reach S3 alone, and not CloudWatch: remove it, or "
            "write private_network: false",
        )
    for keys in _too_new(endpoint, release):
        since = platform_facts.serve_option_since(str(keys[-1]))
        yield (
            ("endpoints", name, *keys),
            f"release {release.name} does not have it: remove it, or write release {since} or "
            "newer",
        )
    if stage.production:
        for keys, key in _alone(endpoint):
            yield ("endpoints", name, *keys), _SURVIVES.format(key=key)


def _too_new(
    endpoint: "EndpointConfig", release: platform_facts.Release
) -> Iterator[checked_yaml.Keys]:
    """Yield the options whose variables the release's `serve` does not read."""
    asked = [("server", it) for it, value in endpoint.server if value is not None]
    for keys in [*asked, *([("publish_metrics",)] if endpoint.publish_metrics else [])]:
        since = platform_facts.serve_option_since(keys[-1])
        if since and release.name < since:
            yield keys


def _alone(endpoint: "EndpointConfig") -> Iterator[tuple[checked_yaml.Keys, str]]:
    """Yield where one instance may be all there is, and the key that says so."""
    scaling = endpoint.scaling
    if endpoint.instance_count < 2:
        yield (), "instance_count"
    elif scaling:
        if scaling.min_count < 2:
            yield ("scaling",), "min_count"
        for name, schedule in scaling.schedules.items():
            if schedule.min_count < 2:
                yield ("scaling", "schedules", name), "min_count"


_SURVIVES = (
    "a production endpoint needs {key} 2 or more, so that it survives the loss of an availability "
    "zone"
)
