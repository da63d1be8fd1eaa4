"""The ledger against the policies of a stage's templates: each check yields what is wrong."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from release.permissions import NAMED, Principal, Role, Row, principals
from release.permissions.ledger import Feature
from release.permissions.names import Named
from tests.permission_names import Place, by_name, filled, filled_condition
from tests.synth.api.deployed import Deployed
from tests.synth.assembly import Resource
from tests.synth.statements import Statement, allows, lets_role

RESOURCE_POLICIES = {
    "AWS::KMS::Key": "KeyPolicy",
    "AWS::S3::BucketPolicy": "PolicyDocument",
    "AWS::SNS::TopicPolicy": "PolicyDocument",
}
COMPONENT = "AWS::SageMaker::InferenceComponent"
CHECKED = ("AWS::IAM::OIDCProvider", "AWS::IAM::Policy", "AWS::IAM::Role", *RESOURCE_POLICIES)
"""Types that give somebody a permission, and are read here."""


@dataclass(frozen=True)
class Site:
    """A stage's templates, and the place that the ledger is held to there."""

    deployed: Deployed
    place: Place


class Held(NamedTuple):
    """A principal in one place: its role, where it has one, and the rows that hold there.

    `names` are for what it needs, `widest` for what it may be allowed: a stack that does not refer
    to the resources of another knows their names as far as CloudFormation does not complete them.
    """

    principal: Principal
    role: Resource | None
    rows: list[Row]
    names: dict[str, str]
    widest: dict[str, str]

    @property
    def named(self) -> str | None:
        """Return what policies of resources call it."""
        return filled(self.principal.named, self.names) if self.principal.named else None

    @property
    def label(self) -> str:
        """Return what messages call it."""
        return self.role.id if self.role else self.principal.name


def missing(site: Site) -> Iterator[str]:
    """What a row needs, and the policies of the templates do not allow."""
    for held in every(site):
        for row in held.rows:
            for action in row.actions:
                for resource in _resources(row, held.names):
                    if not _may(site, held, row, _example(action), resource):
                        yield f"{held.label} lacks {action} on {resource}: {row.step}"
    for role in _expected(site):
        if role.resource not in [_bare(each) for each in site.deployed.of("AWS::IAM::Role")]:
            yield f"there is no role {role.resource}"


def beyond(site: Site) -> Iterator[str]:
    """What the policies of the templates allow, and no row needs."""
    rows = list(every(site))
    by_role = {row.role.id: row for row in rows if row.role}
    for role in site.deployed.of("AWS::IAM::Role"):
        if role.id not in by_role:
            yield f"{role.id} is in no file of the ledger"
            continue
        yield from _beyond_role(site, by_role[role.id], role)
    for policy, statements, _ in _resource_policies(site):
        for statement in statements:
            if statement["Effect"] == "Allow":
                yield from _beyond_resource(rows, policy, statement)
    for resource in site.deployed.resources.values():
        if resource.kind not in CHECKED and _grants(resource.kind):
            yield f"{resource.id} is a {resource.kind}: nobody compares it with the ledger"


def every(site: Site) -> Iterator[Held]:
    """Yield every principal whose permissions the templates give, in each place that it is in."""
    for principal in principals():
        for role in principal.roles:
            for resource in site.deployed.of("AWS::IAM::Role"):
                endpoint = _place_of(site, role, resource)
                if endpoint is not None:
                    own = _of_endpoint(site, endpoint, "AWS::SageMaker::Endpoint")
                    name = own[0].properties["EndpointName"] if own else ""
                    place = replace(site.place, endpoint=endpoint, endpoint_name=name)
                    yield _held(site, principal, resource, place)
        if principal.named:
            yield _held(site, principal, None, site.place)


def features(site: Site, endpoint: str) -> set[Feature]:
    """Return what a stage, or an endpoint of it, has: read off its resources, not its policies."""
    result: set[Feature] = {"preflight"}  # every delivery begins with it
    own = [
        resource
        for resource in site.deployed.resources.values()
        if _endpoint(site, resource) == endpoint
    ]
    containers = [
        item.properties["PrimaryContainer"] for item in own if item.kind == "AWS::SageMaker::Model"
    ]
    if _named(site, NAMED["engines"]):
        result.add("engine builds")
    configs = [item.properties for item in own if item.kind == "AWS::SageMaker::EndpointConfig"]
    captures = [config for config in configs if "DataCaptureConfig" in config]
    if captures or (endpoint == "*" and _named(site, NAMED["capture_bucket"])):
        result.add("data capture")
    if any("KmsKeyId" in config for config in configs):
        result.add("encrypted volumes")
    if any(each.kind == COMPONENT for each in own) or (
        endpoint == "*" and any(site.deployed.of(COMPONENT))
    ):
        result.add("inference components")
    if site.place.mirror != "*":
        result.add("mirrored images")
    if any("VpcConfig" in item.properties for item in own):
        result.add("private network")
    if any(
        "SAGEMAKER_TRITON_METRIC_NAMESPACE" in container["Environment"] for container in containers
    ):
        result.add("Triton metrics")
    if site.place.source_stage != "*":
        result.add("promotion")
    return result


def _held(site: Site, principal: Principal, role: Resource | None, place: Place) -> Held:
    has = features(site, place.endpoint)
    components = [each.properties["InferenceComponentName"]
                  for each in _of_endpoint(site, place.endpoint, COMPONENT)]  # fmt: skip
    rows = [
        _of_each(row, components) for row in principal.rows if row.when is None or row.when in has
    ]
    resources = {
        name: site.deployed.arn(result)
        for name, item in NAMED.items()
        if (result := _named(site, item))
    }
    names = place.names(resources)
    refers = not any(item.stack == "delivery" for item in principal.roles)
    return Held(principal, role, rows, names, names if refers else by_name(place))


def _of_endpoint(site: Site, endpoint: str, kind: str) -> list[Resource]:
    """Return the resources of a type in an endpoint's stack."""
    return [each for each in site.deployed.of(kind) if _endpoint(site, each) == endpoint]


def _of_each(row: Row, components: list[str]) -> Row:
    """Return a row with the names of all inference components of an endpoint."""
    resources = [
        resource.replace("{component}", name)
        for resource in row.resources
        for name in (components if "{component}" in resource else [""])
    ]
    return row.model_copy(update={"resources": tuple(resources)})


def _resources(row: Row, names: dict[str, str]) -> list[str]:
    """Return a row's resources, without those that a stage does not have."""
    return [each for resource in row.resources if (each := filled(resource, names))]


def _may(site: Site, held: Held, row: Row, action: str, resource: str) -> bool:
    example, context = _example(resource), _context(row, held.names)
    own = own_policy(site, example)
    if held.role is None:
        return allows(own or [], action, resource=example, named=held.named, context=context)
    arn, granted = site.deployed.arn(held.role), site.deployed.granted(held.role)
    return lets_role(arn, granted, action, resource=example, own=own, context=context)


def _context(row: Row, names: dict[str, str]) -> dict[str, str]:
    """Return what a request has with it that fits a row's condition."""
    return {
        key: _example(values[0])
        for operator, keys in filled_condition(row.condition, names).items()
        for key, values in keys.items()
        if operator != "Null"
    }


def _example(pattern: str) -> str:
    """Return something that fits a pattern."""
    return "*" if pattern == "*" else pattern.replace("*", "Example")


def _beyond_role(site: Site, held: Held, role: Resource) -> Iterator[str]:
    trusted = {each.trusts for each in held.principal.roles}
    if _trusted(site, role) != trusted:
        yield f"{role.id} trusts {sorted(_trusted(site, role))}, and not {sorted(trusted)}"
    for statement in site.deployed.statements(
        role.properties["AssumeRolePolicyDocument"], role.stack
    ):
        source = statement.get("Condition", {}).get("StringEquals", {}).get("aws:SourceAccount")
        if "Service" in statement["Principal"] and source != site.deployed.account:
            yield f"{role.id} trusts {statement['Principal']} for any account: aws:SourceAccount"
    if role.properties.get("ManagedPolicyArns"):
        yield f"{role.id} has policies of AWS's, which nobody compares with the ledger"
    for statement in site.deployed.granted(role):
        if statement["Effect"] == "Allow":
            yield from _uncovered(held.label, statement, [held])


def _beyond_resource(rows: list[Held], policy: Resource, statement: Statement) -> Iterator[str]:
    for named in _principals(statement):
        known = [row for row in rows if row.named == named]
        if not known:
            yield f"{policy.id} lets {named} in, which is in no file of the ledger"
        else:
            yield from _uncovered(policy.id, statement, known)


def _uncovered(label: str, statement: Statement, held: list[Held]) -> Iterator[str]:
    if "NotAction" in statement or "NotResource" in statement:
        yield f"{label} allows all but what it names: {statement.get('Sid', 'a statement')}"
        return
    for action in _texts(statement["Action"]):
        for resource in _texts(statement["Resource"]):
            if not any(
                _covers(row, each.widest, action, resource, statement.get("Condition", {}))
                for each in held
                for row in each.rows
            ):
                yield f"{label} may {action} on {resource}, and no row of the ledger needs it"


def _covers(
    row: Row, names: dict[str, str], action: str, resource: str, condition: dict[str, Any]
) -> bool:
    """Whether a row needs all that a statement allows.

    A `*` of the statement fits only a `*` of the row: what the statement allows is part of it.
    """
    return (
        any(_fits(action.lower(), each.lower()) for each in row.actions)
        and any(_fits(resource, each) for each in _resources(row, names))
        and _narrows(condition, filled_condition(row.condition, names))
    )


def _fits(text: str, pattern: str) -> bool:
    return "?" not in text and fnmatchcase(text, pattern.replace("[", "[[]"))


def _narrows(condition: dict[str, Any], required: dict[str, dict[str, list[str]]]) -> bool:
    """Whether a condition is as narrow as what is wanted, or narrower."""
    return all(
        key in condition.get(operator, {}) and set(_texts(condition[operator][key])) <= set(values)
        for operator, keys in required.items()
        for key, values in keys.items()
    )


def _trusted(site: Site, role: Resource) -> set[str]:
    """Return who may assume a role; of an identity provider, its name."""
    document = role.properties["AssumeRolePolicyDocument"]
    return {
        named.rpartition("/")[2]
        for statement in site.deployed.statements(document, role.stack)
        for named in _principals(statement)
    }


def _resource_policies(site: Site) -> Iterator[tuple[Resource, list[Statement], list[str]]]:
    """Yield what has a policy, its statements, and the ARNs of the resources that it is for."""
    stage = site.deployed
    for kind, document in RESOURCE_POLICIES.items():
        for each in stage.of(kind):
            statements: list[Statement] = [*stage.statements(each.properties[document], each.stack)]
            owners = [each]
            if kind == "AWS::KMS::Key":  # in a key's policy, * is the key
                statements = [{**one, "Resource": stage.arn(each)} for one in statements]
            else:
                names = (each.properties.get("Bucket"), *each.properties.get("Topics", ()))
                owners = [stage.resources[f"{each.stack}.{name['Ref']}"] for name in names if name]
            yield each, statements, [stage.arn(owner) for owner in owners]


def own_policy(site: Site, resource: str) -> list[Statement] | None:
    """Return the statements of the policy of the resource that an ARN names, None without one."""
    for _, statements, owners in _resource_policies(site):
        if any(resource == arn or resource.startswith(f"{arn}/") for arn in owners):
            return statements
    return None


def _principals(statement: Statement) -> list[str]:
    principal = statement["Principal"]
    if isinstance(principal, str):
        return [principal]
    return [named for values in principal.values() for named in _texts(values)]


def _place_of(site: Site, role: Role, resource: Resource) -> str | None:
    """Return the endpoint of a role, `*` for one of the whole stage; None where it is another."""
    if _bare(resource) != role.resource:
        return None
    if role.stack == "endpoint":
        return _endpoint(site, resource)
    return "*" if resource.stack == f"{site.place.stage}-{role.stack}" else None


def _expected(site: Site) -> Iterable[Role]:
    """The roles that there must be: of what is in every stage."""
    for principal in principals():
        always = [row for row in principal.rows if row.when is None]
        yield from (role for role in principal.roles if always and role.stack != "delivery")


def _named(site: Site, named: Named) -> Resource | None:
    """Return a resource of a stack that stays."""
    own = f"{site.place.stage}-{named.stack}"
    fitting = (
        resource
        for resource in site.deployed.resources.values()
        if resource.stack == own
        and _bare(resource) == named.resource
        and not resource.kind.endswith("Policy")
    )
    return next(fitting, None)


def _endpoint(site: Site, resource: Resource) -> str | None:
    """Return the short name of the endpoint whose stack a resource is in."""
    short = resource.stack.removeprefix(f"{site.place.stage}-")
    endpoints = {each.stack for each in site.deployed.of("AWS::SageMaker::Endpoint")}
    return short if resource.stack in endpoints else None


def _bare(resource: Resource) -> str:
    """Return a logical id without the CDK's hash."""
    return re.sub(r"[0-9A-F]{8}$", "", resource.id.partition(".")[2])


def _grants(kind: str) -> bool:
    """Whether a type gives permissions, by its name."""
    if kind == "AWS::ApplicationAutoScaling::ScalingPolicy":
        return False
    return kind.startswith("AWS::IAM::") or kind.endswith(("Policy", "Permission"))


def _texts(value: Any) -> list[str]:
    return [str(each) for each in (value if isinstance(value, list) else [value])]
