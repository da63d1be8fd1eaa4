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
from account_test.policies import policies_of
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

LARGEST_BODY = 51_200
"""Bytes of a template in a request (CloudFormation API reference, ValidateTemplate)."""
ROLE_SECONDS = 60
"""Maximum time until SageMaker can assume a new role. A choice of this project."""
PULL = (
    *("ecr:GetAuthorizationToken", "ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage"),
    *("ecr:GetDownloadUrlForLayer", "s3:GetObject", "s3:ListBucket"),
)

SECOND_TYPE = "ml.m5.xlarge"
"""An instance type of another family that supports multi-model endpoints."""

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
        known = run.account.quotas.of(service)
        values = {name: known[name].value for name in names if name in known}
        run.recorder.keep("service-quotas:Quotas", {"Service": service, "Names": names}, values)


def templates(run: Run) -> None:
    """Validate the templates with CloudFormation."""
    for template in run.account.templates.values():
        body = json.dumps(template, separators=(",", ":"))
        if len(body) <= LARGEST_BODY:
            run.recorder.ask("cloudformation:ValidateTemplate", TemplateBody=body)


def policies(run: Run) -> None:
    """Simulate each statement of the endpoint's role, and an action that no statement allows."""
    template, known = run.account.templates[ENDPOINT_STACK], run.pseudo_parameters
    _simulate(run, _document(ALLOWED_CONTROL), ALLOWED_CONTROL)
    for policy in policies_of(ENDPOINT_STACK, template, known):
        if policy.guards is None:
            for statement in (*policy.document["Statement"], DENIED_CONTROL):
                _simulate(run, json.dumps(policy.document), statement)


def configurations(run: Run) -> None:
    """Create a role, a model, and configurations with and without a routing strategy."""
    iam, tags = run.recorder.client("iam"), [{"Key": TAG, "Value": "temporary"}]
    trust = {
        "Effect": "Allow",
        "Principal": {"Service": "sagemaker.amazonaws.com"},
        "Action": "sts:AssumeRole",
    }
    role = iam.create_role(RoleName=FREE, AssumeRolePolicyDocument=_document(trust), Tags=tags)
    pull = _document({"Effect": "Allow", "Action": PULL, "Resource": "*"})
    iam.put_role_policy(RoleName=FREE, PolicyName=FREE, PolicyDocument=pull)
    _create_model(run, ExecutionRoleArn=role["Role"]["Arn"], Tags=tags)
    variant = {
        "VariantName": VARIANT,
        "ModelName": FREE,
        "InstanceType": run.checkout.instance_type,
        "InitialInstanceCount": 1,
    }
    routed = {"RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"}}
    for name, more in {f"{FREE}-plain": {}, f"{FREE}-routed": routed}.items():
        _create_config(run, name, {**variant, **more})
        run.recorder.ask("sagemaker:DescribeEndpointConfig", EndpointConfigName=name)


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


def _create_config(run: Run, name: str, variant: Record, **more: Any) -> None:
    run.recorder.ask(
        "sagemaker:CreateEndpointConfig",
        EndpointConfigName=name,
        ProductionVariants=[variant],
        Tags=[{"Key": TAG, "Value": "temporary"}],
        **more,
    )


def _simulate(run: Run, policy: str, statement: Record) -> None:
    """Simulate the actions of a statement, in a context that fulfils its condition."""
    run.recorder.ask(
        "iam:SimulateCustomPolicy",
        PolicyInputList=[policy],
        ActionNames=_list(statement["Action"]),
        ResourceArns=[_matching(_list(statement["Resource"])[0])],
        ContextEntries=list(_context(statement.get("Condition", {}))),
    )


def _create_model(run: Run, **request: Any) -> None:
    """Create the model; retry until SageMaker can assume its new role."""
    ((_, _, model),) = run.account.resources("AWS::SageMaker::Model")
    manifest = json.loads((run.account.assembly / "manifest.json").read_text())
    properties = manifest["artifacts"][ENDPOINT_STACK]["properties"]
    url = {"Fn::Sub": properties["stackTemplateAssetObjectUrl"]}
    asset = resolve(url, run.pseudo_parameters)
    bucket = asset.removeprefix("s3://").partition("/")[0]  # the bucket of `cdk bootstrap`
    container = {
        "Image": model["PrimaryContainer"]["Image"],
        "Mode": "MultiModel",
        "ModelDataUrl": f"s3://{bucket}/{STAGE}/",
    }
    until = time.monotonic() + ROLE_SECONDS
    for pause in pauses():
        try:
            request |= {"ModelName": FREE, "PrimaryContainer": container}
            run.recorder.ask("sagemaker:CreateModel", **request)
        except ClientError:
            if time.monotonic() > until:
                raise
            time.sleep(pause)
        else:
            return


def _document(statement: Record) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statement})


def _list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _matching(pattern: str) -> str:
    """Return a string that matches a wildcard pattern of a policy."""
    return pattern if pattern == "*" else pattern.replace("*", "any")


def _context(condition: Record) -> Iterator[Record]:
    """Yield context entries for which a condition is true."""
    for operator, keys in condition.items():
        for key, values in keys.items():
            yield {
                "ContextKeyName": key,
                "ContextKeyValues": [_matching(_list(values)[0])],
                "ContextKeyType": "boolean" if operator == "Bool" else "string",
            }
