import json
from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.front.calls import Calls, RecordedCall
from local_sagemaker.front.ministack import request_body
from local_sagemaker.tests.conftest import UNCALLED, ClientFor

ROLE = f"arn:aws:iam::{ACCOUNT}:role/one"


def recorded(file: Path) -> list[RecordedCall]:
    return [RecordedCall(**json.loads(line)) for line in file.read_text().splitlines()]


def own_arn(service: str, resource: str) -> str:
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}"


def scope(
    service: str,
    *,
    caller: str | None = ROLE,
    method: str = "POST",
    path: str = "/",
    query: str = "",
    **headers: str,
) -> dict[str, Any]:
    """Return the ASGI scope of a signed request."""
    signed = f"AWS4-HMAC-SHA256 Credential=test/20260101/{REGION}/{service}/aws4_request"
    values = {
        "authorization": signed,
        **({"x-amz-security-token": caller} if caller else {}),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return {
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in values.items()],
    }


async def record(file: Path, service: str, *, body: bytes = b"", **request: Any) -> bytes:
    """Record a request, and return the body that can still be read."""
    parts = [
        {"type": "http.request", "body": body[:3], "more_body": True},
        {"type": "http.request", "body": body[3:]},
    ]

    async def receive() -> Any:
        return parts.pop(0)

    receive_again = await Calls(file).record(scope(service, **request), receive)
    return b"".join([part async for part in request_body(receive_again)])


def target(operation: str, **request: object) -> dict[str, Any]:
    return {"x_amz_target": f"X.{operation}", "body": json.dumps(request).encode()}


@pytest.mark.parametrize(
    ("service", "request_", "permissions"),
    [
        ("kms", target("GetKeyPolicy", KeyId="1-2", PolicyName="default"),
         [("kms:GetKeyPolicy", own_arn("kms", "key/1-2"))]),
        ("lambda", {"method": "GET", "path": "/2016-08-19/account-settings/"},
         [("lambda:GetAccountSettings", "*")]),
        ("sagemaker", target("DescribeEndpoint", EndpointName="a-text"),
         [("sagemaker:DescribeEndpoint", own_arn("sagemaker", "endpoint/a-text"))]),
        ("sagemaker",
         target("CreateInferenceComponent", EndpointName="a", InferenceComponentName="b"),
         [("sagemaker:CreateInferenceComponent", own_arn("sagemaker", "inference-component/b"))]),
        ("sagemaker", {"path": "/endpoints/a-text/invocations", "body": b"{}"},
         [("sagemaker:InvokeEndpoint", own_arn("sagemaker", "endpoint/a-text"))]),
        ("sagemaker", target("ListEndpoints"), [("sagemaker:ListEndpoints", "*")]),
        ("monitoring", target("GetMetricData"), [("cloudwatch:GetMetricData", "*")]),
        ("sagemaker", target("ListTags", ResourceArn=own_arn("sagemaker", "endpoint/a-text")),
         [("sagemaker:ListTags", own_arn("sagemaker", "endpoint/a-text"))]),
        ("ecr", target("BatchGetImage", registryId="763104351884", repositoryName="triton"),
         [("ecr:BatchGetImage", "arn:aws:ecr:us-east-1:763104351884:repository/triton")]),
        ("logs", target("ListTagsForResource", resourceArn=own_arn("logs", "log-group:g")),
         [("logs:ListTagsForResource", own_arn("logs", "log-group:g"))]),
        ("codebuild", target("StartBuild", projectName="p"),
         [("codebuild:StartBuild", own_arn("codebuild", "project/p"))]),
        ("codebuild", target("BatchGetBuilds", ids=["p:1"]),
         [("codebuild:BatchGetBuilds", own_arn("codebuild", "project/p"))]),
        ("ssm", target("GetParametersByPath", Path="/triton/a/text"),
         [("ssm:GetParametersByPath", own_arn("ssm", "parameter/triton/a/text"))]),
        ("dynamodb", target("Query", TableName="t", IndexName="i"),
         [("dynamodb:Query", own_arn("dynamodb", "table/t/index/i"))]),
        ("dynamodb", target("BatchGetItem", RequestItems={"t": {}}),
         [("dynamodb:BatchGetItem", own_arn("dynamodb", "table/t"))]),
        ("dynamodb", target("TransactWriteItems", TransactItems=[{"Put": {"TableName": "t"}}] * 2),
         [("dynamodb:PutItem", own_arn("dynamodb", "table/t"))]),
        ("logs", target("PutLogEvents", logGroupName="g", logStreamName="s"),
         [("logs:PutLogEvents", own_arn("logs", "log-group:g:log-stream:s"))]),
        ("cloudformation", {"body": b"Action=DescribeStacks&StackName=a-models",
          "content_type": "application/x-www-form-urlencoded"},
         [("cloudformation:DescribeStacks", own_arn("cloudformation", "stack/a-models/*"))]),
        ("s3", {"method": "PUT", "path": "/b/k", "query": "uploadId=1&partNumber=1",
          "x_amz_copy_source": "from/k"},
         [("s3:PutObject", "arn:aws:s3:::b/k"), ("s3:GetObject", "arn:aws:s3:::from/k")]),
        ("lambda", {"method": "GET", "path": "/2016-08-19/account-settings"},
         [("lambda:GetAccountSettings", "*")]),
        ("ssm", {"x_amz_target": "X.Any", "body": b"no JSON"}, [("ssm:Any", "*")]),
    ],
)  # fmt: skip
async def test_recorded_permissions_of_a_call(
    tmp_path: Path, service: str, request_: dict[str, Any], permissions: list[tuple[str, str]]
) -> None:
    file = tmp_path / "calls"
    body = await record(file, service, **request_)
    assert recorded(file) == [(ROLE, *permission) for permission in permissions]
    assert body == request_.get("body", b"")


@pytest.mark.parametrize("caller", [None, "FwoGZXIvYXdzEJr//////////wEa", "two\nlines"])
async def test_call_without_a_caller_is_not_recorded(tmp_path: Path, caller: str | None) -> None:
    body = await record(
        tmp_path / "calls", "ssm", caller=caller, **target("GetParameter", Name="/a")
    )
    assert body == b'{"Name": "/a"}'
    assert not (tmp_path / "calls").exists()


async def test_large_bodies_are_not_read(tmp_path: Path) -> None:
    for service, path in (("s3", "/b/k"), ("sagemaker", "/endpoints/a/invocations")):
        request = scope(service, method="POST", path=path, content_type="application/json")
        assert await Calls(tmp_path / "calls").record(request, UNCALLED) is UNCALLED


async def test_equal_calls_are_recorded_once(tmp_path: Path) -> None:
    calls = Calls(tmp_path / "calls")
    for key in ("a", "a", "b"):
        await calls.record(scope("s3", method="GET", path=f"/b/{key}"), UNCALLED)
    assert [call.resource[-1] for call in recorded(tmp_path / "calls")] == ["a", "b"]


def test_calls_of_a_watched_client_are_recorded(tmp_path: Path, client_for: ClientFor) -> None:
    async def empty(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    s3 = client_for("s3", empty)
    Calls(tmp_path / "calls").record_client(s3, ROLE)
    s3.put_object(Bucket="bucket", Key="a/b", Body=b"c")
    assert recorded(tmp_path / "calls") == [(ROLE, "s3:PutObject", "arn:aws:s3:::bucket/a/b")]
