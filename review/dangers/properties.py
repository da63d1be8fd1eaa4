"""Dangers of single properties: safe values that are lost, and a few comparisons."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from release.templates import references
from review.access.access_changes import has_more_access
from review.amounts import rises_sharply, unsafe_amount
from review.comparison import Comparison
from review.dangers.alarms import alarm_dangers
from review.dangers.containers import container_dangers
from review.dangers.danger import Danger, digest
from review.dangers.networks import network_dangers
from review.remark import Remark
from review.safeguards import RETENTION_POLICIES, ROWS, is_set
from review.shell_commands import command_remarks
from review.template_changes import PropertyChange, property_changes
from review.values import as_list, construct_path, first_names, format_value

OTHER_AMOUNTS = (
    ("AWS::CloudWatch::*", "*"),  # alarms.py
    ("Custom::TritonUpdateGuard", "Deployment*"),  # a copy of the endpoint's DeploymentConfig
    # computed from the wait and the step size (triton_sagemaker, updates.py)
    ("AWS::SageMaker::*", "DeploymentConfig.*.MaximumExecutionTimeoutInSeconds"),
)
"""Types and paths of amounts that have rules of their own, or follow from others."""
ARCHIVE_CLASSES = ("GLACIER", "DEEP_ARCHIVE")
"""Storage classes whose objects must be restored before they can be read (S3 user guide,
storage-class-intro; GLACIER is Flexible Retrieval)."""


def changed_properties(comparison: Comparison) -> Iterator[Danger]:
    """A property protects less; equal changes of resources of one type are one danger."""
    removed = set[tuple[str, str, str]]()
    dangers: dict[Danger, None] = {}
    changes = [*property_changes(comparison)]
    for change in changes:
        if change.is_access:
            continue  # review/access
        resource, property_name = change.resource, change.path.partition(".")[0]
        remarks = [
            *_row_dangers(change, changes),
            *_amount_dangers(change),
            *_role_dangers(change),
            *_lifecycle_dangers(change),
            *_guard_dangers(change),
            *_rollback_dangers(change),
            *_command_dangers(change),
            *container_dangers(comparison, change),
            *network_dangers(comparison, change),
        ]
        if remarks and property_name not in resource.after.get("Properties", {property_name}):
            part = resource.stack, resource.id, property_name
            if part in removed:
                continue  # with another part of the removed property
            removed.add(part)
        for rule, text in remarks:
            danger = Danger(
                f"{resource.stack}.{resource.path}.{digest(text)}",
                f"{resource.type} {resource.stack}/{resource.path}: {text}",
                group=f"{resource.type}.{property_name}",
                rule=rule,
                place=change.place,
            )
            dangers[danger] = None
    yield from (*dangers, *alarm_dangers(comparison))


def _row_dangers(change: PropertyChange, changes: Sequence[PropertyChange]) -> Iterator[Remark]:
    """Yield a safe value that is lost, unless it moves to another place in the resource."""
    moved = [
        other.after
        for other in changes
        if other.resource is change.resource and other.path.endswith(f".{change.path}")
    ]
    for row in ROWS:
        is_row = fnmatchcase(change.resource.type, row.type) and fnmatchcase(change.path, row.path)
        is_moved = bool(moved) and all(map(row.is_safe, moved))
        if is_row and row.is_safe(change.before) and not row.is_safe(change.after) and not is_moved:
            yield Remark(row.rule, f"{row.text}{_unreadable_data(change)}: {change.text}")
            return


def _unreadable_data(change: PropertyChange) -> str:
    """Return which resources stay, encrypted by a key that is no longer retained, as text."""
    if change.path not in RETENTION_POLICIES or change.resource.type != "AWS::KMS::Key":
        return ""
    resources = change.stack_resources[1]
    encrypted = [
        construct_path(logical_id, resources)
        for logical_id, resource in resources.items()
        if resource.get(RETENTION_POLICIES[0]) == "Retain"
        and resource["Type"] in ("AWS::DynamoDB::Table", "AWS::S3::Bucket")
        and change.resource.id in references(resource.get("Properties"))
    ]
    text = f", and what {first_names(encrypted)} keeps can then not be decrypted"
    return text if encrypted else ""


def _amount_dangers(change: PropertyChange) -> Iterator[Remark]:
    """Yield an amount that protects and falls, of an existing resource."""
    remark = unsafe_amount(change.path, change.before, change.after)
    if remark and change.resource.before and not change.matches(*OTHER_AMOUNTS):
        yield remark


def _role_dangers(change: PropertyChange) -> Iterator[Remark]:
    """Yield another role that may do more, or that is outside of the stage; another boundary."""
    is_boundary = change.matches(("AWS::IAM::Role", "PermissionsBoundary"))
    if is_boundary and is_set(change.before) and is_set(change.after):
        yield Remark("lost_safeguards", f"has another permissions boundary: {change.text}")
    if not change.path.endswith(("Role", "RoleArn")) or change.before == change.after:
        return
    old_resources, resources = change.stack_resources
    old_role, new_role = (next(references(value), "") for value in (change.before, change.after))
    if isinstance(change.after, str):
        text = f"runs as {change.after}, whose permissions are outside of the stage"
        yield Remark("widened_access", text)
    elif old_role and new_role in old_resources and has_more_access(resources, old_role, new_role):
        yield Remark("widened_access", f"runs as another role, which may do more: {change.text}")


def _lifecycle_dangers(change: PropertyChange) -> Iterator[Remark]:
    """Yield rules that newly delete or archive objects of an existing bucket, or do so earlier.

    A rule without a prefix applies to all objects (S3 user guide,
    lifecycle-expire-general-considerations). Archives in the catalog must not be removed.
    """
    if change.path != "LifecycleConfiguration" or not change.resource.before:
        return
    old, new = (dict(_expirations(side)) for side in (change.before, change.after))
    for (effect, objects), days in new.items():
        if any(
            known_effect == effect and objects.startswith(known) and known_days <= days
            for (known_effect, known), known_days in old.items()
        ):
            continue
        text = f"objects ({f'below {objects}' if objects else 'all'}) are {effect} {days:g} days"
        yield Remark("expiring_objects", f"{text} after they were written")


def _expirations(configuration: Any) -> Iterator[tuple[tuple[str, str], float]]:
    """Yield ((effect, prefix), days) of each enabled rule."""
    for rule in (configuration or {}).get("Rules", ()):
        if rule.get("Status") != "Enabled":
            continue
        filters = rule.get("Filter", {}).get("And", rule.get("Filter", {}))
        prefix = str(rule.get("Prefix") or filters.get("Prefix") or "")
        if "ExpirationInDays" in rule or "ExpirationDate" in rule:
            yield ("deleted", prefix), float(rule.get("ExpirationInDays", 0))
        if days := rule.get("NoncurrentVersionExpiration", {}).get("NoncurrentDays"):
            yield ("deleted as earlier versions", prefix), float(days)
        for transition in rule.get("Transitions", ()):
            if transition.get("StorageClass") in ARCHIVE_CLASSES:
                days = transition.get("TransitionInDays", 0)
                yield ("no longer readable", prefix), float(days)


def _guard_dangers(change: PropertyChange) -> Iterator[Remark]:
    """Yield that a resource no longer waits for the builds, or a guard or check of updates."""
    old, new = change.stack_resources
    if change.path == "DependsOn":
        before, after = ({*as_list(value or [])} for value in (change.before, change.after))
        for logical_id in sorted((before - after) & old.keys() & new.keys()):
            if new[logical_id]["Type"].startswith("Custom::Triton"):
                yield Remark("lost_safeguards", f"DependsOn: {logical_id} removed")


def _rollback_dangers(change: PropertyChange) -> Iterator[Remark]:
    """Yield rollback alarms that are removed, except renamed ones, and a faster strategy."""
    key = change.path.rpartition(".")[2]
    if key == "AutoRollbackConfiguration":
        old, new = (
            [_definition(resources, alarm["AlarmName"]) for alarm in (side or {}).get("Alarms", ())]
            for side, resources in zip(
                (change.before, change.after), change.stack_resources, strict=True
            )
        )
        if removed := [name for name, definition in old if definition not in [d for _, d in new]]:
            count = f": {len(new)} of {len(old)} alarms remain" if len(new) < len(old) else ""
            text = f"updates are no longer rolled back by {', '.join(removed)}{count}"
            yield Remark("lost_rollback", text)
    is_step = change.path.endswith(("CanarySize.Value", "StepSize.Value", "BatchSize.Value"))
    sizes = [size for size in (change.before, change.after) if isinstance(size, int)]
    if is_step and len(sizes) == 2 and rises_sharply(*sizes):
        text = f"more instances change before an alarm can go off: {change.text}"
        yield Remark("lost_rollback", text)
    is_routing = change.path.endswith("TrafficRoutingConfiguration.Type")
    if is_routing and change.before and change.after in ("ALL_AT_ONCE", None):
        yield Remark("lost_rollback", f"traffic moves at once: {change.text}")


def _definition(resources: dict[str, Any], name: Any) -> tuple[str, Any]:
    """Return name and properties of an alarm, without its own name and text."""
    text = format_value(name, resources)
    properties = resources.get(next(references(name), ""), {}).get("Properties")
    if properties is None:
        return text, text
    return text, {key: value for key, value in properties.items()
                  if key not in ("AlarmName", "AlarmDescription")}  # fmt: skip


def _command_dangers(change: PropertyChange) -> Iterator[Remark]:
    """Yield commands that newly download, or lose a protecting option."""
    is_build = change.matches(("AWS::CodeBuild::Project", "Source.BuildSpec*"))
    if not is_build and "ommand" not in change.path:
        return
    before, after = (
        "\n".join(format_value(item, side) for item in as_list(value or []))
        for value, side in zip((change.before, change.after), change.stack_resources, strict=True)
    )
    yield from command_remarks(before, after)
