import json
from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.front.calls import Calls, RecordedCall
from local_sagemaker.front.ministack import request_body
from local_sagemaker.tests.conftest import NOT_ASKED, ClientFor

ROLE = f"arn:aws:iam::{ACCOUNT}:role/one"


def recorded(file: Path) -> list[RecordedCall]:
    return [RecordedCall(**json.loads(line)) for line in file.read_text().splitlines()]


def own(service: str, resource: str) -> str:
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
    """A request as uvicorn describes it."""
    signed = f"AWS4-HMAC-SHA256 Credential=test/20260101/{REGION}/{service}/aws4_request"
    values = {
        "authorization": signed,
        **({"x-amz-security-token": caller} if caller else {}),
        **{name.replace("_", "-"): each for name, each in headers.items()},
    }
    return {
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), each.encode()) for name, each in values.items()],
    }


async def note(file: Path, service: str, *, body: bytes = b"", **request: Any) -> bytes:
    """Have a request recorded; return the body that is left to read."""
    parts = [
        {"type": "http.request", "body": body[:3], "more_body": True},
        {"type": "http.request", "body": body[3:]},
    ]

    async def receive() -> Any:
        return parts.pop(0)

    left = await Calls(file).note(scope(service, **request), receive)
    return b"".join([part async for part in request_body(left)])


def target(operation: str, **request: object) -> dict[str, Any]:
    return {"x_amz_target": f"X.{operation}", "body": json.dumps(request).encode()}


@pytest.mark.parametrize(
    ("service", "request_", "permissions"),
    [
        (
            "sagemaker",
            target("DescribeEndpoint", EndpointName="a-text"),
            [("sagemaker:DescribeEndpoint", own("sagemaker", "endpoint/a-text"))],
        ),
        (
            "sagemaker",
            target("CreateInferenceComponent", EndpointName="a", InferenceComponentName="b"),
            [("sagemaker:CreateInferenceComponent", own("sagemaker", "inference-component/b"))],
        ),
        (
            "sagemaker",
            {"path": "/endpoints/a-text/invocations", "body": b"{}"},
            [("sagemaker:InvokeEndpoint", own("sagemaker", "endpoint/a-text"))],
        ),
        ("sagemaker", target("ListEndpoints"), [("sagemaker:ListEndpoints", "*")]),
        ("monitoring", target("GetMetricData"), [("cloudwatch:GetMetricData", "*")]),
        (
            "sagemaker",
            target("ListTags", ResourceArn=own("sagemaker", "endpoint/a-text")),
            [("sagemaker:ListTags", own("sagemaker", "endpoint/a-text"))],
        ),
        (
            "ecr",
            target("BatchGetImage", registryId="763104351884", repositoryName="triton"),
            [("ecr:BatchGetImage", "arn:aws:ecr:us-east-1:763104351884:repository/triton")],
        ),
        (
            "logs",
            target("ListTagsForResource", resourceArn=own("logs", "log-group:g")),
            [("logs:ListTagsForResource", own("logs", "log-group:g"))],
        ),
        (
            "codebuild",
            target("StartBuild", projectName="p"),
            [("codebuild:StartBuild", own("codebuild", "project/p"))],
        ),
        (
            "codebuild",
            target("BatchGetBuilds", ids=["p:1"]),
            [("codebuild:BatchGetBuilds", own("codebuild", "project/p"))],
        ),
        (
            "codebuild",
            target("BatchGetProjects", names=["p"]),
            [("codebuild:BatchGetProjects", own("codebuild", "project/p"))],
        ),
        (
            "codebuild",
            target("StopBuild", id="p:1"),
            [("codebuild:StopBuild", own("codebuild", "project/p"))],
        ),
        (
            "ssm",
            target("GetParametersByPath", Path="/triton/a/text"),
            [("ssm:GetParametersByPath", own("ssm", "parameter/triton/a/text"))],
        ),
        (
            "logs",
            target("PutLogEvents", logGroupName="g", logStreamName="s"),
            [("logs:PutLogEvents", own("logs", "log-group:g:log-stream:s"))],
        ),
        (
            "cloudformation",
            {
                "body": b"Action=DescribeStacks&StackName=a-models",
                "content_type": "application/x-www-form-urlencoded",
            },
            [("cloudformation:DescribeStacks", own("cloudformation", "stack/a-models/*"))],
        ),
        (
            "lambda",
            {"path": "/2015-03-31/functions/f/invocations", "body": b"{}"},
            [("lambda:InvokeFunction", own("lambda", "function:f"))],
        ),
        (
            "s3",
            {"method": "HEAD", "path": "/b/a%20b"},
            [("s3:GetObject", "arn:aws:s3:::b/a b")],
        ),
        (
            "s3",
            {"method": "GET", "path": "/b", "query": "list-type=2&prefix=a"},
            [("s3:ListBucket", "arn:aws:s3:::b")],
        ),
        (
            "s3",
            {"method": "GET", "path": "/b", "query": "uploads="},
            [("s3:ListBucketMultipartUploads", "arn:aws:s3:::b")],
        ),
        (
            "s3",
            {"method": "DELETE", "path": "/b/k", "query": "uploadId=1"},
            [("s3:AbortMultipartUpload", "arn:aws:s3:::b/k")],
        ),
        (
            "s3",
            {
                "method": "PUT",
                "path": "/b/k",
                "query": "uploadId=1&partNumber=1",
                "x_amz_copy_source": "from/k",
            },
            [("s3:PutObject", "arn:aws:s3:::b/k"), ("s3:GetObject", "arn:aws:s3:::from/k")],
        ),
        ("ssm", {"x_amz_target": "X.Any", "body": b"no JSON"}, [("ssm:Any", "*")]),
        ("ssm", {"x_amz_target": "X.Any", "body": b"[1]"}, [("ssm:Any", "*")]),
    ],
)
async def test_a_call_is_recorded_by_what_it_needs(
    tmp_path: Path, service: str, request_: dict[str, Any], permissions: list[tuple[str, str]]
) -> None:
    file = tmp_path / "calls"
    left = await note(file, service, **request_)
    assert recorded(file) == [(ROLE, *permission) for permission in permissions]
    assert left == request_.get("body", b"")


@pytest.mark.parametrize("caller", [None, "FwoGZXIvYXdzEJr//////////wEa", "two\nlines"])
async def test_who_does_not_say_who_it_is_is_not_recorded(
    tmp_path: Path, caller: str | None
) -> None:
    left = await note(tmp_path / "calls", "ssm", caller=caller, **target("GetParameter", Name="/a"))
    assert left == b'{"Name": "/a"}'
    assert not (tmp_path / "calls").exists()


async def test_bodies_of_objects_and_invocations_are_left_to_who_answers(tmp_path: Path) -> None:
    for service, path in (("s3", "/b/k"), ("sagemaker", "/endpoints/a/invocations")):
        request = scope(service, method="POST", path=path, content_type="application/json")
        assert await Calls(tmp_path / "calls").note(request, NOT_ASKED) is NOT_ASKED


async def test_one_kind_of_call_is_recorded_once(tmp_path: Path) -> None:
    calls = Calls(tmp_path / "calls")
    for key in ("a", "a", "b"):
        await calls.note(scope("s3", method="GET", path=f"/b/{key}"), NOT_ASKED)
    assert [call.resource[-1] for call in recorded(tmp_path / "calls")] == ["a", "b"]


def test_what_a_client_of_ours_calls_is_recorded(tmp_path: Path, client_for: ClientFor) -> None:
    async def empty(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    s3 = client_for("s3", empty)
    Calls(tmp_path / "calls").watch(s3, ROLE)
    s3.put_object(Bucket="bucket", Key="a/b", Body=b"c")
    assert recorded(tmp_path / "calls") == [(ROLE, "s3:PutObject", "arn:aws:s3:::bucket/a/b")]
