"""The changed properties of resources in templates, and their sentences."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from plan.document import DIGEST_OUTPUT
from release.templates import Template
from review.access.grants import grant_sentences
from review.access.statements import parse_grants
from review.comparison import Comparison
from review.files.readers import read_structure
from review.money import cost_changes
from review.safeguards import RETENTION_POLICIES, settings_of_new
from review.stack_differences import ResourceChange
from review.values import (
    MAX_LENGTH,
    NAME_PROPERTIES,
    ValueDifference,
    construct_path,
    first_names,
    format_change,
    format_value,
    is_text,
    value_differences,
)

NOT_COMPARED = ("Metadata", "Properties", "Type")

NOT_SHOWN = (
    ("*", "*PolicyDocument.Statement*"),  # review/access
    ("AWS::KMS::Key", "KeyPolicy.Statement*"),
    ("AWS::IAM::*", "Policies*"),
    ("*", "ManagedPolicyArns*"),
    ("AWS::Lambda::Permission", "*"),
    ("*", "*Description"),  # text for people
    ("*", "DependsOn"),  # the order of a deployment; review/dangers has that of guards
    ("AWS::CloudWatch::Dashboard", "DashboardBody*"),
    ("Custom::TritonUpdateGuard", "Deployment*"),  # a copy of the endpoint's DeploymentConfig
)
"""Patterns of types and paths that other parts of a report show, or that have no effect."""

PLANNED = (
    ("AWS::ApplicationAutoScaling::ScalableTarget", "*"),
    ("AWS::ApplicationAutoScaling::ScalingPolicy", "*"),
    ("AWS::CloudWatch::Alarm", "Threshold"),
    ("AWS::SageMaker::Endpoint", "DeploymentConfig*"),
    ("AWS::SageMaker::EndpointConfig", "ProductionVariants*"),
    ("AWS::SageMaker::EndpointConfig", "MetricsConfig*"),
    ("AWS::SageMaker::EndpointConfig", "DataCaptureConfig.[CEI]*"),
    ("AWS::SageMaker::InferenceComponent", "*"),
    ("AWS::SageMaker::Model", "PrimaryContainer.[EM]*"),  # not Image
    ("Custom::TritonCatalog", "*"),
    ("Custom::TritonModels", "*"),
    ("Custom::TritonUpdateGuard", "*"),
)
"""Types and paths that follow from the plan: if an endpoint's plan changes, it tells the change."""

TAGS = (("*", "Tags*"), ("*", "ResourceTags*"))
"""Types and paths of tags."""

LEAVES = ("AutoRollbackConfiguration", "DependsOn", "LifecycleConfiguration", "Subnets", "commands")
"""Last keys of properties that are compared as a whole."""

ENDPOINT_TYPES = (
    "AWS::ApplicationAutoScaling::", "AWS::SageMaker::", "Custom::TritonCatalog",
    "Custom::TritonModels",
)  # fmt: skip
"""Types in an endpoint's stack whose creation and deletion the plan tells."""

EXPORT_PREFIX = "ExportsOutput"
"""The prefix of the CDK's names for outputs that other stacks import."""

MAX_CLAUSES = 12
"""Maximum number of clauses in a stack's description."""

MAX_CREATED = 4
"""Maximum number of created resources of a type with a description of each."""

TELLING = (
    "MetricName", "Statistic", "ExtendedStatistic", "ComparisonOperator", "Threshold",
    "AlarmActions", "DatapointsToAlarm", "EvaluationPeriods", "Period", "Protocol", "Endpoint",
    "Name", "PolicyName",
)  # fmt: skip
"""The properties that tell most about a created resource."""
LEAST_TELLING = ("Dimensions", "TreatMissingData", "Namespace")
"""The properties that are told last: the path of the resource mostly says the same."""
WILDCARDS = "IAM5"
"""The end of cdk-nag's rule about wildcards in policies, which are told as permissions."""
TOLD_BY_GRANTS = ("AWS::IAM::Policy", "AWS::S3::BucketPolicy")
"""Types of new resources whose statements are told as permissions."""
MAX_VALUES = 10
"""Maximum number of properties of a created resource."""

ACTIONS = {"WILL_CREATE": "created", "WILL_DESTROY": "deleted", "WILL_ORPHAN": "retained",
        "WILL_UPDATE": "changed"}  # fmt: skip
"""The CDK's impact -> participle in the report; `replaced` for all other impacts."""

_DIGEST = re.compile(r"\b[0-9a-f]{32,}")


@dataclass(frozen=True)
class PropertyChange:
    """A changed property of a resource, or an attribute such as `DeletionPolicy`.

    path: keys below `Properties`, without list indexes.
    item: name of the list item that has the property, empty outside a list.
    before, after: the value, None if it is absent.
    stack_resources: the resources of the stack, before and after.
    """

    resource: ResourceChange
    path: str
    item: str
    before: Any
    after: Any
    stack_resources: tuple[dict[str, Any], dict[str, Any]]

    @property
    def is_access(self) -> bool:
        """Whether it is a policy of access, which `review/access` compares by its statements."""
        name = self.path.partition(".")[0]
        return name not in RETENTION_POLICIES and re.search("Polic(y|ies)", name) is not None

    @property
    def is_name(self) -> bool:
        """Whether it is the name of a new or removed item, whose values are other changes."""
        is_name = self.path.rpartition(".")[2] in NAME_PROPERTIES
        return is_name and (self.before, self.after) in ((None, self.item), (self.item, None))

    @property
    def place(self) -> str:
        """Stack, construct path and property."""
        return f"{self.resource.stack}/{self.resource.path}: {self.path.partition('.')[0]}"

    @property
    def text(self) -> str:
        """The path and both values: PATH: BEFORE -> AFTER."""
        name = f"{self.path} of {self.item}" if self.item else self.path
        before, after = (_DIGEST.sub("…", text) for text in self.texts)
        return f"{name}: {'other content' if before == after else format_change(*self.texts)}"

    @property
    def texts(self) -> tuple[str, str]:
        """Both values as text."""
        before, after = self.stack_resources
        return format_value(self.before, before), format_value(self.after, after)

    def matches(self, *rows: tuple[str, str]) -> bool:
        """Return whether a pattern of types and one of paths match."""
        return any(
            fnmatchcase(self.resource.type, kind) and fnmatchcase(self.path, path)
            for kind, path in rows
        )


def property_changes(comparison: Comparison) -> Iterator[PropertyChange]:
    """Yield the changed properties of all changed and new resources."""
    for change in comparison.changes:
        if not change.after:
            continue
        before, after = (
            {**{key: value for key, value in side.items() if key not in NOT_COMPARED},
             **side.get("Properties", {})}
            for side in (change.before, change.after)
        )  # fmt: skip
        resources = stack_resources(comparison, change.stack)
        for difference in value_differences(before, after, _is_leaf):
            for part in _parts(difference, resources):
                property_change = PropertyChange(change, part.path, *part[1:], resources)
                before_text, after_text = property_change.texts
                if before_text != after_text:  # a number as text, Fn::Sub in place of Fn::Join
                    yield property_change


def _parts(
    difference: ValueDifference, resources: tuple[dict[str, Any], dict[str, Any]]
) -> Iterator[ValueDifference]:
    """Yield the differences inside texts with JSON or YAML, such as definitions and commands."""
    old, new = (
        read_structure(format_value(value, side)) if is_text(value) else None
        for value, side in zip((difference.before, difference.after), resources, strict=True)
    )
    if difference.before is None:  # its first value is told as the later ones
        old = {} if isinstance(new, dict) else []
    if old is None or new is None:
        yield difference
    else:
        yield from value_differences(old, new, _is_leaf, difference.key_path, difference.item)


def _is_leaf(path: str) -> bool:
    return path.rpartition(".")[2] in LEAVES


def stack_resources(comparison: Comparison, stack: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the resources of a stack, before and after."""
    before, after = (side.get(stack, {}).get("Resources", {}) for side in comparison.templates)
    return before, after


@dataclass(frozen=True)
class Note:
    """The changes of a stage's settings, or of a stack without an endpoint."""

    name: str
    clauses: Sequence[str]


def notes(comparison: Comparison) -> Iterator[Note]:
    """Yield the changes of the stage's settings and of stacks without an endpoint."""
    if clauses := [*_setting_changes(comparison)]:
        yield Note(comparison.stage, clauses)
    before, after = comparison.templates
    changes_by_stack = {difference.stack: difference.changes for difference in comparison.stacks}
    for stack in sorted(before.keys() | after.keys()):
        changes = changes_by_stack.get(stack, ())
        pair = comparison.endpoints.get(stack)
        is_told = pair and (comparison.effective_changes(stack) or pair.is_changed)
        has_same_words = comparison.before.get(stack) == comparison.after.get(stack)
        if before.get(stack) == after.get(stack) and (has_same_words or comparison.may_be_moved):
            continue
        if is_told and changes:
            continue  # described in the endpoint's sentence
        if stack not in after:
            clauses = ["no longer in the app; its stack stays until it is deleted"]
        elif not comparison.is_deployed(stack):
            access = [item for item in comparison.access if item.stack == stack]
            clauses = [f"new, {count_changes(changes)}"]
            clauses += [text for item in access for text in grant_sentences(item.grants_to_new)]
        else:
            clauses = stack_details(comparison, stack)
        if not clauses and _has_other_tags(comparison):
            clauses = ["tags changed"]
        if not clauses:
            text = count_changes(changes) or "in other words, which change no resource"
            is_equal = any(a.is_equal for a in comparison.access if a.stack == stack)
            details = [d for d in property_changes(comparison) if d.resource.stack == stack]
            if is_equal and details and all(detail.is_access for detail in details):
                text += ": policies in other words, with equal access"
            clauses = [text]
        yield Note(stack, clauses)


def stack_details(comparison: Comparison, stack: str, *, is_planned: bool = False) -> list[str]:
    """Return the changes in a deployed stack, without duplicates.

    If `is_planned`, the plan of its endpoint changes, and tells the changes of `PLANNED`.
    """
    if not comparison.is_deployed(stack):
        return []
    before, after = (side[stack] for side in comparison.templates)
    clauses = list(dict.fromkeys(_section_changes(before, after)))
    changes_by_text: dict[str, list[ResourceChange]] = {}
    for change in property_changes(comparison):
        hidden = NOT_SHOWN + (PLANNED if is_planned else ())
        hidden += TAGS if _has_other_tags(comparison) else ()
        is_shown = not (change.matches(*hidden) or change.is_name)
        if change.resource.stack == stack and change.resource.before and is_shown:
            changes_by_text.setdefault(change.text, []).append(change.resource)
    clauses += [_with_resources(text, changes) for text, changes in changes_by_text.items()]
    for access in comparison.access:
        if access.stack == stack:
            clauses += grant_sentences(access.grants_to_new)
            clauses += grant_sentences(access.removed_grants, "may no longer")
            clauses += grant_sentences(access.new_denials, "is now denied")
    created_or_deleted = [
        change
        for change in comparison.effective_changes(stack)
        if not (change.before and change.after)
        and not (is_planned and change.type.startswith(ENDPOINT_TYPES))
    ]
    clauses += _created_or_deleted(created_or_deleted, after)
    if len(clauses) > MAX_CLAUSES:
        more = f"{len(clauses) - MAX_CLAUSES} more in review.json"
        return [*clauses[:MAX_CLAUSES], more]
    return clauses


def _has_other_tags(comparison: Comparison) -> bool:
    """Return whether the tags of the stage's file change, which all resources have."""
    before, after = (plan.settings.get("tags") for plan in comparison.plans)
    return before != after


def _section_changes(before: Template, after: Template) -> Iterator[str]:
    """Yield the changes in all sections except Resources, and the plan in the Metadata."""
    for section in sorted((before.keys() | after.keys()) - {"Resources", "Metadata"}):
        old, new = before.get(section) or {}, after.get(section) or {}
        for name in sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key)):
            values = [format_value(_output_value(side.get(name))) for side in (old, new)]
            if name.startswith(EXPORT_PREFIX) and not (name in old and name in new):
                yield "exports added or removed"
            elif name != DIGEST_OUTPUT:
                yield f"{section} {name}: {format_change(*values)}"


def _output_value(entry: Any) -> Any:
    return entry["Value"] if isinstance(entry, dict) and "Value" in entry else entry


def _created_or_deleted(changes: Sequence[ResourceChange], template: Template) -> Iterator[str]:
    """Yield what is created, with its most telling properties, and the numbers of other changes."""
    created = {change.id: change for change in changes if not change.before}
    others = [change for change in changes if change.before]
    renamed = Counter[str]()
    for change in [*others]:
        equal = (new for new in created.values() if _is_equal(change.before, new.after))
        if new := next(equal, None):
            del created[new.id]
            others.remove(change)
            renamed[change.type] += 1
    for kind, count in sorted(renamed.items()):
        yield f"{count} {kind} only under another logical ID"
    described = [change for change in created.values() if change.type not in TOLD_BY_GRANTS]
    yield from _created(described, template)
    if others:
        yield count_changes(others)


def _created(changes: Sequence[ResourceChange], template: Template) -> Iterator[str]:
    """Yield a text for the resources of each type: the values that all have, and those of each."""
    resources = template.get("Resources", {})
    secure = _secure_resources(template) if changes else set()
    kinds: dict[str, dict[str, dict[str, str]]] = {}
    for change in changes:
        only_tls = construct_path(change.id, resources) in secure
        kind = f"{change.type}|{settings_of_new(change.after, only_tls=only_tls)}"
        values = dict(_telling_values(change.after.get("Properties", {}), resources))
        kinds.setdefault(kind, {})[change.path] = values
    for kind, members in kinds.items():
        resource_type, _, settings = kind.partition("|")
        first, *others = members.values()
        common = {name: text for name, text in first.items()
                  if all(other.get(name) == text for other in others)}  # fmt: skip
        texts = [
            f"{path}{_in_parentheses({k: v for k, v in values.items() if k not in common})}"
            for path, values in members.items()
        ]
        if others:
            names = f"{len(members)} {resource_type} created{settings}{_in_parentheses(common)}"
            yield f"{names}: {first_names(texts, MAX_CREATED)}"
        else:
            yield f"{resource_type} {texts[0]} created{settings}{_in_parentheses(common)}"


def _in_parentheses(values: dict[str, str]) -> str:
    """Return NAME VALUE of the first values in parentheses, empty without any."""
    texts = [f"{name} {text}" for name, text in [*values.items()][:MAX_VALUES]]
    return f" ({', '.join(texts)})" if texts else ""


def _secure_resources(template: Template) -> set[str]:
    """Return the resources whose policies deny access without TLS."""
    return {
        denial.policy_resource
        for denial in parse_grants(template, "Deny")
        if "aws:SecureTransport Bool false" in denial.condition
    }


def _is_equal(before: dict[str, Any], after: dict[str, Any]) -> bool:
    return all(before.get(key) == after.get(key) for key in ("Type", "Properties"))


def _telling_values(
    properties: dict[str, Any], resources: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield path and text of the values of a resource, the most telling first.

    Without texts for people and tags, and without policies, which are told as permissions.
    """
    names = (*TELLING, *sorted(properties.keys() - {*TELLING, *LEAST_TELLING}), *LEAST_TELLING)
    texts: dict[str, list[str]] = {}
    for name in names:
        if name not in properties or name.endswith(("Description", "Tags")):
            continue
        for difference in value_differences({}, {name: properties[name]}, _is_leaf):
            text = format_value(difference.after, resources)
            path = " of ".join(filter(None, (difference.path, difference.item)))
            if difference.item and difference.path.endswith(".Value"):
                path = difference.item
            is_shown = '"Statement"' not in text and "Statement" not in path.split(".")
            if is_shown and text != difference.item:
                texts.setdefault(path, []).append(_DIGEST.sub("…", text))
    for path, values in texts.items():
        text = " and ".join(values)
        yield path, text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}…"


def count_changes(changes: Sequence[ResourceChange]) -> str:
    """Return the numbers of resources, by type, that are created, changed, replaced or deleted."""
    counts = Counter((ACTIONS.get(change.impact, "replaced"), change.type) for change in changes)
    texts: dict[str, list[str]] = {}
    for (action, resource_type), count in sorted(counts.items()):
        texts.setdefault(action, []).append(f"{count} {resource_type}")
    return ", ".join(f"{', '.join(types)} {action}" for action, types in texts.items())


def _with_resources(text: str, changes: list[ResourceChange]) -> str:
    """Return a description with the path of the changed resource, or the number of resources."""
    if len(changes) == 1:
        return f"{changes[0].path}: {text}"
    types = {change.type for change in changes}
    return f"{text} ({len(changes)} {types.pop() if len(types) == 1 else 'resources'})"


def _setting_changes(comparison: Comparison) -> Iterator[str]:
    before, after = comparison.plan_before, comparison.plan_after
    if before and after:
        old, new = (
            {**plan.model_dump(mode="json", exclude=_NOT_NOTED), **plan.settings}
            for plan in (before, after)
        )
        yield from map(str, value_differences(old, new))
    yield from _acknowledgements(*comparison.acknowledged)
    costs = [change.after for change in cost_changes(comparison) if change.after]
    missing_prices = sorted({message for cost in costs for message in cost.missing_prices})
    if after and after.max_monthly_usd is not None and missing_prices:
        yield (
            f"max_monthly_usd is checked without costs that are unknown: "
            f"{', '.join(missing_prices)}"
        )


def _acknowledgements(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Yield the findings of cdk-nag that the app newly acknowledges, with the constructs."""
    constructs: dict[tuple[str, str], list[str]] = {}
    for line in after:
        _, construct, finding, reason = line.split(": ", 3)
        rule = finding.partition("[")[0]
        if before and line not in before and not rule.endswith(WILDCARDS):
            constructs.setdefault((rule, reason), []).append(construct)
    for (rule, reason), names in constructs.items():
        where = first_names([*dict.fromkeys(names)])
        yield f"cdk-nag's {rule} is acknowledged for {where}: {reason}"


_NOT_NOTED = {"version", "stage", "endpoints", "settings", "time_budget"}
"""Fields of a plan without a note of their own."""
