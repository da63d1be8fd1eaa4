"""Rules that combine several values of a stage file."""

import re
from collections.abc import Sequence

from platform_facts import Region
from platform_facts.rules.rule import rule
from platform_facts.rules.updates import CONTAINER_MINUTES
from platform_facts.rules.variants import GUIDE

CACHE_ALARMS = ("cache_hit_rate_below", "unloads_per_minute", "loaded_models_below")
"""Alarms of the model cache; with cache_models: false, they would always fire."""
TWO_ZONES = f"{GUIDE}create-multi-model-endpoint.html: at least two instances, in two zones"


@rule("models", "triton_sagemaker.SingleModelHosting: one archive")
def check_single_model(count: int) -> str | None:
    """With `hosting: single-model`, `models` has one model."""
    return None if count == 1 else f"single-model hosting takes one model, not {count}"


@rule("models", "triton_sagemaker: one archive, or one component for each model")
def check_table_hosting(rows: int, hosting: str) -> str | None:
    """The folder of a table stands for all its rows, which needs `hosting: multi-model`."""
    if not rows or hosting == "multi-model":
        return None
    return f"a table of {rows} rows needs hosting: multi-model: write that, or the name of a row"


@rule("cache_models", f"{GUIDE}multi-model-caching.html: a setting of multi-model endpoints")
def check_cache_models(cache_models: bool) -> str | None:
    """`cache_models: false` requires `hosting: multi-model`."""
    if cache_models:
        return None
    return (
        "a single model always stays in memory: remove cache_models: false, or write "
        "hosting: multi-model"
    )


@rule("download_timeout_minutes", f"{GUIDE}multi-model-endpoints.html: a call loads the model")
def check_download_timeout(minutes: float) -> str | None:
    """With `hosting: multi-model`, `download_timeout_minutes` is 10."""
    if minutes == CONTAINER_MINUTES:
        return None
    return (
        "not known to work for a model that a call loads: remove it, or write hosting: single-model"
    )


@rule("on_failure", "the template of another endpoint names the archives of its models")
def check_on_failure(on_failure: str) -> str | None:
    """`on_failure: keep` requires `hosting: multi-model`."""
    if on_failure == "stop":
        return None
    return "only multi-model endpoints keep models: remove it, or write hosting: multi-model"


@rule("alarms", f"{GUIDE}multi-model-caching.html")
def check_cache_alarm(cache_models: bool) -> str | None:
    """Alarms on the model cache require `cache_models: true`."""
    if cache_models:
        return None
    return "alarms of the model cache need cache_models: true: remove this alarm"


@rule("publish_metrics", "stacks/network_stack.py: the private network has a route to S3 only")
def check_metrics_network(publish_metrics: bool, private_network: bool) -> str | None:
    """`publish_metrics` is not supported with `private_network: true`."""
    if not (publish_metrics and private_network):
        return None
    return (
        "instances in the private network can reach S3 but not CloudWatch: remove it, or "
        "write private_network: false"
    )


@rule("production", TWO_ZONES)
def check_production_count(key: str, count: int) -> str | None:
    """In production, instance and copy counts and their minimums are at least 2; components may
    have 0.
    """
    if count >= 2:
        return None
    return (
        f"a production endpoint needs {key} 2 or more, so that it survives the loss of an "
        "availability zone"
    )


@rule("region", "platform_facts/regions.toml, cloudformation")
def check_region_resource_types(region: Region) -> str | None:
    """CloudFormation supports every resource type of the app in the region."""
    missing = region.missing_resource_type
    if missing is None:
        return None
    return f"CloudFormation has no {missing} in {region.name}: write another region"


@rule("models", "our choice")
def check_no_duplicates(names: Sequence[str]) -> str | None:
    """Lists of models, zones, e-mail addresses and topics have no duplicates."""
    repeated = sorted({name for name in names if names.count(name) > 1})
    return f"{', '.join(repeated)} listed twice: remove one" if repeated else None


@rule("zones", "stacks/network_stack.py")
def check_zones_need_network(zones: Sequence[str], private_network: bool) -> str | None:
    """`zones` requires `private_network: true`."""
    if private_network or not zones:
        return None
    return "only a private network has subnets: write private_network: true"


@rule("zones", "Local Zones (us-west-2-lax-1a) have longer names, and no SageMaker endpoints")
def check_zone_region(zone: str, region: str) -> str | None:
    """A zone is an Availability Zone of the region, such as `us-east-1a`."""
    if re.fullmatch(rf"{region}[a-z]", zone):
        return None
    return f"{zone!r} is not a zone of {region}: write {region}a, for example"


@rule("gpu_build_images", "platform_facts/regions.toml")
def check_build_region(region: Region) -> str | None:
    """CodeBuild has GPUs in the stage's region."""
    return None if region.codebuild_gpu else f"CodeBuild has no GPU in {region.name}: remove it"


@rule("production", "our choice: an alarm without a notification is useless")
def check_production_has_recipients(production: bool, targets: Sequence[str]) -> str | None:
    """A production stage has `notify.email` or `notify.topics`."""
    if targets or not production:
        return None
    return (
        "alarms of a production stage have no notification target: write notify: "
        "{ email: [team@company.com] }, or ARNs of SNS topics under notify.topics"
    )


@rule("notify", "our choice: only production stages have alarms")
def check_recipients_need_production(production: bool, targets: Sequence[str]) -> str | None:
    """`notify` requires `production: true`."""
    if production or not targets:
        return None
    return "only production stages have alarms to notify of: remove notify"


@rule(
    "notify.topics",
    'PutMetricAlarm: "Invalid region ca-central-1 specified. Only us-west-2 is supported." '
    "(cds-snc/notification-terraform#128)",
)
def check_topic_region(arn: str, region: str) -> str | None:
    """SNS topics are in the stage's region."""
    if arn.split(":")[3] == region:
        return None
    return (
        f"{arn} is not in {region}, and an alarm can notify only topics of its region: write a "
        "topic of that region"
    )


@rule("existing", "IAM user guide, reference-arns: each region is in one partition")
def check_partition(arn: str | None, region: Region) -> str | None:
    """ARNs of keys, roles and topics are of the partition of the stage's region."""
    if arn is None or arn.split(":")[1] == region.partition:
        return None
    return f"{arn} is not an ARN of {region.name}: write arn:{region.partition}:..."
