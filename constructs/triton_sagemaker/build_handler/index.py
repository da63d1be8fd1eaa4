"""Custom resource handlers of `ModelBuilder`: start a CodeBuild build, and say how it goes."""

import os
import time
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_codebuild.type_defs import BuildTypeDef

VARIABLES = {
    "MODEL_NAME": "Model",
    "MODEL_ALTERNATIVE": "Alternative",
    "MODEL_COPY": "Copy",
    "MODEL_DIGEST": "Digest",
    "MODEL_TARGET": "Target",
    "MODEL_BUCKET": "Bucket",
    "MODEL_KEY": "Key",
}
"""Variable of a build -> the resource's property that it is set to, where it has one."""

DEADLINE = "BUILD_DEADLINE"
"""The variable that says until when, in seconds since 1970, a build may wait for its engines."""

GRACE_SECONDS = 120
"""How long after its deadline a build may take to end and say itself what it waited for."""

LONGEST_REASON = 1000
"""CloudFormation takes no more than 4 KiB of a custom resource's answer."""

KEPT = "The endpoint and its archives are as they were."


def on_event(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Start the build, unless the archive is there; CloudFormation's Delete keeps the archive."""
    wanted = event["ResourceProperties"]
    answer = {"PhysicalResourceId": event.get("PhysicalResourceId") or f"model/{wanted['Model']}"}
    if event["RequestType"] == "Delete" or _is_built(wanted["Bucket"], wanted["Key"]):
        return answer
    # To the minute, because Lambda may deliver an event twice: the second asks for the same build.
    deadline = 60 * (int(time.time()) // 60 + int(wanted["WaitMinutes"]))
    variables = {name: wanted[key] for name, key in VARIABLES.items() if wanted.get(key)}
    build = boto3.client("codebuild").start_build(
        projectName=os.environ["PROJECT"],
        idempotencyToken=f"{event['RequestId']}-{deadline}",
        secondarySourcesOverride=[
            {"type": "S3", "location": wanted["Source"], "sourceIdentifier": "model"}
        ],
        environmentVariablesOverride=[
            {"name": name, "value": value, "type": "PLAINTEXT"}
            for name, value in {**variables, DEADLINE: str(deadline)}.items()
        ],
    )["build"]
    return {**answer, "BuildId": build["id"], "Deadline": deadline}


def _is_built(bucket: str, key: str) -> bool:
    """Builders write the manifest last: where it is, the archive is complete."""
    try:
        boto3.client("s3").head_object(Bucket=bucket, Key=key.removesuffix(".tar.gz") + ".json")
    except ClientError as error:
        if error.response["Error"]["Code"] in ("404", "NoSuchKey", "NotFound"):
            return False
        raise
    return True


def is_complete(event: dict[str, Any], _context: object) -> dict[str, bool]:
    """Return whether the build has succeeded; raise when it has not, or not in time."""
    if "BuildId" not in event:
        return {"IsComplete": True}
    builds = boto3.client("codebuild").batch_get_builds(ids=[event["BuildId"]])["builds"]
    if not builds:
        raise RuntimeError(f"CodeBuild knows no build {event['BuildId']}. {KEPT}")
    (build,) = builds
    model = event["ResourceProperties"]["Model"]
    if build["buildStatus"] == "IN_PROGRESS":
        if time.time() > event["Deadline"] + GRACE_SECONDS:
            raise RuntimeError(_unfinished(model, event))
        return {"IsComplete": False}
    if build["buildStatus"] == "SUCCEEDED":
        return {"IsComplete": True}
    raise RuntimeError(_failure(model, build))


def _unfinished(model: str, event: dict[str, Any]) -> str:
    minutes = event["ResourceProperties"]["WaitMinutes"]
    return (
        f"Build of {model} is not done after {minutes} minutes, and goes on: {event['BuildId']}. "
        f"{KEPT} Deploy again: what is built by then is found; or run `make deliver`, which waits "
        "longer than CloudFormation can."
    )


def _failure(model: str, build: "BuildTypeDef") -> str:
    status = build["buildStatus"].replace("_", " ").lower()
    reason = _last_error(build) or _failed_phase(build)
    log = build.get("logs", {}).get("deepLink", "in CodeBuild")
    return f"Build of {model} {status}{reason[:LONGEST_REASON]}. Log: {log} . {KEPT}"


def _last_error(build: "BuildTypeDef") -> str:
    """Return what the build itself said last of why it failed, nothing where it did not."""
    log = build.get("logs", {})
    if "groupName" not in log or "streamName" not in log:
        return ""  # it never ran
    try:
        events = boto3.client("logs").get_log_events(
            logGroupName=log["groupName"], logStreamName=log["streamName"], startFromHead=False
        )["events"]
    except ClientError:  # how the build ended is worth telling without it
        return ""
    lines = [line for event in events for line in event["message"].splitlines()]
    errors = [line for line in lines if line.startswith("error:")]
    return errors[-1].removeprefix("error").rstrip(" .") if errors else ""


def _failed_phase(build: "BuildTypeDef") -> str:
    phases = build.get("phases", [])
    failed = [phase for phase in phases if phase.get("phaseStatus") not in (None, "SUCCEEDED")]
    return "".join(
        f" in phase {phase['phaseType']}"
        + "".join(f": {context['message']}" for context in phase.get("contexts", ())[:1])
        for phase in failed[:1]
    )
