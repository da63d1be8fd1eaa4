"""An account whose answers tests give, and a stage's assembly that they write."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.validate import validate_parameters

from release.preflight.account import Account, Caller
from release.tree import Tree

ACCOUNT, REGION = "111122223333", "us-east-1"
CALLER = Caller(ACCOUNT, f"arn:aws:iam::{ACCOUNT}:user/ann")
IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:25.09-py3"

Answer = dict[str, Any] | Exception | Callable[[dict[str, Any]], dict[str, Any]]
Template = dict[str, Any]


class Aws:
    """Real clients that reach nothing: requests and answers are held against AWS's own models.

    `answers` is `service.Operation` -> what it answers, raises, or makes of the request. Without
    one, asking fails the test. `sent` has the requests in their order.
    """

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.session: Any = boto3.Session("key", "secret", region_name=REGION)
        events: Any = self.session.events
        events.register("before-parameter-build.*.*", self._remember)
        events.register("before-call.*.*", self._answer)

    def _remember(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        name = f"{model.service_model.service_name}.{model.name}"
        self.sent.append((name, dict(params)))

    def _answer(self, model: Any, **_: Any) -> tuple[Any, dict[str, Any]]:
        name, request = self.sent[-1]
        answer = self.answers[name]
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            answer = answer(request)
        if model.output_shape is not None:
            validate_parameters(answer, model.output_shape)
        return SimpleNamespace(status_code=200), {**answer, "ResponseMetadata": {}}

    def requests(self, name: str) -> list[dict[str, Any]]:
        """Return the requests of one operation."""
        return [request for requests, request in self.sent if requests == name]


def error(code: str, message: str = "", operation: str = "Ask") -> ClientError:
    """Return what a service refuses with."""
    return ClientError({"Error": {"Code": code, "Message": message}}, operation)


def denied(action: str) -> ClientError:
    """Return the answer to who may not ask."""
    message = f"User: someone is not authorized to perform: {action} on resource: something"
    return error("AccessDeniedException", message, action.partition(":")[2])


def not_deployed() -> ClientError:
    """Return CloudFormation's answer where a stack is not there."""
    return error("ValidationError", "Stack with id prod-text does not exist")


def resources(**physical: str) -> dict[str, Any]:
    """Return what ListStackResources answers."""
    return {
        "StackResourceSummaries": [
            {
                "LogicalResourceId": logical,
                "PhysicalResourceId": name,
                "ResourceType": "AWS::Any",
                "ResourceStatus": "CREATE_COMPLETE",
                "LastUpdatedTimestamp": "2026-01-01",
            }
            for logical, name in physical.items()
        ]
    }


def quotas(**values: float) -> dict[str, Any]:
    """Return what ListServiceQuotas answers: names may not hold spaces, so they come as a dict."""
    return {
        "Quotas": [
            {"QuotaName": name, "QuotaCode": f"L-{number}", "Value": float(value)}
            for number, (name, value) in enumerate(values.items())
        ]
    }


@pytest.fixture
def aws() -> Aws:
    return Aws()


MakeAccount = Callable[..., Account]


@pytest.fixture
def make(tmp_path: Path, aws: Aws) -> MakeAccount:
    """Make an account of the stage prod with templates, by stack, of logical id -> resource."""

    def made(
        *,
        caller: Caller = CALLER,
        stage: str = "region: us-east-1\n",
        manifest: dict[str, Any] | None = None,
        **stacks: dict[str, Any],
    ) -> Account:
        tree, assembly = tmp_path / "tree", tmp_path / "assembly"
        for folder in (tree / "stages", assembly):
            folder.mkdir(parents=True, exist_ok=True)
        (tree / "stages" / "prod.yaml").write_text(stage)
        (assembly / "manifest.json").write_text(json.dumps({"artifacts": manifest or {}}))
        for name, content in stacks.items():
            path = assembly / f"{name.replace('_', '-')}.template.json"
            path.write_text(json.dumps(content if "Resources" in content else template(content)))
        return Account(aws.session, caller, Tree(tree), "prod", assembly)

    return made


def template(of: dict[str, Any]) -> Template:
    """Return a template of logical id -> (type, properties)."""
    return {
        "Resources": {name: {"Type": each[0], "Properties": each[1]} for name, each in of.items()}
    }


def endpoint_stack(
    name: str = "prod-text",
    *,
    count: int = 2,
    instance_type: str = "ml.g5.xlarge",
    image: str = IMAGE,
    most: int | None = None,
    rolling: dict[str, Any] | None = None,
    retain: bool = True,
) -> dict[str, Any]:
    """Return the resources of one endpoint with one variant, `AllTraffic`."""
    policy = {"RollingUpdatePolicy": {"MaximumBatchSize": rolling}} if rolling else {}
    of: dict[str, Any] = {
        "Model": ("AWS::SageMaker::Model", {"PrimaryContainer": {"Image": image}}),
        "Config": (
            "AWS::SageMaker::EndpointConfig",
            {
                "ProductionVariants": [
                    {
                        "VariantName": "AllTraffic",
                        "InstanceType": instance_type,
                        "InitialInstanceCount": count,
                        "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]},
                    }
                ]
            },
        ),
        "Endpoint": (
            "AWS::SageMaker::Endpoint",
            {
                "EndpointName": name,
                "EndpointConfigName": {"Fn::GetAtt": ["Config", "EndpointConfigName"]},
                "RetainAllVariantProperties": retain,
                "DeploymentConfig": policy,
            },
        ),
    }
    if most is not None:
        resource = f"endpoint/{name}/variant/AllTraffic"
        of["Target"] = (
            "AWS::ApplicationAutoScaling::ScalableTarget",
            {"ResourceId": resource, "MinCapacity": 1, "MaxCapacity": most},
        )
    return of


def runs(aws: Aws, **endpoints: tuple[str, int]) -> None:
    """Let endpoints run, each of one variant: name (with _ for -) -> (instance type, count)."""
    of = {name.replace("_", "-"): each for name, each in endpoints.items()}
    now = "2026-01-01"

    def arn(name: str) -> str:
        return f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:endpoint/{name}"

    aws.answers["sagemaker.ListEndpoints"] = {
        "Endpoints": [
            {
                "EndpointName": name,
                "EndpointArn": arn(name),
                "CreationTime": now,
                "LastModifiedTime": now,
                "EndpointStatus": "InService",
            }
            for name in of
        ]
    }

    def described(request: dict[str, Any]) -> dict[str, Any]:
        name = request["EndpointName"]
        if name not in of:
            raise error("ValidationException", "Could not find endpoint", "DescribeEndpoint")
        return {
            "EndpointName": name,
            "EndpointArn": arn(name),
            "EndpointConfigName": name,
            "EndpointStatus": "InService",
            "CreationTime": now,
            "LastModifiedTime": now,
            "ProductionVariants": [
                {
                    "VariantName": "AllTraffic",
                    "CurrentInstanceCount": of[name][1],
                    "DesiredInstanceCount": of[name][1],
                }
            ],
        }

    aws.answers["sagemaker.DescribeEndpoint"] = described
    aws.answers["sagemaker.DescribeEndpointConfig"] = lambda request: {
        "EndpointConfigName": request["EndpointConfigName"],
        "EndpointConfigArn": arn(request["EndpointConfigName"]),
        "CreationTime": now,
        "ProductionVariants": [
            {"VariantName": "AllTraffic", "InstanceType": of[request["EndpointConfigName"]][0]}
        ],
    }
