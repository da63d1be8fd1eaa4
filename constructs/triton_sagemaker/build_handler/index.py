"""Custom resource handlers of `ModelBuilder`: run a CodeBuild build until its archive is there."""

import json
import os
import re
import time
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NotConnected

if TYPE_CHECKING:
    from mypy_boto3_codebuild.type_defs import BuildTypeDef

VARIABLES = {
    "MODEL_NAME": "Model",
    "MODEL_ALTERNATIVE": "Alternative",
    "MODEL_DIGEST": "Digest",
    "MODEL_TARGET": "Target",
    "MODEL_BUCKET": "Bucket",
    "MODEL_KEY": "Key",
}
"""Variable of a build -> the resource's property that it is set to, where it has one."""

DEADLINE = "BUILD_DEADLINE"
"""The variable that says until when, in seconds since 1970, a build may wait for its engines."""

REQUEST = "BUILD_REQUEST"
"""The variable with the id of the event that a build was started for."""

GRACE_SECONDS = 120
"""How long after its deadline a build may take to end and report what it waited for."""

LONGEST_REASON = 1000
"""CloudFormation takes no more than 4 KiB of a custom resource's answer."""

PULL_FAILED = "BUILD_CONTAINER_UNABLE_TO_PULL_IMAGE"
"""Status code of a phase in which CodeBuild could not pull the image (aws/aws-cdk#10460)."""

ATTEMPTS = 2
"""Builds of one archive at most: the second only where the image of the first was not pulled."""

NO_QUOTA = "more than 0 builds in queue"
"""In CodeBuild's message to accounts that may run no build at all: waiting does not help
(rebuy-de/aws-nuke#1209, aws-ia/terraform-aws-control_tower_account_factory#179)."""

KEPT = "The endpoint and its archives are unchanged."


ARCHIVE_KEY = "{endpoint}/{target}/{model}-{digest:.12}.tar.gz"
"""Where an archive is: below its endpoint and what it is built for, named by its content."""


def on_event(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Return until when the archive must be there; CloudFormation's Delete keeps the archive."""
    properties = event["ResourceProperties"]
    physical_id = event.get("PhysicalResourceId") or f"model/{properties['Model']}"
    if event["RequestType"] == "Delete":
        return {"PhysicalResourceId": physical_id}
    _refuse_other_places(properties)
    # To the minute, because Lambda may deliver an event twice: the second asks for the same build.
    deadline = 60 * (int(time.time()) // 60 + int(properties["WaitMinutes"]))
    return {"PhysicalResourceId": physical_id, "Deadline": deadline}


def is_complete(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Return whether the archive is there; raise where its build failed, or took too long.

    The provider framework fails the resource with any error that is raised here, so transient
    ones, a full queue of CodeBuild among them, are left to the next poll. `BuildId` in the answer
    spares whoever adds it to the event the search for the build.
    """
    if "Deadline" not in event:
        return {"IsComplete": True}
    started: dict[str, str] = {}
    try:
        build = _newest_build(event)
    except (ClientError, HTTPClientError, NotConnected) as error:
        if not _is_transient(error):
            raise
        state = f"is still waiting to start: {error}"
    else:
        if build is None or build["buildStatus"] == "SUCCEEDED":
            return {"IsComplete": True}
        if build["buildStatus"] != "IN_PROGRESS":
            raise RuntimeError(_failure(event["ResourceProperties"]["Model"], build))
        started, state = {"BuildId": build["id"]}, f"is still building: {build['id']}"
    if time.time() > event["Deadline"] + GRACE_SECONDS:
        raise RuntimeError(_unfinished(event["ResourceProperties"], state))
    return {"IsComplete": False, **started}


def _newest_build(event: dict[str, Any]) -> "BuildTypeDef | None":
    """Return the event's build, started if missing; None if the archive exists."""
    properties = event["ResourceProperties"]
    _refuse_other_places(properties)
    builds = _builds(event)
    if not builds and _is_built(properties):
        return None
    if not builds or (len(builds) < ATTEMPTS and _pull_failure(builds[0])):
        return _start(event, attempt=len(builds) + 1)
    return builds[0]


def _builds(event: dict[str, Any]) -> "list[BuildTypeDef]":
    """Return the builds that were started for an event, the newest first."""
    codebuild = boto3.client("codebuild")
    if "BuildId" in event:
        builds = codebuild.batch_get_builds(ids=[event["BuildId"]])["builds"]
        if not builds:
            raise RuntimeError(f"CodeBuild has no build {event['BuildId']}. {KEPT}")
        if not _pull_failure(builds[0]):
            return builds
    # The provider framework gives each poll the same event: what an earlier poll has started is
    # known by its variables alone. Newest first is the default order, and with an order of its own
    # the call fails where a project has more than 100 builds (API reference, ListBuildsForProject).
    begun = event["Deadline"] - 60 * int(event["ResourceProperties"]["WaitMinutes"])
    own: list[BuildTypeDef] = []
    pages = codebuild.get_paginator("list_builds_for_project")
    for page in pages.paginate(projectName=os.environ["PROJECT"]):
        ids = page.get("ids")
        builds = codebuild.batch_get_builds(ids=ids)["builds"] if ids else []
        own += [build for build in builds if _variables(build).get(REQUEST) == event["RequestId"]]
        if any(build["startTime"].timestamp() < begun for build in builds):
            break
    return sorted(own, key=lambda build: build["startTime"], reverse=True)


def _variables(build: "BuildTypeDef") -> dict[str, str]:
    variables = build["environment"].get("environmentVariables", [])
    return {variable["name"]: variable["value"] for variable in variables}


def _refuse_other_places(properties: dict[str, str]) -> None:
    """Raise unless the archive's key and source are those of its model and digest.

    Whoever calls chooses what is built: its own source would run as the builder, and another key
    would be what somebody else asks for. The build verifies that the source has the digest.
    """
    key, digest, bucket = properties["Key"], properties["Digest"], os.environ["BUCKET"]
    expected = ARCHIVE_KEY.format(
        endpoint=key.partition("/")[0],
        target=properties["Target"],
        model=properties["Model"],
        digest=digest,
    )
    is_plain = re.fullmatch("[0-9a-f]{64}", digest) and key.count("/") == 2
    if properties["Bucket"] != bucket or key != expected or not is_plain:
        raise RuntimeError(
            f"s3://{properties['Bucket']}/{key} is not the archive of the digest {digest} of "
            f"{properties['Model']}, which is s3://{bucket}/{expected}: nothing is built"
        )
    sources = (os.environ["MODEL_SOURCES"], f"{bucket}/sources/{digest}.zip")
    if not any(fnmatchcase(properties["Source"], pattern) for pattern in sources):
        raise RuntimeError(
            f"{properties['Source']} is not a source of {properties['Model']}: nothing is built. "
            f"Sources are {' and '.join(sources)}"
        )


def _is_built(properties: dict[str, str]) -> bool:
    """Return whether the archive is complete: a manifest, and the bytes that it records.

    Builders write the manifest last; those before this one recorded no checksum.
    """
    s3, bucket, key = boto3.client("s3"), properties["Bucket"], properties["Key"]
    manifest = key.removesuffix(".tar.gz") + ".json"
    try:
        written = json.loads(s3.get_object(Bucket=bucket, Key=manifest)["Body"].read())
        head = s3.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
    except ClientError as error:
        if error.response["Error"]["Code"] in ("404", "NoSuchKey", "NotFound"):
            return False
        raise
    there = head.get("ChecksumSHA256", "")
    recorded = written["archive"].get("checksum", there)
    if (there, properties["Digest"]) != (recorded, written["digest"]):
        raise RuntimeError(
            f"s3://{bucket}/{key} has the SHA-256 {there or 'of no builder'}, and its manifest "
            f"records {recorded} of the digest {written['digest']}: somebody has replaced it. "
            "Delete both, and deploy again"
        )
    return True


def _start(event: dict[str, Any], *, attempt: int) -> "BuildTypeDef":
    """Start a build; the same attempt within five minutes is the same build, by the token."""
    properties, deadline = event["ResourceProperties"], event["Deadline"]
    variables = {name: properties[key] for name, key in VARIABLES.items() if properties.get(key)}
    variables |= {DEADLINE: str(deadline), REQUEST: event["RequestId"]}
    return boto3.client("codebuild").start_build(
        projectName=os.environ["PROJECT"],
        idempotencyToken=f"{event['RequestId']}-{deadline}-{attempt}",
        secondarySourcesOverride=[
            {"type": "S3", "location": properties["Source"], "sourceIdentifier": "model"}
        ],
        environmentVariablesOverride=[
            {"name": name, "value": value, "type": "PLAINTEXT"} for name, value in variables.items()
        ],
    )["build"]


def _is_transient(error: Exception) -> bool:
    """Return whether the same call may succeed later."""
    if not isinstance(error, ClientError):
        return True  # no connection, or none that lasted
    code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
    if code == "AccountLimitExceededException":
        return NO_QUOTA not in message
    return "Throttl" in code or error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500


def _unfinished(properties: dict[str, str], state: str) -> str:
    return (
        f"After {properties['WaitMinutes']} minutes, {properties['Model']} {state}. {KEPT} "
        "Run make deliver to keep waiting: CloudFormation cannot wait longer."
    )


def _failure(model: str, build: "BuildTypeDef") -> str:
    status = build["buildStatus"].replace("_", " ").lower()
    reason = _pull_failure(build) or _last_error(build) or _failed_phase(build)
    log = build.get("logs", {}).get("deepLink", "in CodeBuild")
    return f"Build of {model} {status}{reason[:LONGEST_REASON]}. Log: {log} . {KEPT}"


def _pull_failure(build: "BuildTypeDef") -> str:
    """Return why the image could not be pulled, nothing where it was."""
    for phase in build.get("phases", []):
        for context in phase.get("contexts", []):
            if context.get("statusCode") == PULL_FAILED:
                return f", its image could not be pulled: {context.get('message', '')}"
    return ""


def _last_error(build: "BuildTypeDef") -> str:
    """Return the last error in the build's log, or an empty text."""
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
    for phase in build.get("phases", []):
        if phase.get("phaseStatus") not in (None, "SUCCEEDED"):
            reasons = [f": {context['message']}" for context in phase.get("contexts", ())[:1]]
            return "".join([f" in phase {phase['phaseType']}", *reasons])
    return ""
