"""Write IAM policies for the person or role that deploys a stage, and for CloudFormation.

`deployer.json` allows `deploy`, `deliver`, `preflight`, `status` and `report`, by the ledger in
delivery/permissions: above all to assume the roles of `cdk bootstrap`, which change stacks and
upload assets. `execution-*.json` are for CloudFormation's role, which has AdministratorAccess
unless `cdk bootstrap --cloudformation-execution-policies` names others: what CloudFormation's
schemas say that the resource types of the stage's templates need. With a permissions boundary in
the stage's file, they create and change only roles with it. Neither was tested on AWS.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cfnlint

import platform_facts
from cli.parsers import STAGE, add_command
from delivery.permissions import NAMED_RESOURCES, principals
from delivery.preflight.checks import qualifier_of, required_bootstraps
from model_build.commands.arguments import Commands
from release.checkout import Checkout
from release.templates import templates

DEPLOYERS = ("delivery", "preflight", "report", "status")
"""The principals of the ledger whose permissions a person who deploys needs."""
FEATURES = (None, "inference components", "preflight", "promotion")
MAX_POLICY = 6144
"""Characters of a managed policy, without white space (IAM user guide, reference_iam-quotas)."""
CFN_LINT = Path(cfnlint.__file__).parent / "data"
SCHEMAS = CFN_LINT / "schemas"
"""The schemas of CloudFormation's resource types, as cfn-lint packs them, with the permissions that
the handler of each operation needs."""
ACTIONS = CFN_LINT / "AdditionalSpecs" / "Policies.json"
"""Service -> action in lower case -> types of its resources: AWS's service authorization reference,
as cfn-lint packs it. Handlers of some types name actions that do not exist."""
ISSUER = "token.actions.githubusercontent.com"
SCALING_ROLE = (
    "aws-service-role/sagemaker.application-autoscaling.amazonaws.com/"
    "AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint"
)
"""Application Auto Scaling user guide, application-auto-scaling-service-linked-roles."""
BOUNDED_ACTIONS = {
    *("iam:AttachRolePolicy", "iam:CreateRole"),
    *("iam:PutRolePermissionsBoundary", "iam:PutRolePolicy"),
}
"""Actions that would give a role more than its boundary (IAM user guide,
access_policies_boundaries, "Delegating responsibility to others")."""
WITHOUT_HANDLERS = {
    "AWS::CodeBuild::Project": [
        *("codebuild:BatchGetProjects", "codebuild:CreateProject"),
        *("codebuild:DeleteProject", "codebuild:UpdateProject"),
    ],
    "Custom::": ["lambda:InvokeFunction"],
}
"""Resource types, or the beginnings of their names, whose schemas name no permission."""


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "permissions", run, __doc__)
    parser.add_argument("stage", metavar="STAGE", help=STAGE)


def run(options: argparse.Namespace) -> int:
    """Write the policies into a folder; return the exit code."""
    stage, tree = options.stage, Checkout(Path.cwd())
    file, folder = tree.stage(stage), Path(f"permissions-{stage}")
    account = file.account or "*"
    with TemporaryDirectory(prefix="permissions-") as assembly:
        tree.synthesise(stage, to=Path(assembly))
        types = {
            resource["Type"]
            for template in templates(Path(assembly)).values()
            for resource in template["Resources"].values()
        }
        qualifier = qualifier_of(next(iter(required_bootstraps(Path(assembly)))))
    deployer = deployer_policy(stage, file.region, account, qualifier, file.existing)
    policies = {"deployer": deployer}
    iam = f"arn:{platform_facts.region(file.region).partition}:iam::{account}:"
    execution = execution_policies(types, stage, iam=iam, existing=file.existing)
    for number, policy in enumerate(execution, start=1):
        policies[f"execution-{number}"] = policy
    folder.mkdir(exist_ok=True)
    for name, policy in policies.items():
        (folder / f"{name}.json").write_text(json.dumps(policy, indent=1) + "\n")
        print(f"{folder}/{name}.json")
    if account == "*":
        print(f"stages/{stage}.yaml names no account: the policies allow every account's ARNs")
    return 0


def deployer_policy(
    stage: str, region: str, account: str, qualifier: str, existing: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the policy of the ledger's deployers, with one statement for the same resources.

    `existing` is of the stage's file. The source of a promotion can be each stage of the account.
    """
    names: dict[str, str] = defaultdict(
        lambda: "*",
        stage=stage,
        region=region,
        account=account,
        qualifier=qualifier,
        partition=platform_facts.region(region).partition,
        suffix=platform_facts.region(region).dns_suffix,
    )
    names |= {name: named.arn.format_map(names) for name, named in NAMED_RESOURCES.items()}
    features = {*FEATURES}
    if key := existing.get("kms_key_arn"):
        names["model_key"] = key
        features.add("existing key")
    statements: dict[str, set[str]] = defaultdict(set)
    for row in (row for each in principals() if each.name in DEPLOYERS for row in each.rows):
        if row.feature in features:
            resources = sorted({resource.format_map(names) for resource in row.resources})
            condition = json.loads(_filled(json.dumps(row.condition), names))
            rest = {"Resource": resources, **({"Condition": condition} if condition else {})}
            statements[json.dumps(rest)] |= set(row.actions)
    return _policy(
        {"Effect": "Allow", "Action": sorted(actions), **json.loads(rest)}
        for rest, actions in sorted(statements.items())
    )


def execution_policies(
    types: Iterable[str], stage: str, *, iam: str, existing: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield policies for CloudFormation's role, each within the limit of a managed policy.

    IAM's actions are limited to resources of the stage, whose ARNs begin with `iam`; others to no
    resource, because CloudFormation generates most names. `existing` is of the stage's file.
    """
    services = json.loads(ACTIONS.read_text())
    actions: dict[str, list[str]] = {}
    for action in sorted({action for name in types for action in _handler_actions(name)}):
        service, _, name = action.partition(":")
        if (entry := services[service]["Actions"].get(name.lower())) is not None:
            actions[action] = entry.get("Resources", [])
    statements = list(_iam_statements(actions, stage, iam, existing))
    kept: list[str] = []
    for action in (action for action in actions if not action.startswith("iam:")):
        policy = _policy([*statements, _allow([*kept, action], "*")])
        if len(json.dumps(policy, separators=(",", ":"))) > MAX_POLICY:
            yield _policy([*statements, _allow(kept, "*")])
            statements, kept = [], []
        kept.append(action)
    yield _policy([*statements, _allow(kept, "*")])


def _iam_statements(
    actions: Mapping[str, list[str]], stage: str, iam: str, existing: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield statements of IAM's actions, by the types of their resources.

    The handlers also name actions on users and groups, which a stage does not have.
    """
    roles, boundary = f"{iam}role/{stage}-*", existing.get("permissions_boundary")
    of_roles = {action for action, kinds in actions.items() if kinds == ["role"]}
    by_resource = {
        f"{iam}oidc-provider/{ISSUER}": {
            action for action, kinds in actions.items() if kinds == ["oidc-provider"]
        },
        f"{iam}role/{SCALING_ROLE}": of_roles & {"iam:CreateServiceLinkedRole"},
        "*": {name for name, kinds in actions.items() if name.startswith("iam:") and not kinds},
    }
    of_roles -= {"iam:CreateServiceLinkedRole"}
    if role := existing.get("execution_role_arn"):
        by_resource[role] = {"iam:GetRole", "iam:PassRole"}
    if boundary:
        bounded = of_roles & BOUNDED_ACTIONS
        of_roles -= bounded | {"iam:DeleteRolePermissionsBoundary"}
        condition = {"StringEquals": {"iam:PermissionsBoundary": f"{iam}policy/{boundary}"}}
        yield {**_allow(bounded, roles), "Condition": condition}
    by_resource[roles] = of_roles
    for resource, allowed in by_resource.items():
        if allowed:
            yield _allow(allowed, resource)


def _allow(actions: Iterable[str], resource: str) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": sorted(actions), "Resource": resource}


def _handler_actions(resource_type: str) -> Iterator[str]:
    for name, actions in WITHOUT_HANDLERS.items():
        if resource_type.startswith(name):
            yield from actions
            return
    provider = json.loads((SCHEMAS / "providers" / "us-east-1.json").read_text())
    schema = json.loads((SCHEMAS / "resources" / f"{provider[resource_type]}.json").read_text())
    for handler in schema["handlers"].values():
        yield from handler.get("permissions", ())


def _filled(text: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _policy(statements: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}
