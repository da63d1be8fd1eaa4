"""Resources of two logical IDs that are one object in AWS."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from itertools import islice, product
from pathlib import Path
from typing import Any

from release.templates import Template
from review.comparison import Comparison
from review.dangers.danger import Danger
from review.references import StageResources
from review.stack_differences import ResourceChange
from review.values import as_list, construct_path

SCOPES = ("Groups", "ResourceId", "Roles", "ScalingTargetId", "Users", "VpcId")
"""Properties with the parent in which a name is unique."""

UNIQUE = {
    "AWS::EC2::Route": ("RouteTableId", "DestinationCidrBlock"),
    "AWS::EC2::Subnet": ("VpcId", "CidrBlock"),
    "AWS::EC2::SubnetRouteTableAssociation": ("SubnetId",),
    "AWS::EC2::VPCEndpoint": ("VpcId", "ServiceName"),
    "AWS::EC2::VPCGatewayAttachment": ("VpcId",),
    "AWS::ElasticLoadBalancingV2::Listener": ("LoadBalancerArn", "Port"),
    "AWS::ElasticLoadBalancingV2::ListenerRule": ("ListenerArn", "Priority"),
    "AWS::Lambda::EventSourceMapping": ("FunctionName", "EventSourceArn"),
    "AWS::SNS::Subscription": ("TopicArn", "Protocol", "Endpoint"),
}
"""Types whose identifier AWS assigns -> the properties of which AWS accepts each combination once.

Sources: EC2 API reference, error codes (InvalidSubnet.Conflict, RouteAlreadyExists,
Resource.AlreadyAssociated); Elastic Load Balancing API reference, errors of CreateListener and
CreateRule (DuplicateListener, PriorityInUse); Lambda API reference, CreateEventSourceMapping
(ResourceConflictException); SNS: see `EFFECTS`."""

POLICY_OWNERS = ("Queues", "Topics")
"""Properties with the objects whose only policy a resource of a type without an identifier sets."""

EFFECTS = {
    # Application Auto Scaling API reference, RegisterScalableTarget, DeregisterScalableTarget
    "AWS::ApplicationAutoScaling::ScalableTarget": "the creation takes over the existing target, "
    "and the deletion then deregisters it and deletes its scaling policies",
    # The message of PutScalingPolicy, in gravitational/teleport
    "AWS::ApplicationAutoScaling::ScalingPolicy": "a target has one target-tracking policy for a "
    "metric, and CloudFormation creates before it deletes: the creation fails",
    # S3 API reference, PutBucketPolicy, DeleteBucketPolicy
    # SNS API reference, Subscribe: it returns the ARN of a subscription that exists
    "AWS::SNS::Subscription": "the creation returns the existing subscription, and the deletion "
    "then removes it: nobody is notified",
    "AWS::S3::BucketPolicy": "the creation fails, or the deletion removes the new policy",
}
DUPLICATE_EFFECTS = {
    # Application Auto Scaling API reference, RegisterScalableTarget, DeregisterScalableTarget
    "AWS::ApplicationAutoScaling::ScalableTarget": "the later registration overwrites the limits, "
    "and the deletion of one deregisters both",
}
DUPLICATE_EFFECT = "the creation fails, or each replaces what the other has set, such as denials"
OTHER_EFFECT = (
    "CloudFormation creates before it deletes, and AWS refuses the second one: the update fails"
)

MAX_REFERENCES = 30
"""Maximum references within references: a template may refer to itself."""

MAX_IDENTITIES = 100
"""Maximum combinations of the items of lists."""

Identity = tuple[tuple[str, str], ...]
"""Names and values of the properties that identify an object."""


def shared_identities(comparison: Comparison) -> Iterator[Danger]:
    """A created resource is the same object in AWS as a deleted one, or as one that stays.

    Such as a renamed construct, a second policy of a bucket, or a resource that is replaced with
    its name. CloudFormation deletes old resources in the clean-up, after it has created the new
    ones. The properties are the primary identifiers of the resource types' schemas.
    """
    created = [change for change in comparison.changes if not change.before]
    replaced = [change for change in comparison.changes if change.impact == "WILL_REPLACE"]
    if comparison.is_moved or not (created or replaced):
        return
    for change in replaced:
        yield from _same_name(comparison, change)
    kinds = {change.type for change in created}
    before, after = (_owners(side, kinds) for side in comparison.templates)
    for new in created:
        place, path = (new.stack, new.id), f"{new.stack}/{new.path}"
        for identity in _Resolver(comparison.templates[1]).identities(*place):
            owners = after[new.type, identity]
            stays = next((owner for owner in owners if owner != place), None)
            old = stays or next(iter(before.get((new.type, identity), {}).keys() - owners), None)
            if old is None:
                continue
            resources = comparison.templates[1 if stays else 0][old[0]]["Resources"]
            old_path = construct_path(old[1], resources).partition("/")[2] or old[1]
            relation = "cannot coexist" if new.type in UNIQUE else "are one object in AWS"
            effect = EFFECTS.get(new.type, OTHER_EFFECT)
            remedy = "Keep the logical ID (override_logical_id), or deploy the deletion first"
            if stays:
                effect = DUPLICATE_EFFECTS.get(new.type, DUPLICATE_EFFECT)
                remedy = "Change the existing one"
            elif old[0] != new.stack and new.type not in EFFECTS:
                effect = _moved_object(comparison, old, new.stack)
                remedy = f"Leave it in {old[0]}"
            yield Danger(
                f"{new.stack}.{new.path}.{old[1]}",
                f"{new.type} {old[0]}/{old_path} and the new {path} {relation} "
                f"({_text(identity)}): {effect}. {remedy}",
                group=f"{new.stack}.{new.type}",
                explains=_is_deletion(f"{old[0]}.{old_path}"),
            )
            break


def _same_name(comparison: Comparison, change: ResourceChange) -> Iterator[Danger]:
    """Yield that a resource is replaced by one with the same fixed name.

    "CloudFormation can't replace a resource with a custom name unless the name changes"
    (CloudFormation user guide, aws-properties-name).
    """
    place = (change.stack, change.id)
    old, new = (_Resolver(side).identities(*place) for side in comparison.templates)
    if common := [identity for identity in new if identity in old]:
        effect = EFFECTS.get(change.type, OTHER_EFFECT)
        yield Danger(
            f"{change.stack}.{change.path}.{change.id}",
            f"{change.type} {change.stack}/{change.path}: is replaced by one with the same "
            f"{_text(common[0])}: {effect}. Change its name, too",
            group=f"{change.stack}.{change.type}",
            explains=_is_deletion(f"{change.stack}.{change.path}"),
        )


def fixed_name(comparison: Comparison, change: ResourceChange) -> str:
    """Return the name that a removed resource keeps, empty if AWS or CloudFormation names it."""
    names = _Resolver(comparison.templates[0]).identities(change.stack, change.id)
    return _text(names[0]) if names else ""


def _text(identity: Identity) -> str:
    return ", ".join(f"{name} {value}" for name, value in identity)


def _moved_object(comparison: Comparison, old: tuple[str, str], stack: str) -> str:
    """Return what happens to an object that moves to another stack: the order decides.

    A stack is updated after those whose exports it imports (`cdk deploy`, which deploys the
    dependencies of a stack before it).
    """
    before, after = comparison.templates
    removed = before[old[0]]["Resources"][old[1]]
    if removed.get("DeletionPolicy", "Delete") != "Delete":
        return (
            f"{old[0]} keeps it (DeletionPolicy), so its name exists: the update of {stack} fails"
        )
    deletion = (
        f"{old[0]} deletes it with what it contains, and {stack} creates an empty one, which fails "
        "if something has created the name again in between"
    )
    creation = f"the name exists, and the update of {stack} fails"
    if _imports(after[stack], old[0]):
        return f"{old[0]} is updated first, as {stack} imports its exports: {deletion}"
    if _imports(after.get(old[0], {}), stack):
        return f"{stack} is updated first, as {old[0]} imports its exports: {creation}"
    return f"if {old[0]} is updated first, {deletion}; otherwise {creation}"


def _imports(template: Template, stack: str) -> bool:
    """Return whether a template imports what another stack exports, under the CDK's names."""
    return f'"Fn::ImportValue": "{stack}:' in json.dumps(template)


def _is_deletion(subject: str) -> Callable[[Danger], bool]:
    return lambda danger: danger.rule == "replaced_resources" and danger.subject == subject


def _owners(
    templates: Mapping[str, Template], kinds: set[str]
) -> dict[tuple[str, Identity], dict[tuple[str, str], None]]:
    """Return (type, identity) -> (stack, logical ID) of the resources that have it."""
    resolver = _Resolver(templates)
    owners: dict[tuple[str, Identity], dict[tuple[str, str], None]] = {}
    for stack, template in templates.items():
        for logical_id, resource in template.get("Resources", {}).items():
            if resource["Type"] in kinds:
                for identity in resolver.identities(stack, logical_id):
                    key = (resource["Type"], identity)
                    owners.setdefault(key, {})[stack, logical_id] = None
    return owners


@cache
def _identifiers(kind: str) -> tuple[str, ...]:
    """Return the properties that identify an object of a type, empty if AWS names all objects.

    If AWS assigns the primary identifier, such as an ARN, the name and its scope take its place.
    """
    if kind in UNIQUE:
        return UNIQUE[kind]
    spec = find_spec("cfnlint")
    assert spec
    assert spec.submodule_search_locations
    schemas = Path(spec.submodule_search_locations[0], "data", "schemas")
    files = json.loads((schemas / "providers" / "us-east-1.json").read_text(encoding="utf-8"))
    if kind not in files:
        return ()
    schema = json.loads((schemas / "resources" / f"{files[kind]}.json").read_text(encoding="utf-8"))
    primary = [path.removeprefix("/properties/") for path in schema.get("primaryIdentifier", ())]
    assigned = [path.removeprefix("/properties/") for path in schema.get("readOnlyProperties", ())]
    if not {*primary} & {*assigned}:
        return (*primary,)
    last = kind.rpartition("::")[2]
    names = [
        name
        for name in schema["properties"].keys() - {*assigned}
        if name.endswith("Name") and last.endswith(name.removesuffix("Name"))
    ]
    scopes = [name for name in SCOPES if name in schema["properties"]]
    if last.endswith("Policy") and not names:
        names = [name for name in POLICY_OWNERS if name in schema["properties"]]
    return (*names, *scopes) if names else ()


def _tracked_metric(properties: Mapping[str, Any]) -> str:
    """Return the metric of a target-tracking policy, empty for other resources."""
    tracking = properties.get("TargetTrackingScalingPolicyConfiguration")
    if not isinstance(tracking, dict):
        return ""
    predefined = tracking.get("PredefinedMetricSpecification", {})
    metric = predefined or tracking.get("CustomizedMetricSpecification")
    return str(predefined.get("PredefinedMetricType") or json.dumps(metric, sort_keys=True))


class _Resolver(StageResources):
    """Values of properties in the templates of a stage, with references to names."""

    def identities(self, stack: str, logical_id: str, depth: int = 0) -> list[Identity]:
        """Return the identities of a resource, of which it has one for each item of a list.

        Empty if CloudFormation or AWS names it.
        """
        resource = self.of_stack(stack)[logical_id]
        properties, names = resource.get("Properties", {}), _identifiers(resource["Type"])
        present = [name for name in names if name in properties]
        if metric := _tracked_metric(properties):
            target = self._text(stack, properties.get("ScalingTargetId"), depth + 1)
            return [(("ScalingTargetId", target), ("metric", metric))]
        if not present or not {*names} <= {*present, *SCOPES}:
            return []
        values = (
            [(name, self._text(stack, item, depth + 1)) for item in as_list(properties[name])]
            for name in present
        )
        return [*islice(product(*values), MAX_IDENTITIES)]

    def _text(self, stack: str, value: Any, depth: int) -> str:
        if depth > MAX_REFERENCES:
            return json.dumps(value)
        match value:
            case str():
                return value
            case {"Ref": str(name)}:
                return self._reference(stack, name, "Ref", depth)
            case {"Fn::GetAtt": [str(name), str(attribute)]}:
                return self._reference(stack, name, attribute, depth)
            case {"Fn::ImportValue": str(name)} if name in self.exports:
                return self._text(*self.exports[name], depth + 1)
            case {"Fn::Join": [str(separator), list(parts)]}:
                return separator.join(self._text(stack, part, depth + 1) for part in parts)
        return json.dumps(value)

    def _reference(self, stack: str, name: str, attribute: str, depth: int) -> str:
        resource = self.of_stack(stack).get(name)
        if resource is None:
            return f"${{{name}}}"
        if resource["Type"] in UNIQUE:
            return f"{stack}/{name}"
        if attribute in resource.get("Properties", {}):
            return self._text(stack, resource["Properties"][attribute], depth + 1)
        identities = self.identities(stack, name, depth) or [((attribute, f"{stack}/{name}"),)]
        return "|".join(value for _, value in identities[0])
