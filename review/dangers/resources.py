"""Dangers of whole resources and stacks: replaced, deleted, unfamiliar, other settings."""

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from release.templates import Template
from review import environments
from review.comparison import Comparison
from review.dangers.danger import Danger, digest
from review.dangers.identities import fixed_name
from review.stack_differences import ResourceChange
from review.template_changes import property_changes
from review.values import (
    as_list,
    first_names,
    format_change,
    format_value,
    is_intrinsic_function,
)

IMMUTABLE_TYPES = ("AWS::SageMaker::Model", "AWS::SageMaker::EndpointConfig")
"""Types that every update replaces; they contain no data."""

STATEFUL_TYPES = (
    "AWS::DynamoDB::Table", "AWS::EC2::Subnet", "AWS::EC2::VPC", "AWS::EC2::VPCEndpoint",
    "AWS::IAM::OIDCProvider", "AWS::KMS::Key", "AWS::Logs::LogGroup", "AWS::S3::Bucket",
    "AWS::S3::BucketPolicy", "AWS::SNS::Topic", "Custom::TritonUpdateCheck",
    "Custom::TritonUpdateGuard",
)  # fmt: skip
"""Types with data, with an address that other resources use, or that guard updates."""

REMOVALS = {"WILL_DESTROY": "deleted", "WILL_ORPHAN": "removed from the stack, but not deleted"}
"""The CDK's impact on a resource removed from its template -> participle in the message."""

EXEMPT_TYPES = (
    *IMMUTABLE_TYPES, "AWS::ApplicationAutoScaling::ScalingPolicy", "AWS::Budgets::Budget",
    "AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard", "AWS::EC2::SubnetRouteTableAssociation",
    "AWS::IAM::Policy", "AWS::SNS::Subscription", "AWS::SageMaker::Endpoint",
)  # fmt: skip
"""Types without data whose replacement other rules report, or whose properties are compared."""

KNOWN = Path(__file__).parent / "known_resources.json"
"""The types and properties that the constructs and stacks of this commit can write."""
OPAQUE = (
    "KeyPolicy", "*PolicyDocument", "Policies", "Tags", "PrimaryContainer.Environment",
    "Environment.Variables",
)  # fmt: skip
"""Patterns of properties whose parts are not listed in `KNOWN`."""

PROTECTING = re.compile(r"kms|encrypt|logging|tracing|deadletter|pointintime|protection", re.I)
"""Names of properties that a stack may newly have: they protect, and give no access."""
WITHOUT_ACCESS = (
    "AWS::CDK::Metadata", "AWS::CloudWatch::*", "AWS::KMS::Alias", "AWS::Logs::MetricFilter",
    "AWS::Logs::QueryDefinition", "AWS::SQS::Queue", "AWS::SSM::Parameter",
)  # fmt: skip
"""Patterns of types that run no code, give no access and open no network."""
PROTECTION = "terminationProtection"


def replaced_resources(comparison: Comparison) -> Iterator[Danger]:
    """A resource other than a Model or an EndpointConfig is replaced, or a stateful one deleted.

    Those of a stack are one danger: a resource is often replaced because it refers to another
    replaced resource.
    """
    for change in comparison.changes:
        if change.type in EXEMPT_TYPES or not comparison.is_deployed(change.stack):
            continue
        subject, text = f"{change.stack}.{change.path}", ""
        if change.before and change.after and change.before["Type"] != change.type:
            # aws/aws-sam-cli#6786: "Update of resource type is not permitted"
            types = f"{change.before['Type']} -> {change.type}"
            text = f"replaced by another type, which CloudFormation refuses: {types}"
        elif change.impact == "WILL_REPLACE":
            text = f"replaced ({_reasons(change)})"
            if change.type in ("AWS::DynamoDB::Table", "AWS::S3::Bucket"):
                text += ": the new one is empty"
        elif change.type in STATEFUL_TYPES:
            text = REMOVALS.get(change.impact, "")
            if change.impact == "WILL_ORPHAN" and (name := fixed_name(comparison, change)):
                text += f": its {name} stays taken, so that the next creation fails"
        if text:
            message = f"{change.type} {change.stack}/{change.path}: {text}"
            yield Danger(subject, message, group=change.stack)


def _reasons(change: ResourceChange) -> str:
    """Return the properties that replace a resource, with both values if they differ."""
    sides = [side.get("Properties", {}) for side in (change.before, change.after)]
    texts = []
    for name in change.properties:
        before, after = (format_value(side.get(name), {}) for side in sides)
        is_equal = before == after  # a reference to another replaced resource
        texts.append(f"{name} changes" if is_equal else f"{name}: {format_change(before, after)}")
    return ", ".join(texts)


def moved_archives(comparison: Comparison) -> Iterator[Danger]:
    """The models of an endpoint are in another bucket: all of them are built again."""
    for change in property_changes(comparison):
        if change.matches(("Custom::TritonModels", "Bucket")) and change.resource.before:
            text = "every model is built again, in another bucket: the archives stay in the old one"
            yield Danger(
                f"{change.resource.stack}.{change.resource.path}",
                f"{change.resource.type} {change.resource.stack}: {text} ({change.text})",
                rule="replaced_resources",
                group="archives",
            )


def exports_in_use(comparison: Comparison) -> Iterator[Danger]:
    """A stack loses an export that another deployed stack imports: CloudFormation refuses it.

    "You can't delete a stack if another stack references one of its outputs. You can't modify or
    remove an output value that is referenced by another stack" (CloudFormation user guide,
    using-cfn-stack-exports). The stacks that export are deployed first.
    """
    before, after = comparison.templates
    imports = {stack: json.dumps(template) for stack, template in before.items()}
    for stack in filter(comparison.is_deployed, before):
        removed = sorted(_exports(before[stack]) - _exports(after[stack]))
        users = {
            name: [user for user, text in imports.items() if user != stack and f'"{name}"' in text]
            for name in removed
        }
        if names := [name for name in removed if users[name]]:
            stacks = first_names(sorted({user for name in names for user in users[name]}))
            exports = first_names([format_value({"Fn::ImportValue": name}) for name in names])
            yield Danger(
                f"{stack}.{digest(' '.join(names))}",
                f"{stack}: the update fails: {stacks} import exports that it removes: "
                f"{exports}. First deploy a version that keeps them (export_value)",
                rule="rejected_updates",
            )


def changed_indexes(comparison: Comparison) -> Iterator[Danger]:
    """An index of a table has other keys or attributes, or several are new or gone.

    "Cannot update GSI's properties other than Provisioned Throughput and Contributor Insights
    Specification" (aws-amplify/amplify-category-api#774), "Cannot perform more than one GSI
    creation or deletion in a single update" (cloudformation-coverage-roadmap#881).
    """
    for change in comparison.changes:
        if change.type != "AWS::DynamoDB::Table" or change.impact != "WILL_UPDATE":
            continue
        old, new = (_indexes(side) for side in (change.before, change.after))
        changed = sorted(name for name in old.keys() & new.keys() if old[name] != new[name])
        count = len(old.keys() ^ new.keys())
        if changed or count > 1:
            several = f"creates or deletes {count} indexes"
            text = f"changes {first_names(changed)}" if changed else several
            yield Danger(
                f"{change.stack}.{change.path}.{digest(text)}",
                f"{change.type} {change.stack}/{change.path}: the update fails: it {text}, and "
                "DynamoDB only creates or deletes one index at a time. Add one under a new name, "
                "and delete the old one in a later release",
                rule="rejected_updates",
            )


def _indexes(table: dict[str, Any] | None) -> dict[str, tuple[str, str]]:
    """Return index -> its keys and attributes."""
    indexes = as_list((table or {}).get("Properties", {}).get("GlobalSecondaryIndexes") or [])
    return {
        str(index.get("IndexName")): (str(index.get("KeySchema")), str(index.get("Projection")))
        for index in indexes
        if isinstance(index, dict)
    }


def _exports(template: Template) -> set[str]:
    exports = (output.get("Export", {}) for output in template.get("Outputs", {}).values())
    return {str(export["Name"]) for export in exports if "Name" in export}


def unknown_resources(comparison: Comparison) -> Iterator[Danger]:
    """A resource has a type or a property that no stack of this commit can have.

    Such as a function's URL, a NAT gateway, an access key, the replication of a bucket, a shadow
    variant: these rules know nothing about them.
    """
    known = known_resources()
    for change in comparison.changes:
        is_known = change.type in known or any(
            fnmatchcase(change.type, pattern) for pattern in WITHOUT_ACCESS
        )
        if not change.before and change.after and not is_known:
            text = f"{change.type} {change.stack}/{change.path}: no stack has this type of resource"
            yield Danger(f"{change.stack}.{change.path}.{change.type}", text, group=change.type)
    reported = set[tuple[str, str, str]]()
    tags = _tags_of_stage(comparison)
    for difference in property_changes(comparison):
        resource = difference.resource
        if difference.after is None or resource.type not in known:
            continue
        properties = _nested(difference.path, difference.after)
        for path in resource_paths(resource.type, {"Properties": properties}):
            key = (resource.stack, resource.id, path)
            is_tag = "Tags." in path and str(difference.after) in tags
            is_known = (
                is_tag or _is_known(path, known[resource.type]) or bool(PROTECTING.search(path))
            )
            if not is_known and key not in reported:
                reported.add(key)
                text = f"no stack has this property: {difference.text}"
                yield Danger(
                    f"{resource.stack}.{resource.path}.{path}.{digest(text)}",
                    f"{resource.type} {resource.stack}/{resource.path}: {text}",
                    group=f"{resource.type}.{path}",
                    place=difference.place,
                )


def _tags_of_stage(comparison: Comparison) -> set[str]:
    """Return the names and values of the tags in the stage's file."""
    plan = comparison.plan_after
    tags: Any = (plan.settings.get("tags") if plan else None) or {}
    return {*tags, *map(str, tags.values())}


def _is_known(path: str, known: frozenset[str]) -> bool:
    """Return whether a path, or the text that has its value, is a known one."""
    parts = path.split(".")
    parents = {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
    return bool(parents & known) or _is_opaque(path)


def _nested(path: str, value: Any) -> dict[str, Any]:
    for name in reversed(path.split(".")):
        value = {name.removesuffix("[]"): value}
    return dict(value)


@cache
def known_resources() -> dict[str, frozenset[str]]:
    """Return type -> paths of properties in `KNOWN`."""
    return {kind: frozenset(paths) for kind, paths in json.loads(KNOWN.read_text()).items()}


def resource_paths(kind: str, resource: dict[str, Any]) -> Iterator[str]:
    """Yield the paths of a resource's properties and attributes, without list indexes."""
    attributes = {key: value for key, value in resource.items()
                  if key not in ("Metadata", "Properties", "Type")}  # fmt: skip
    if not kind.startswith("Custom::"):
        yield from _paths({**attributes, **resource.get("Properties", {})}, "")


def _paths(value: Any, path: str) -> Iterator[str]:
    match value:
        case list():
            for item in value:
                yield from _paths(item, path)
        case dict() if not is_intrinsic_function(value) and not _is_opaque(path):
            for name, item in value.items():
                yield from _paths(item, f"{path}.{name}" if path else str(name))
        case _:
            yield path


def _is_opaque(path: str) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in OPAQUE)


def changed_stack_settings(comparison: Comparison) -> Iterator[Danger]:
    """A stack loses termination protection, or its roles, tags, buckets or parameters change.

    Templates do not contain these settings (cloud assembly schema,
    AwsCloudFormationStackProperties). A new stack is compared with the other stacks of its stage.
    """
    before, after = environments.normalize(*comparison.settings, comparison.plans)
    for stack, settings in after.items():
        old_settings = [before[stack]] if stack in before else list(before.values())
        for key in sorted({*settings, *(key for old in old_settings for key in old)}):
            old_values = [old.get(key) for old in old_settings]
            value = settings.get(key)
            if not old_values or value in old_values or (key == PROTECTION and value is True):
                continue
            change = f"{key}: {format_value(old_values[0])} -> {format_value(value)}"
            group = f"{key}.{digest(change)}"
            yield Danger(f"{stack}.{group}", f"{stack}: {change}", group=group)
