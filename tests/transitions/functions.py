"""The Lambda functions of custom resources, run in this process with fake clients."""

import json
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from botocore import xform_name
from botocore.exceptions import ClientError
from botocore.paginate import PageIterator

from local_sagemaker.api import JsonService
from local_sagemaker.cloudformation import Created, ResourceType
from local_sagemaker.errors import ApiError
from local_sagemaker.tests.support.fake_s3 import FakeS3
from model_build.commands.build_list import parse_lines
from platform_facts.rules.builds import BuildItem
from tests.modules import load_module

CONSTRUCTS = Path(__file__).parents[2] / "constructs" / "triton_sagemaker"

Record = dict[str, Any]
Clients = Callable[[str], Any]


class CustomResource(ResourceType):
    """A resource type whose function is called like by CDK's provider framework."""

    def __init__(
        self, resource_type: str, stack: str, function: ModuleType, wait: Callable[[], None]
    ) -> None:
        self._resource_type, self._stack = resource_type, stack
        self._function, self._wait = function, wait

    def create(self, logical_id: str, properties: Record, stack: str) -> Created:
        return self._send("Create", {"ResourceProperties": properties})

    def update(self, physical_id: str, old: Record, new: Record, stack: str) -> Created:
        event = {"ResourceProperties": new, "OldResourceProperties": old}
        return self._send("Update", {**event, "PhysicalResourceId": physical_id})

    def delete(self, physical_id: str, properties: Record) -> None:
        event = {"ResourceProperties": properties, "PhysicalResourceId": physical_id}
        self._send("Delete", event)

    def _send(self, request_type: str, event: Record) -> Created:
        event = {
            "RequestType": request_type,
            "RequestId": str(uuid.uuid4()),
            "ResourceType": self._resource_type,
            "StackId": f"arn:aws:cloudformation:us-east-1:000000000000:stack/{self._stack}/0a1b",
            **event,
        }
        if self._resource_type == "Custom::TritonCatalog":  # its provider does not poll
            response = self._function.handle(event, None)
            return response["PhysicalResourceId"], {}
        if hasattr(self._function, "handle"):
            start = poll = self._function.handle
        else:
            start, poll = self._function.on_event, self._function.is_complete
        response = start(event, None)
        if not poll({**event, **response}, None)["IsComplete"]:
            self._wait()
            assert poll({**event, **response}, None)["IsComplete"]
        return response["PhysicalResourceId"], {}


def load(name: str, clients: Clients) -> ModuleType:
    """Return a function's module, imported like in Lambda, with these clients."""
    module = load_module(CONSTRUCTS / name / "index.py")
    module.boto3 = SimpleNamespace(client=clients)  # type: ignore[attr-defined]
    environment = {"BUCKET": "models", "ASSETS": "", "PROJECT": "one"}
    module.os = SimpleNamespace(environ=environment)  # type: ignore[attr-defined]
    return module


class Service:
    """A client of one of the local SageMaker's services."""

    def __init__(self, service: JsonService) -> None:
        self._service = service
        self._names = {xform_name(operation): operation for operation in service.operations}
        # Responses are not parsed: they have all members that the service returns.
        self.meta = SimpleNamespace(events=SimpleNamespace(register=lambda *_: None))

    def __getattr__(self, operation: str) -> Callable[..., Record]:
        def call(**request: Any) -> Record:
            try:
                return self._service.call(self._names[operation], request)
            except ApiError as error:
                response = {
                    "Error": {"Code": error.code, "Message": error.message},
                    "ResponseMetadata": {"HTTPStatusCode": error.status},
                }
                raise ClientError(response, operation) from None  # type: ignore[arg-type]

        return call


class Pages(list[Record]):
    """Pages of a response, searched with botocore's code."""

    def search(self, expression: str) -> Iterator[Any]:
        return PageIterator.search(self, expression)  # type: ignore[arg-type]


class S3(FakeS3):
    """A client of S3 whose listings can be searched, with the lists of models in `assets`."""

    def __init__(self, assets: Path) -> None:
        super().__init__()
        self._assets = assets

    def get_object(self, **request: str) -> Record:
        key = request["Key"]
        if not key.endswith(".jsonl"):
            return dict(super().get_object(**request))
        return {"Body": BytesIO((self._assets / f"asset.{key.rpartition('/')[2]}").read_bytes())}

    def paginate(self, *, Bucket: str, Prefix: str, **_: str) -> "Pages":  # noqa: N803
        pages = Pages(super().paginate(Bucket=Bucket, Prefix=Prefix))
        for page in pages:
            for entry in page.get("Contents", ()):
                entry["LastModified"] = entry["Key"].endswith(".json")  # manifests are newer
        return pages


class NoInterfaces:
    """A client of EC2 without network interfaces."""

    def get_paginator(self, operation: str) -> "NoInterfaces":
        assert operation == "describe_network_interfaces"
        return self

    def paginate(self, **_: Any) -> "Pages":
        return Pages([{"NetworkInterfaces": []}])


class CodeBuild:
    """A client of CodeBuild with immediate builds; `fails` returns whether the next one fails."""

    def __init__(self, s3: Any, fails: Callable[[], bool]) -> None:
        self._s3, self._fails = s3, fails
        self._builds: dict[str, Record] = {}

    def start_build(self, *, environmentVariablesOverride: list[Record], **_: Any) -> Record:  # noqa: N803
        status = "FAILED" if self._fails() else "SUCCEEDED"
        if status == "SUCCEEDED":
            values = {
                variable["name"]: variable["value"] for variable in environmentVariablesOverride
            }
            bucket, _, key = values["BUILD_LIST"].partition("/")
            lines = self._s3.get_object(Bucket=bucket, Key=key)["Body"].read().splitlines()
            for number in parse_lines(values["BUILD_LINES"]):
                self._write(BuildItem.parse(lines[number - 1]))
        build: Record = {
            "id": f"one:{len(self._builds) + 1}",
            "buildStatus": status,
            "startTime": datetime.now(UTC),
            "environment": {"environmentVariables": environmentVariablesOverride},
        }
        self._builds[build["id"]] = build
        return {"build": build}

    def _write(self, item: BuildItem) -> None:
        """Write an archive and its manifest."""
        self._s3.objects["models", item.key] = b""
        manifest = {"digest": item.digest, "archive": {}}
        name = item.key.removesuffix(".tar.gz") + ".json"
        self._s3.objects["models", name] = json.dumps(manifest).encode()

    def batch_get_builds(self, *, ids: list[str]) -> Record:
        return {"builds": [self._builds[build] for build in ids]}

    def get_paginator(self, operation: str) -> "CodeBuild":
        assert operation == "list_builds_for_project"
        return self

    def paginate(self, *, projectName: str) -> Iterator[Record]:  # noqa: N803
        yield {"ids": [*self._builds][:-11:-1]}
