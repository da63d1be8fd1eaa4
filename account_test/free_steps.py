"""Steps without charges; `removal` deletes the resources that they create.

Sources: "The endpoint must be deleted in order to stop incurring charges", while models and
endpoint configurations only describe it (SageMaker API reference, DeleteEndpointConfig; developer
guide, realtime-endpoints-delete-resources). IAM, and so its simulation, is "offered at no
additional charge" (IAM product page). CloudFormation charges only for third-party resources
(pricing page, quoted in infracost/infracost#49). There is no source for Service Quotas.
"""

import json
import time
from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from account_test.answers import Record
from account_test.names import ENDPOINT_STACK, FREE, STAGE, TAG, VARIANT
from account_test.policies import iam_policies
from account_test.run import Run
from account_test.setting_checks import ALLOWED_ACTION, DENIED_ACTION
from account_test.waiting import pauses
from release.preflight.quotas import (
    ALL_INSTANCES,
    CODEBUILD,
    PROJECT,
    SAGEMAKER,
    builds_quota,
    instances_quota,
)
from release.template_resources import resolve

MAX_TEMPLATE_BYTES = 51_200
"""Maximum size of a template in a request (CloudFormation API reference, ValidateTemplate)."""
ROLE_TIMEOUT_SECONDS = 60
"""Maximum time until SageMaker can assume a new role. Our choice."""
MODEL_ACTIONS = (
    *("ecr:GetAuthorizationToken", "ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage"),
    *("ecr:GetDownloadUrlForLayer", "s3:GetObject", "s3:ListBucket"),
)

SECOND_TYPE = "ml.m5.xlarge"
"""An instance type of another family that supports multi-model endpoints."""

# Statements whose decision is known, to check the simulation itself.
DENIED_CONTROL = {"Action": DENIED_ACTION, "Resource": "*"}
ALLOWED_CONTROL = {
    **{"Effect": "Allow", "Action": ALLOWED_ACTION, "Resource": "*"},
    "Condition": {"StringEquals": {"sagemaker:ResourceTag/probe": "yes"}},
}


def quotas(run: Run) -> None:
    """Read the quotas that the preflight looks up by name."""
    projects = (project["Environment"] for _, _, project in run.account.resources(PROJECT))
    builds = {builds_quota((project["Type"], project["ComputeType"])) for project in projects}
    for service, names in {
        SAGEMAKER: [instances_quota(run.checkout.instance_type), ALL_INSTANCES],
        CODEBUILD: sorted(builds),
    }.items():
        all_quotas = run.account.quotas.of(service)
        values = {name: all_quotas[name].value for name in names if name in all_quotas}
        run.recorder.record("service-quotas:Quotas", {"Service": service, "Names": names}, values)


def templates(run: Run) -> None:
    """Validate the templates with CloudFormation."""
    for template in run.account.templates.values():
        body = json.dumps(template, separators=(",", ":"))
        if len(body) <= MAX_TEMPLATE_BYTES:
            run.recorder.call("cloudformation:ValidateTemplate", TemplateBody=body)


def policies(run: Run) -> None:
    """Simulate each statement of the endpoint's role, and an action that no statement allows."""
    _simulate(run, _document(ALLOWED_CONTROL), ALLOWED_CONTROL)
    for policy in iam_policies(run.account.templates[ENDPOINT_STACK], run.pseudo_parameters):
        for statement in (*policy["Statement"], DENIED_CONTROL):
            _simulate(run, json.dumps(policy), statement)


def configurations(run: Run) -> None:
    """Create a role, a model, and configurations with and without a routing strategy."""
    iam, tags = run.recorder.client("iam"), [{"Key": TAG, "Value": "temporary"}]
    trust = {
        "Effect": "Allow",
        "Principal": {"Service": "sagemaker.amazonaws.com"},
        "Action": "sts:AssumeRole",
    }
    role = iam.create_role(RoleName=FREE, AssumeRolePolicyDocument=_document(trust), Tags=tags)
    permissions = _document({"Effect": "Allow", "Action": MODEL_ACTIONS, "Resource": "*"})
    iam.put_role_policy(RoleName=FREE, PolicyName=FREE, PolicyDocument=permissions)
    _create_model(run, ExecutionRoleArn=role["Role"]["Arn"], Tags=tags)
    variant = {
        "VariantName": VARIANT,
        "ModelName": FREE,
        "InstanceType": run.checkout.instance_type,
        "InitialInstanceCount": 1,
    }
    routing = {"RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"}}
    for name, properties in {f"{FREE}-plain": {}, f"{FREE}-routed": routing}.items():
        _create_config(run, name, {**variant, **properties})
        run.recorder.call("sagemaker:DescribeEndpointConfig", EndpointConfigName=name)


def pools(run: Run) -> None:
    """Create a configuration with instance pools for the multi-model Model of `configurations`."""
    types = run.checkout.instance_type, SECOND_TYPE
    variant = {
        "VariantName": VARIANT,
        "ModelName": FREE,
        "InitialInstanceCount": 1,
        "InstancePools": [
            {"InstanceType": name, "Priority": number} for number, name in enumerate(types, start=1)
        ],
    }
    _create_config(run, f"{FREE}-pools", variant)


def components(run: Run) -> None:
    """Create a configuration for inference components with the role of `configurations`."""
    role = run.recorder.client("iam").get_role(RoleName=FREE)["Role"]["Arn"]
    scaling = {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 1}
    variant = {
        "VariantName": VARIANT,
        "InstanceType": run.checkout.instance_type,
        "InitialInstanceCount": 1,
        "ManagedInstanceScaling": scaling,
        "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
    }
    _create_config(run, f"{FREE}-components", variant, ExecutionRoleArn=role)


def _create_config(run: Run, name: str, variant: Record, **parameters: Any) -> None:
    run.recorder.call(
        "sagemaker:CreateEndpointConfig",
        EndpointConfigName=name,
        ProductionVariants=[variant],
        Tags=[{"Key": TAG, "Value": "temporary"}],
        **parameters,
    )


def _simulate(run: Run, policy: str, statement: Record) -> None:
    """Simulate the actions of a statement, in a context that fulfils its condition."""
    run.recorder.call(
        "iam:SimulateCustomPolicy",
        PolicyInputList=[policy],
        ActionNames=_as_list(statement["Action"]),
        ResourceArns=[_matching_text(_as_list(statement["Resource"])[0])],
        ContextEntries=list(_context_entries(statement.get("Condition", {}))),
    )


def _create_model(run: Run, **request: Any) -> None:
    """Create the model; retry until SageMaker can assume its new role."""
    ((_, _, model),) = run.account.resources("AWS::SageMaker::Model")
    manifest = json.loads((run.account.assembly / "manifest.json").read_text())
    properties = manifest["artifacts"][ENDPOINT_STACK]["properties"]
    url = {"Fn::Sub": properties["stackTemplateAssetObjectUrl"]}
    asset = resolve(url, run.pseudo_parameters)
    bucket = asset.removeprefix("s3://").partition("/")[0]  # created by `cdk bootstrap`
    container = {
        "Image": model["PrimaryContainer"]["Image"],
        "Mode": "MultiModel",
        "ModelDataUrl": f"s3://{bucket}/{STAGE}/",
    }
    deadline = time.monotonic() + ROLE_TIMEOUT_SECONDS
    for pause in pauses():
        try:
            request |= {"ModelName": FREE, "PrimaryContainer": container}
            run.recorder.call("sagemaker:CreateModel", **request)
        except ClientError:
            if time.monotonic() > deadline:
                raise
            time.sleep(pause)
        else:
            return


def _document(statement: Record) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statement})


def _as_list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _matching_text(pattern: str) -> str:
    """Return a text that matches a wildcard pattern of a policy."""
    return pattern if pattern == "*" else pattern.replace("*", "any")


def _context_entries(condition: Record) -> Iterator[Record]:
    """Yield context entries for which a condition is true."""
    for operator, keys in condition.items():
        for key, values in keys.items():
            yield {
                "ContextKeyName": key,
                "ContextKeyValues": [_matching_text(_as_list(values)[0])],
                "ContextKeyType": "boolean" if operator == "Bool" else "string",
            }
