"""Fixtures: an AWS account with fake answers, and a stage's assembly."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.validate import validate_parameters

from delivery.preflight.account import Account, Caller
from plan.document import Plan
from release.checkout import Checkout

ACCOUNT, REGION = "111122223333", "us-east-1"
CALLER = Caller(ACCOUNT, f"arn:aws:iam::{ACCOUNT}:user/ann")
IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:25.09-py3"

Answer = dict[str, Any] | Exception | Callable[[dict[str, Any]], dict[str, Any]]
Template = dict[str, Any]


class Aws:
    """Real clients without a network: requests and answers are validated with AWS's models.

    `answers` maps `service.Operation` to an answer, an error to raise, or a function of the
    request; a call without an answer fails the test. `sent_requests` has the requests in order.
    """

    def __init__(self, folder: Path = Path("nowhere")) -> None:
        self._folder = folder
        self.answers: dict[str, Answer] = {}
        self.sent_requests: list[tuple[str, dict[str, Any]]] = []
        self.session: Any = boto3.Session("key", "secret", region_name=REGION)
        events: Any = self.session.events
        events.register("before-parameter-build.*.*", self._record)
        events.register("before-call.*.*", self._answer)

    def _record(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        name = f"{model.service_model.service_name}.{model.name}"
        self.sent_requests.append((name, dict(params)))

    def _answer(self, model: Any, **_: Any) -> tuple[Any, dict[str, Any]]:
        name, request = self.sent_requests[-1]
        answer = self.answers[name]
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            answer = answer(request)
        if model.output_shape is not None:
            validate_parameters(answer, model.output_shape)
        return SimpleNamespace(status_code=200), {**answer, "ResponseMetadata": {}}

    def account(
        self, *, stage: str = "region: us-east-1\n", plan: Plan | None = None, **stacks: Template
    ) -> Account:
        """Return an account of the stage prod with templates of stacks."""
        tree, assembly = self._folder / "tree", self._folder / "assembly"
        for folder in (tree / "stages", assembly):
            folder.mkdir(parents=True, exist_ok=True)
        (tree / "stages" / "prod.yaml").write_text(stage)
        for name, content in stacks.items():
            path = assembly / f"{name.replace('_', '-')}.template.json"
            path.write_text(json.dumps(content if "Resources" in content else template(content)))
        if plan:
            plan.write(assembly)
        return Account(self.session, CALLER, Checkout(tree), "prod", assembly)

    def requests(self, name: str) -> list[dict[str, Any]]:
        """Return the requests of one operation."""
        return [request for operation, request in self.sent_requests if operation == name]


def error(code: str, message: str = "", operation: str = "Call") -> ClientError:
    """Return an error of a service."""
    return ClientError({"Error": {"Code": code, "Message": message}}, operation)


def denied(action: str) -> ClientError:
    """Return the error for a caller without permission."""
    message = f"User: someone is not authorized to perform: {action} on resource: something"
    return error("AccessDeniedException", message, action.partition(":")[2])


def resources(**physical: str) -> dict[str, Any]:
    """Return an answer of ListStackResources."""
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
    """Return an answer of ListServiceQuotas; names with spaces are passed as `**{...}`."""
    return {
        "Quotas": [
            {"QuotaName": name, "QuotaCode": f"L-{number}", "Value": float(value)}
            for number, (name, value) in enumerate(values.items())
        ]
    }


@pytest.fixture
def aws(tmp_path: Path) -> Aws:
    return Aws(tmp_path)


def template(content: dict[str, Any]) -> Template:
    """Return a template; `content` maps logical ids to (type, properties)."""
    return {
        "Resources": {
            name: {"Type": resource_type, "Properties": properties}
            for name, (resource_type, properties) in content.items()
        }
    }


def endpoint_stack(image: str = IMAGE) -> dict[str, Any]:
    """Return the resources of one endpoint that preflight reads."""
    return {"Model": ("AWS::SageMaker::Model", {"PrimaryContainer": {"Image": image}})}


def run_endpoints(aws: Aws, **endpoints: tuple[str, int]) -> None:
    """Add running endpoints with one variant: name (with _ for -) -> (instance type, count)."""
    running = {name.replace("_", "-"): fleet for name, fleet in endpoints.items()}
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
            for name in running
        ]
    }

    def describe(request: dict[str, Any]) -> dict[str, Any]:
        name = request["EndpointName"]
        if name not in running:
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
                    "CurrentInstanceCount": running[name][1],
                    "DesiredInstanceCount": running[name][1],
                }
            ],
        }

    aws.answers["sagemaker.DescribeEndpoint"] = describe
    aws.answers["sagemaker.DescribeEndpointConfig"] = lambda request: {
        "EndpointConfigName": request["EndpointConfigName"],
        "EndpointConfigArn": arn(request["EndpointConfigName"]),
        "CreationTime": now,
        "ProductionVariants": [
            {"VariantName": "AllTraffic", "InstanceType": running[request["EndpointConfigName"]][0]}
        ],
    }
