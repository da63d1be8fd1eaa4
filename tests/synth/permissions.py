"""Comparison of the permission ledger with the policies of a stage's templates.

Each check yields one message per deviation.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from delivery.permissions import NAMED_RESOURCES, Principal, Role, Row, principals
from delivery.permissions.ledger import Feature
from delivery.permissions.named_resources import NamedResource
from platform_facts import ImageReference
from tests.permission_names import Place, by_name, filled, filled_condition
from tests.synth.deployed import Deployed, Resource
from tests.synth.statements import Statement, allows, role_allows

RESOURCE_POLICIES = {
    "AWS::KMS::Key": "KeyPolicy",
    "AWS::S3::BucketPolicy": "PolicyDocument",
    "AWS::SNS::TopicPolicy": "PolicyDocument",
}
COMPONENT = "AWS::SageMaker::InferenceComponent"
CHECKED = ("AWS::IAM::OIDCProvider", "AWS::IAM::Policy", "AWS::IAM::Role", *RESOURCE_POLICIES)
"""Resource types that grant permissions and are compared with the ledger."""


@dataclass(frozen=True)
class StageUnderTest:
    """The templates of a stage, and the values of the ledger's placeholders there."""

    deployed: Deployed
    place: Place


class ResolvedPrincipal(NamedTuple):
    """A principal of one endpoint or stage: its role, if any, and the rows that apply.

    `names` has the placeholder values of needed resources, `patterns` those of allowed resources:
    a stack without references to another stack knows only the start of generated names.
    """

    principal: Principal
    role: Resource | None
    rows: list[Row]
    names: dict[str, str]
    patterns: dict[str, str]

    @property
    def named(self) -> str | None:
        """The name of the principal in resource policies."""
        return (
            filled(self.principal.policy_principal, self.names)
            if self.principal.policy_principal
            else None
        )

    @property
    def label(self) -> str:
        """The name of the principal in messages."""
        return self.role.id if self.role else self.principal.name


def missing_permissions(tested_stage: StageUnderTest) -> Iterator[str]:
    """Yield permissions that a row needs and the templates do not allow."""
    for resolved in resolved_principals(tested_stage):
        for row in resolved.rows:
            for action in row.actions:
                for resource in _resources(row, resolved.names):
                    if not _is_allowed(tested_stage, resolved, row, _example(action), resource):
                        yield f"{resolved.label} lacks {action} on {resource}: {row.step}"
    for role in _required_roles(tested_stage):
        if role.logical_id not in [
            _id_without_hash(resource)
            for resource in tested_stage.deployed.of_type("AWS::IAM::Role")
        ]:
            yield f"role {role.logical_id} is missing"


def excess_permissions(tested_stage: StageUnderTest) -> Iterator[str]:
    """Yield permissions that the templates allow and no row needs."""
    resolved = list(resolved_principals(tested_stage))
    by_role = {principal.role.id: principal for principal in resolved if principal.role}
    for role in tested_stage.deployed.of_type("AWS::IAM::Role"):
        if role.id not in by_role:
            yield f"{role.id} is in no file of the ledger"
            continue
        yield from _excess_role_permissions(tested_stage, by_role[role.id], role)
    for policy, statements, _ in _resource_policies(tested_stage):
        for statement in statements:
            if statement["Effect"] == "Allow":
                yield from _excess_resource_permissions(resolved, policy, statement)
    for resource in tested_stage.deployed.resources.values():
        if resource.kind not in CHECKED and _grants_permissions(resource.kind):
            yield f"{resource.id} is a {resource.kind}, a type that is not compared with the ledger"


def resolved_principals(tested_stage: StageUnderTest) -> Iterator[ResolvedPrincipal]:
    """Yield the principals of the templates, once per endpoint or stage."""
    for principal in principals():
        for role in principal.roles:
            for resource in tested_stage.deployed.of_type("AWS::IAM::Role"):
                endpoint = _endpoint_of_role(tested_stage, role, resource)
                if endpoint is not None:
                    endpoints = _endpoint_resources(
                        tested_stage, endpoint, "AWS::SageMaker::Endpoint"
                    )
                    name = endpoints[0].properties["EndpointName"] if endpoints else ""
                    models = _endpoint_resources(tested_stage, endpoint, "AWS::SageMaker::Model")
                    images = {model.properties["PrimaryContainer"]["Image"] for model in models}
                    repository = repository_of(images.pop()) if images else "*"
                    place = replace(
                        tested_stage.place,
                        endpoint=endpoint,
                        endpoint_name=name,
                        image_repository=repository,
                    )
                    yield _resolve(tested_stage, principal, resource, place)
        if principal.policy_principal:
            yield _resolve(tested_stage, principal, None, tested_stage.place)


def features(tested_stage: StageUnderTest, endpoint: str) -> set[Feature]:
    """Return the features of a stage ("*") or endpoint, derived from resources, not policies."""
    result: set[Feature] = {"preflight"}  # every delivery runs it
    endpoint_resources = [
        resource
        for resource in tested_stage.deployed.resources.values()
        if _endpoint_name(tested_stage, resource) == endpoint
    ]
    containers = [
        resource.properties["PrimaryContainer"]
        for resource in endpoint_resources
        if resource.kind == "AWS::SageMaker::Model"
    ]
    if _find_resource(tested_stage, NAMED_RESOURCES["engines"]):
        result.add("engine builds")
    configs = [
        resource.properties
        for resource in endpoint_resources
        if resource.kind == "AWS::SageMaker::EndpointConfig"
    ]
    captures = [config for config in configs if "DataCaptureConfig" in config]
    if captures or (
        endpoint == "*" and _find_resource(tested_stage, NAMED_RESOURCES["capture_bucket"])
    ):
        result.add("data capture")
    if any(
        "SSESpecification" in table.properties
        for table in tested_stage.deployed.of_type("AWS::DynamoDB::Table")
    ):
        result.add("existing key")
    if any("KmsKeyId" in config for config in configs):
        result.add("encrypted volumes")
    if any(resource.kind == COMPONENT for resource in endpoint_resources) or (
        endpoint == "*" and any(tested_stage.deployed.of_type(COMPONENT))
    ):
        result.add("inference components")
    if tested_stage.place.mirror != "*":
        result.add("mirrored images")
    if tested_stage.place.own_repository != "*":
        result.add("own image")
    if any("VpcConfig" in resource.properties for resource in endpoint_resources):
        result.add("private network")
    if any(
        "SAGEMAKER_TRITON_METRIC_NAMESPACE" in container["Environment"] for container in containers
    ):
        result.add("Triton metrics")
    if tested_stage.place.source_stage != "*":
        result.add("promotion")
    return result


def repository_of(image: str) -> str:
    """Return the end of the ARN of an image's repository, from the account on."""
    reference = ImageReference.parse(image)
    return f"{reference.account}:repository/{reference.repository}"


def _resolve(
    tested_stage: StageUnderTest, principal: Principal, role: Resource | None, place: Place
) -> ResolvedPrincipal:
    stage_features = features(tested_stage, place.endpoint)
    components = [
        component.properties["InferenceComponentName"]
        for component in _endpoint_resources(tested_stage, place.endpoint, COMPONENT)
    ]
    rows = [
        _expand_components(row, components)
        for row in principal.rows
        if row.feature is None or row.feature in stage_features
    ]
    arns = {
        name: tested_stage.deployed.arn(resource)
        for name, named in NAMED_RESOURCES.items()
        if (resource := _find_resource(tested_stage, named))
    }
    names = place.names(arns)
    has_references = not any(role.stack == "delivery" for role in principal.roles)
    return ResolvedPrincipal(
        principal, role, rows, names, names if has_references else by_name(place)
    )


def _endpoint_resources(tested_stage: StageUnderTest, endpoint: str, kind: str) -> list[Resource]:
    """Return the resources of a type in the stack of an endpoint."""
    return [
        resource
        for resource in tested_stage.deployed.of_type(kind)
        if _endpoint_name(tested_stage, resource) == endpoint
    ]


def _expand_components(row: Row, components: list[str]) -> Row:
    """Return a row with one resource per inference component of the endpoint."""
    resources = [
        resource.replace("{component}", name)
        for resource in row.resources
        for name in (components if "{component}" in resource else [""])
    ]
    return row.model_copy(update={"resources": tuple(resources)})


def _resources(row: Row, names: dict[str, str]) -> list[str]:
    """Return the resources of a row that exist in the stage."""
    resources = (filled(resource, names) for resource in row.resources)
    return [resource for resource in resources if resource]


def _is_allowed(
    tested_stage: StageUnderTest, resolved: ResolvedPrincipal, row: Row, action: str, resource: str
) -> bool:
    example, context = _example(resource), _request_context(row, resolved.names)
    policy_statements = resource_policy(tested_stage, example)
    if resolved.role is None and example in tested_stage.place.existing.values():
        return True  # the policy is outside of the templates; the preflight checks it
    if resolved.role is None:
        return allows(
            policy_statements or [],
            action,
            resource=example,
            principal=resolved.named,
            context=context,
        )
    arn, statements = (
        tested_stage.deployed.arn(resolved.role),
        tested_stage.deployed.role_statements(resolved.role),
    )
    return role_allows(
        arn,
        statements,
        action,
        resource=example,
        resource_statements=policy_statements,
        context=context,
    )


def _request_context(row: Row, names: dict[str, str]) -> dict[str, str]:
    """Return a request context that meets the condition of a row."""
    return {
        key: _example(values[0])
        for operator, keys in filled_condition(row.condition, names).items()
        for key, values in keys.items()
        if operator != "Null"
    }


def _example(pattern: str) -> str:
    """Return a text that matches a pattern."""
    return "*" if pattern == "*" else pattern.replace("*", "Example")


def _excess_role_permissions(
    tested_stage: StageUnderTest, resolved: ResolvedPrincipal, role: Resource
) -> Iterator[str]:
    trusted = {role.trusts for role in resolved.principal.roles}
    if (actual := _trusted_principals(tested_stage, role)) != trusted:
        yield f"{role.id} trusts {sorted(actual)}, expected {sorted(trusted)}"
    for statement in tested_stage.deployed.statements(
        role.properties["AssumeRolePolicyDocument"], role.stack
    ):
        source = statement.get("Condition", {}).get("StringEquals", {}).get("aws:SourceAccount")
        if "Service" in statement["Principal"] and source != tested_stage.deployed.account:
            yield f"{role.id} trusts {statement['Principal']} without aws:SourceAccount"
    for statement in tested_stage.deployed.role_statements(role):
        if statement["Effect"] == "Allow":
            yield from _uncovered(resolved.label, statement, [resolved])


def _excess_resource_permissions(
    resolved: list[ResolvedPrincipal], policy: Resource, statement: Statement
) -> Iterator[str]:
    for name in _principals(statement):
        matching = [principal for principal in resolved if principal.named == name]
        if not matching:
            yield f"{policy.id} allows {name}, which is in no file of the ledger"
        else:
            yield from _uncovered(policy.id, statement, matching)


def _uncovered(
    label: str, statement: Statement, principals: list[ResolvedPrincipal]
) -> Iterator[str]:
    if "NotAction" in statement or "NotResource" in statement:
        yield f"{label} uses NotAction or NotResource: {statement.get('Sid', 'a statement')}"
        return
    for action in _as_list(statement["Action"]):
        for resource in _as_list(statement["Resource"]):
            if not any(
                _covers(row, principal.patterns, action, resource, statement.get("Condition", {}))
                for principal in principals
                for row in principal.rows
            ):
                yield f"{label} may {action} on {resource}, and no row of the ledger needs it"


def _covers(
    row: Row, names: dict[str, str], action: str, resource: str, condition: dict[str, Any]
) -> bool:
    """Return whether a row needs everything that a statement allows.

    A `*` in the statement matches only a `*` in the row.
    """
    return (
        any(_matches(action.lower(), row_action.lower()) for row_action in row.actions)
        and any(_matches(resource, pattern) for pattern in _resources(row, names))
        and _narrows(condition, filled_condition(row.condition, names))
    )


def _matches(text: str, pattern: str) -> bool:
    return "?" not in text and fnmatchcase(text, pattern.replace("[", "[[]"))


def _narrows(condition: dict[str, Any], required: dict[str, dict[str, list[str]]]) -> bool:
    """Return whether a condition is at least as narrow as the required one."""
    return all(
        key in condition.get(operator, {})
        and set(_as_list(condition[operator][key])) <= set(values)
        for operator, keys in required.items()
        for key, values in keys.items()
    )


def _trusted_principals(tested_stage: StageUnderTest, role: Resource) -> set[str]:
    """Return the principals that may assume a role; of an identity provider, its name."""
    document = role.properties["AssumeRolePolicyDocument"]
    return {
        name.rpartition("/")[2]
        for statement in tested_stage.deployed.statements(document, role.stack)
        for name in _principals(statement)
    }


def _resource_policies(
    tested_stage: StageUnderTest,
) -> Iterator[tuple[Resource, list[Statement], list[str]]]:
    """Yield (policy or key, statements, ARNs of the resources that the policy applies to)."""
    stage = tested_stage.deployed
    for kind, document in RESOURCE_POLICIES.items():
        for resource in stage.of_type(kind):
            statements: list[Statement] = [
                *stage.statements(resource.properties[document], resource.stack)
            ]
            owners = [resource]
            if kind == "AWS::KMS::Key":  # "*" in a key policy is the key
                statements = [
                    {**statement, "Resource": stage.arn(resource)} for statement in statements
                ]
            else:
                names = (resource.properties.get("Bucket"), *resource.properties.get("Topics", ()))
                owners = [
                    stage.resources[f"{resource.stack}.{name['Ref']}"] for name in names if name
                ]
            yield resource, statements, [stage.arn(owner) for owner in owners]


def resource_policy(tested_stage: StageUnderTest, resource: str) -> list[Statement] | None:
    """Return the statements of the resource policy that applies to an ARN, None without one."""
    for _, statements, owners in _resource_policies(tested_stage):
        if any(resource == arn or resource.startswith(f"{arn}/") for arn in owners):
            return statements
    return None


def _principals(statement: Statement) -> list[str]:
    principal = statement["Principal"]
    if isinstance(principal, str):
        return [principal]
    return [named for values in principal.values() for named in _as_list(values)]


def _endpoint_of_role(tested_stage: StageUnderTest, role: Role, resource: Resource) -> str | None:
    """Return the endpoint of a role, `*` for a role of the stage, None for any other resource."""
    if _id_without_hash(resource) != role.logical_id:
        return None
    if role.stack == "endpoint":
        return _endpoint_name(tested_stage, resource)
    return "*" if resource.stack == f"{tested_stage.place.stage}-{role.stack}" else None


def _required_roles(tested_stage: StageUnderTest) -> Iterable[Role]:
    """Yield the roles that every stage must have."""
    for principal in principals():
        always = [row for row in principal.rows if row.feature is None]
        yield from (role for role in principal.roles if always and role.stack != "delivery")


def _find_resource(tested_stage: StageUnderTest, named: NamedResource) -> Resource | None:
    """Return a named resource of the ledger, None if the stage does not have it."""
    stack = f"{tested_stage.place.stage}-{named.stack}"
    candidates = (
        resource
        for resource in tested_stage.deployed.resources.values()
        if resource.stack == stack
        and _id_without_hash(resource) == named.logical_id
        and not resource.kind.endswith("Policy")
    )
    return next(candidates, None)


def _endpoint_name(tested_stage: StageUnderTest, resource: Resource) -> str | None:
    """Return the short name of the endpoint whose stack a resource is in."""
    short = resource.stack.removeprefix(f"{tested_stage.place.stage}-")
    endpoints = {
        resource.stack for resource in tested_stage.deployed.of_type("AWS::SageMaker::Endpoint")
    }
    return short if resource.stack in endpoints else None


def _id_without_hash(resource: Resource) -> str:
    """Return a logical ID without the hash of the CDK."""
    return re.sub(r"[0-9A-F]{8}$", "", resource.id.partition(".")[2])


def _grants_permissions(kind: str) -> bool:
    """Return whether resources of a type grant permissions, judged by the type name."""
    if kind == "AWS::ApplicationAutoScaling::ScalingPolicy":
        return False
    return kind.startswith("AWS::IAM::") or kind.endswith(("Policy", "Permission"))


def _as_list(value: Any) -> list[str]:
    return [str(part) for part in (value if isinstance(value, list) else [value])]
