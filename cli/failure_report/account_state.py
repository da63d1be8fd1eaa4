"""The state of a stage's stacks and of their resources, as AWS describes it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import boto3

from cli.names import stage_of
from delivery.aws import client

MAX_EVENTS, MAX_STREAMS, MAX_LINES = 300, 3, 300
"""Events of a stack, streams of a log group, and lines of a stream: our choice."""
BUILD_MEMBERS = ("id", "buildStatus", "startTime", "endTime", "phases")
TRITON_LINE = re.compile(
    r'[IWEF]\d{4} |\s*(At:|Traceback|File "|/\S+\(\d+\): )|\w*(Error|Exception)\b'
)
"""Lines that Triton writes (src/logging in triton-inference-server/core), tracebacks and errors."""
ENDPOINT_LOGS = "/aws/sagemaker/"

Record = dict[str, Any]


@dataclass(frozen=True)
class ReportSection:
    """A file of the report: its name, and the function that reads its content."""

    name: str
    read: Callable[[], Any]


def sections(session: boto3.Session, stage: str, stages: list[str]) -> Iterator[ReportSection]:
    """Yield the sections of a stage's stacks. Raise `ClientError` if the stacks cannot be listed.

    `stages` are all stages of the repository, because the name of one may begin with another's.
    """
    cloudformation = client(session, "cloudformation")
    pages = cloudformation.get_paginator("list_stacks").paginate()
    newest: dict[str, Record] = {}
    for stack in (stack for page in pages for stack in page["StackSummaries"]):
        if stage_of(stack["StackName"], stages) == stage:
            newest.setdefault(stack["StackName"], stack)  # deleted ones are listed later
    for name, stack in sorted(newest.items()):
        identifier = stack["StackId"]
        yield ReportSection(f"stacks/{name}.json", partial(dict, stack))
        events = cloudformation.get_paginator("describe_stack_events").paginate(
            StackName=identifier, PaginationConfig={"MaxItems": MAX_EVENTS}
        )
        yield ReportSection(f"stacks/{name}-events.json", partial(_members, events, "StackEvents"))
        if stack["StackStatus"] == "DELETE_COMPLETE":
            continue
        pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=identifier)
        resources = _members(pages, "StackResourceSummaries")
        yield ReportSection(f"stacks/{name}-resources.json", partial(list, resources))
        for resource in resources:
            if physical_id := resource.get("PhysicalResourceId"):
                yield from _resource_sections(session, resource["ResourceType"], physical_id)
    alarms = client(session, "cloudwatch").get_paginator("describe_alarms")
    pages = alarms.paginate(AlarmNamePrefix=f"{stage}-", AlarmTypes=["MetricAlarm"])
    yield ReportSection("alarms.json", partial(_members, pages, "MetricAlarms"))


def _resource_sections(
    session: boto3.Session, kind: str, physical_id: str
) -> Iterator[ReportSection]:
    name = physical_id.rpartition("/")[2]
    sagemaker = client(session, "sagemaker")
    match kind:
        case "AWS::SageMaker::Endpoint":
            read = partial(sagemaker.describe_endpoint, EndpointName=name)
            yield ReportSection(f"endpoints/{name}.json", read)
            yield from _scaling(session, f"endpoint/{name}/")
        case "AWS::SageMaker::Model":
            read = partial(sagemaker.describe_model, ModelName=name)
            yield ReportSection(f"models/{name}.json", read)
        case "AWS::SageMaker::EndpointConfig":
            read = partial(sagemaker.describe_endpoint_config, EndpointConfigName=name)
            yield ReportSection(f"endpoint-configs/{name}.json", read)
        case "AWS::SageMaker::InferenceComponent":
            read = partial(sagemaker.describe_inference_component, InferenceComponentName=name)
            yield ReportSection(f"components/{name}.json", read)
            yield from _scaling(session, f"inference-component/{name}")
        case "AWS::CodeBuild::Project":
            yield ReportSection(f"builds/{name}.json", partial(_builds, session, name))
        case "AWS::Logs::LogGroup":
            file = physical_id.strip("/").replace("/", "-")
            yield ReportSection(f"logs/{file}.log", partial(_log, session, physical_id))


def _scaling(session: boto3.Session, prefix: str) -> Iterator[ReportSection]:
    """Yield the scalable targets and activities of resources with a prefix."""
    scaling = client(session, "application-autoscaling")
    name = prefix.strip("/").replace("/", "-")
    for operation, member in {
        "describe_scalable_targets": "ScalableTargets",
        "describe_scaling_activities": "ScalingActivities",
    }.items():
        pages = scaling.get_paginator(operation).paginate(
            ServiceNamespace="sagemaker", PaginationConfig={"MaxItems": MAX_EVENTS}
        )

        def read(pages: Any = pages, member: str = member) -> list[Record]:
            records = _members(pages, member)
            return [record for record in records if record["ResourceId"].startswith(prefix)]

        yield ReportSection(f"scaling/{name}-{member}.json", read)


def _builds(session: boto3.Session, project: str) -> list[Record]:
    """Return the newest builds of a project, without their environment variables."""
    codebuild = client(session, "codebuild")
    ids = codebuild.list_builds_for_project(projectName=project)["ids"][:20]
    builds = codebuild.batch_get_builds(ids=ids)["builds"] if ids else []
    return [{name: build.get(name) for name in BUILD_MEMBERS} for build in builds]


def _log(session: boto3.Session, group: str) -> str:
    """Return the ends of the newest streams of a log group; of endpoints, only Triton's lines."""
    logs, lines = client(session, "logs"), list[str]()
    streams = logs.describe_log_streams(
        logGroupName=group, orderBy="LastEventTime", descending=True, limit=MAX_STREAMS
    )["logStreams"]
    for stream in (stream["logStreamName"] for stream in streams):
        events = logs.get_log_events(
            logGroupName=group, logStreamName=stream, limit=MAX_LINES, startFromHead=False
        )["events"]
        written = [line for event in events for line in event["message"].splitlines()]
        kept = written
        if group.startswith(ENDPOINT_LOGS):
            kept = [line for line in written if TRITON_LINE.match(line)]
        lines += [f"== {stream}: {len(written) - len(kept)} lines of models are left out", *kept]
    return "\n".join(lines)


def _members(pages: Any, member: str) -> list[Record]:
    return [record for page in pages for record in page.get(member, ())]
