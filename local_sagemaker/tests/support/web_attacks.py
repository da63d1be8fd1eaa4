"""Requests that a malicious web page makes a browser send, and the state that they would change."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import boto3

BUCKET, KEY, SECRET = "victims-models", "secret.txt", "a secret of the victim"
ENDPOINT = "victims-endpoint"
JSON = {"X-Amz-Target": "", "Content-Type": "application/x-amz-json-1.1"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TEXT = {"Content-Type": "text/plain"}
"""Content types that need no CORS preflight."""

_PART = (
    '--x\r\nContent-Disposition: form-data; name="key"\r\n\r\nplanted.txt\r\n'
    '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nplanted\r\n--x--\r\n'
)
_DELETE = f"<Delete><Object><Key>{KEY}</Key></Object></Delete>"
_TEMPLATE = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}
_TRUST = {"Version": "2012-10-17", "Statement": []}


@dataclass(frozen=True)
class Attack:
    """A request for the local SageMaker."""

    method: str
    path: str
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_bytes(self, host: str, **overrides: str) -> bytes:
        """Return the raw HTTP/1.1 request; `overrides` replace headers."""
        headers = {"Host": host, "Connection": "close", **self.headers}
        headers |= {name.replace("_", "-"): value for name, value in overrides.items()}
        if self.body:
            headers["Content-Length"] = str(len(self.body))
        lines = [f"{self.method} {self.path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
        return "\r\n".join([*lines, "", self.body]).encode()


def attacks(victim: Path) -> dict[str, Attack]:
    """Return attacks by name; a build would write the file `victim`."""
    return {
        "read an object": Attack("GET", f"/{BUCKET}/{KEY}"),
        "read a bucket": Attack("GET", f"/{BUCKET}"),
        "read stacks": _form(Action="DescribeStacks"),
        "read a parameter": _json("AmazonSSM.GetParameter", {"Name": f"/{KEY}"}),
        "read endpoints": _json("SageMaker.ListEndpoints", {}),
        "read the page's state": Attack("GET", "/_local_sagemaker/state"),
        "create a project of CodeBuild": _json(
            "CodeBuild_20161006.CreateProject", _project("planted", f"touch {victim}")
        ),
        "start a build of that project": _json(
            "CodeBuild_20161006.StartBuild", {"projectName": "planted"}
        ),
        "create a stack": _form(
            Action="CreateStack", StackName="planted", TemplateBody=json.dumps(_TEMPLATE)
        ),
        "delete a stack": _form(Action="DeleteStack", StackName="victim"),
        "create a role": _form(
            Action="CreateRole", RoleName="planted", AssumeRolePolicyDocument=json.dumps(_TRUST)
        ),
        "create a role by a GET query string": Attack(
            "GET",
            "/?"
            + urlencode(
                {
                    "Action": "CreateRole",
                    "Version": "2010-05-08",
                    "RoleName": "planted-by-a-query",
                    "AssumeRolePolicyDocument": json.dumps(_TRUST),
                }
            ),
        ),
        "delete objects": Attack("POST", f"/{BUCKET}?delete", _DELETE, TEXT),
        "upload an object by a form": Attack(
            "POST", f"/{BUCKET}", _PART, {"Content-Type": "multipart/form-data; boundary=x"}
        ),
        "put an object": Attack("PUT", f"/{BUCKET}/planted.txt", "planted", TEXT),
        "delete a bucket's object": Attack("DELETE", f"/{BUCKET}/{KEY}"),
        "reset everything": Attack("POST", "/_ministack/reset", "", TEXT),
        "change the emulator's settings": Attack("POST", "/_ministack/config", "{}", TEXT),
        "invoke an endpoint": Attack("POST", f"/endpoints/{ENDPOINT}/invocations", "{}", TEXT),
    }


def prepare() -> None:
    """Create the resources that the attacks read, change and delete."""
    client: Any = boto3.client
    client("s3").create_bucket(Bucket=BUCKET)
    client("s3").put_object(Bucket=BUCKET, Key=KEY, Body=SECRET.encode())
    client("ssm").put_parameter(Name=f"/{KEY}", Value=SECRET, Type="String")
    client("cloudformation").create_stack(
        StackName="victim",
        TemplateBody=json.dumps({**_TEMPLATE, "Description": SECRET}),
    )
    client("cloudformation").get_waiter("stack_create_complete").wait(
        StackName="victim", WaiterConfig={"Delay": 1}
    )
    client("codebuild").create_project(**_project("victim", "true"))


def state() -> dict[str, Any]:
    """Return the state that the attacks would change."""
    client: Any = boto3.client
    stacks = client("cloudformation").describe_stacks()["Stacks"]
    return {
        "objects": [
            content["Key"] for content in client("s3").list_objects_v2(Bucket=BUCKET)["Contents"]
        ],
        "parameters": client("ssm").get_parameter(Name=f"/{KEY}")["Parameter"]["Value"],
        "stacks": sorted((stack["StackName"], stack["StackStatus"]) for stack in stacks),
        "roles": sorted(role["RoleName"] for role in client("iam").list_roles()["Roles"]),
        "projects": client("codebuild").list_projects()["projects"],
        "builds": client("codebuild").list_builds()["ids"],
    }


def _project(name: str, command: str) -> dict[str, Any]:
    """Return a project of CodeBuild."""
    buildspec = f"version: 0.2\nphases: {{build: {{commands: ['{command}']}}}}"
    return {
        "name": name,
        "source": {"type": "NO_SOURCE", "buildspec": buildspec},
        "artifacts": {"type": "NO_ARTIFACTS"},
        "environment": {
            "type": "LINUX_CONTAINER",
            "image": "aws/codebuild/standard:7.0",
            "computeType": "BUILD_GENERAL1_SMALL",
        },
        "serviceRole": "arn:aws:iam::000000000000:role/planted",
    }


def _json(target: str, request: dict[str, Any]) -> Attack:
    return Attack("POST", "/", json.dumps(request), {**JSON, "X-Amz-Target": target})


def _form(**fields: str) -> Attack:
    version = "2010-05-08" if "Role" in fields["Action"] else "2010-05-15"
    return Attack("POST", "/", urlencode({"Version": version, **fields}), FORM)
