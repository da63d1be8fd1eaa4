"""The data of `tritonsm status`, as in its `--json`; times are ISO 8601 in UTC."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

import boto3
from botocore.exceptions import ClientError

from cli.names import stage_of
from cli.status.differences import read_differences
from delivery.aws import DENIED, client, failure_reason
from delivery.drift import LiveDifference
from delivery.errors import NO_CAPACITY
from plan import catalog

TARGET_TRACKING_PREFIX = "TargetTracking-"
"""Prefix of the names of Application Auto Scaling's own alarms, one of which is in ALARM whenever
there are more instances than needed. Source: its user guide, "Target tracking scaling policies";
the prefix is from users' reports (aws/amazon-sagemaker-operator-for-k8s)."""

SUSPENDABLE = {
    "DynamicScalingOutSuspended": "scale-out",
    "DynamicScalingInSuspended": "scale-in",
    "ScheduledScalingSuspended": "schedules",
}
"""Member of SuspendedState (Application Auto Scaling API reference) -> what it suspends."""

T = TypeVar("T")
Record = Mapping[str, Any]


@dataclass(frozen=True)
class VariantStatus:
    """A production variant; `weight` is its share of the calls.

    For a variant with several instance types, `instance_types` maps each type to its count.
    """

    name: str
    weight: float | None
    instances: int
    desired_instances: int
    instance_types: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class EndpointStatus:
    """An endpoint; `reason` is SageMaker's FailureReason, without an old lack of capacity."""

    name: str
    status: str
    reason: str | None
    variants: list[VariantStatus]


@dataclass(frozen=True)
class CatalogModel:
    """A model of the catalog; `archive` is set only on a multi-model endpoint.

    `component` is the name of its inference component, if it is one. `stack` is the name of the
    endpoint's stack; an endpoint of components has a longer name.
    """

    endpoint: str
    name: str
    version: str
    archive: str | None
    stack: str
    component: str | None = None


@dataclass(frozen=True)
class ComponentStatus:
    """An inference component that the catalog names; `reason` is SageMaker's FailureReason."""

    name: str
    endpoint: str
    status: str
    reason: str | None = None
    copies: int = 0
    desired_copies: int = 0


@dataclass(frozen=True)
class SuspendedScaling:
    """Scaling that is suspended, of a variant or, without `variant`, of an inference component.

    `resource` is the name of the endpoint or of the component; `suspended` has values of
    `SUSPENDABLE`.
    """

    resource: str
    variant: str | None
    suspended: list[str]


@dataclass(frozen=True)
class Alarm:
    """An alarm that is not OK; `reason` is CloudWatch's StateReason."""

    name: str
    state: str
    since: datetime | None
    description: str
    reason: str


@dataclass(frozen=True)
class Report:
    """The report; `denied` has the sections for which the caller has no permission."""

    endpoints: list[EndpointStatus]
    models: list[CatalogModel] = field(default_factory=list)
    components: list[ComponentStatus] = field(default_factory=list)
    suspended_scaling: list[SuspendedScaling] = field(default_factory=list)
    alarms: list[Alarm] = field(default_factory=list)
    differences: list[LiveDifference] = field(default_factory=list)
    denied: list[str] = field(default_factory=list)


def read_report(session: boto3.Session, stage: str | None, stages: list[str]) -> Report:
    """Return the report on one of the `stages`, or on all in the account and region.

    Raise `ClientError` and `BotoCoreError`.
    """
    denied: list[str] = []

    def read_if_permitted(subject: str, read: Callable[[], list[T]]) -> list[T]:
        try:
            return read()
        except ClientError as error:
            if error.response["Error"].get("Code") not in DENIED:
                raise
            denied.append(f"{subject}: {failure_reason(error)}")
            return []

    def in_scope(name: str) -> bool:
        return stage is None or stage_of(name, stages) == stage

    prefix = f"{stage}-" if stage else ""
    dynamodb, cloudwatch = client(session, "dynamodb"), client(session, "cloudwatch")
    sagemaker, scaling = client(session, "sagemaker"), client(session, "application-autoscaling")
    endpoints = [
        _endpoint(record)
        for record in _describe_endpoints(sagemaker, prefix)
        if in_scope(record["EndpointName"])
    ]
    models = read_if_permitted("models", lambda: _catalog(dynamodb, stage))
    suspended = read_if_permitted("suspended scaling", lambda: list(_suspended_scaling(scaling)))
    alarms = read_if_permitted("alarms", lambda: list(_active_alarms(cloudwatch, prefix)))
    names = [endpoint.name for endpoint in endpoints]
    catalog_endpoints = {model.stack for model in models}
    return Report(
        endpoints=endpoints,
        models=models,
        components=read_if_permitted("components", lambda: list(_components(sagemaker, models))),
        suspended_scaling=[item for item in suspended if in_scope(item.resource)],
        alarms=[alarm for alarm in alarms if in_scope(alarm.name)],
        differences=read_if_permitted(
            "differences",
            lambda: read_differences(session, stage, stages, names, catalog_endpoints),
        ),
        denied=denied,
    )


def _describe_endpoints(sagemaker: Any, prefix: str) -> Iterator[Record]:
    """Yield the descriptions of endpoints, sorted by name."""
    name_filter = {"NameContains": prefix} if prefix else {}
    pages = sagemaker.get_paginator("list_endpoints")
    for page in pages.paginate(SortBy="Name", SortOrder="Ascending", **name_filter):
        for summary in page["Endpoints"]:
            try:
                yield sagemaker.describe_endpoint(EndpointName=summary["EndpointName"])
            except ClientError as error:
                if not _is_absent(error):
                    raise


def _components(sagemaker: Any, models: Iterable[CatalogModel]) -> Iterator[ComponentStatus]:
    """Yield the components of the catalog, including missing ones."""
    for model in models:
        if model.component is None:
            continue
        try:
            record = sagemaker.describe_inference_component(InferenceComponentName=model.component)
        except ClientError as error:
            if not _is_absent(error):
                raise
            yield ComponentStatus(model.component, model.endpoint, "does not exist")
            continue
        copies, status = record.get("RuntimeConfig", {}), record["InferenceComponentStatus"]
        counts = copies.get("CurrentCopyCount", 0), copies.get("DesiredCopyCount", 0)
        # SageMaker keeps the reason of an earlier failure.
        is_healthy = status == "InService" and counts[0] == counts[1]
        yield ComponentStatus(
            name=model.component,
            endpoint=model.endpoint,
            status=status,
            reason=None if is_healthy else record.get("FailureReason"),
            copies=counts[0],
            desired_copies=counts[1],
        )


def _suspended_scaling(scaling: Any) -> Iterator[SuspendedScaling]:
    """Yield the scalable targets of which something is suspended."""
    pages = scaling.get_paginator("describe_scalable_targets")
    for page in pages.paginate(ServiceNamespace="sagemaker"):
        for record in page["ScalableTargets"]:
            state = record.get("SuspendedState", {})
            if suspended := [text for member, text in SUSPENDABLE.items() if state.get(member)]:
                # endpoint/NAME/variant/VARIANT or inference-component/NAME
                _, resource, *rest = record["ResourceId"].split("/")
                yield SuspendedScaling(resource, rest[1] if rest else None, suspended)


def _is_absent(error: ClientError) -> bool:
    return "Could not find" in error.response["Error"]["Message"]


def _endpoint(record: Record) -> EndpointStatus:
    variants = [
        VariantStatus(
            name=variant["VariantName"],
            weight=variant.get("CurrentWeight"),
            instances=variant.get("CurrentInstanceCount", 0),
            desired_instances=variant.get("DesiredInstanceCount", 0),
            instance_types={
                pool["InstanceType"]: pool["CurrentInstanceCount"]
                for pool in variant.get("InstancePools", ())
            },
        )
        for variant in record.get("ProductionVariants", ())
    ]
    name, status = record["EndpointName"], record["EndpointStatus"]
    reason = record.get("FailureReason", "")
    # SageMaker keeps the reason of an earlier scale-out.
    lacks_none = all(variant.instances >= variant.desired_instances for variant in variants)
    if status == "InService" and lacks_none and NO_CAPACITY in reason:
        reason = ""
    return EndpointStatus(name, status, reason or None, variants)


def _catalog(dynamodb: Any, stage: str | None) -> list[CatalogModel]:
    """Return the models of valid catalog entries; broken entries are reported as differences."""
    models = [
        CatalogModel(
            endpoint=revision.entry["endpoint"],
            name=revision.model,
            version=revision.version,
            archive=revision.entry["target_model"],
            stack=f"{name}-{revision.endpoint}",
            component=revision.entry.get("inference_component"),
        )
        for name in ([stage] if stage else catalog.stages_with_catalog(dynamodb))
        for revision in catalog.listed(dynamodb, name)
        if revision.entry
    ]
    return sorted(models, key=lambda model: (model.endpoint, model.name))


def _active_alarms(cloudwatch: Any, prefix: str) -> Iterator[Alarm]:
    """Yield alarms that are not OK, except alarms of Application Auto Scaling.

    The names of alarms begin with their stack's name (CloudFormation user guide,
    aws-properties-name), and the names of stacks with their stage's name.
    """
    name_filter = {"AlarmNamePrefix": prefix} if prefix else {}
    pages = cloudwatch.get_paginator("describe_alarms").paginate(
        AlarmTypes=["MetricAlarm", "CompositeAlarm"], **name_filter
    )
    for page in pages:
        for record in (*page.get("MetricAlarms", ()), *page.get("CompositeAlarms", ())):
            scaling = record["AlarmName"].startswith(TARGET_TRACKING_PREFIX)
            if record["StateValue"] != "OK" and not scaling:
                yield Alarm(
                    name=record["AlarmName"],
                    state=record["StateValue"],
                    since=record.get("StateTransitionedTimestamp"),
                    description=record.get("AlarmDescription", ""),
                    reason=record.get("StateReason", ""),
                )
