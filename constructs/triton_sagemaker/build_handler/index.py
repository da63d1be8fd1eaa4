"""Custom resource handlers of `ModelBuilder`: start a CodeBuild build and wait for its archive."""

import json
import os
import re
import time
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import boto3
from botocore import exceptions
from botocore.exceptions import ClientError

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
"""Environment variable of a build -> property of the custom resource."""

DEADLINE_VARIABLE = "BUILD_DEADLINE"
"""Variable with the time until which the build waits for engines, in seconds since 1970."""

REQUEST_VARIABLE = "BUILD_REQUEST"
"""Variable with the ID of the CloudFormation request that started the build."""

GRACE_SECONDS = 120
"""Time after the deadline in which a build can still end and report an error."""

MAX_REASON_LENGTH = 1000
"""The response of a custom resource to CloudFormation is limited to 4 KiB."""

PULL_FAILED = "BUILD_CONTAINER_UNABLE_TO_PULL_IMAGE"
"""Status code of a phase in which CodeBuild could not pull the image (aws/aws-cdk#10460)."""

MAX_ATTEMPTS = 2
"""Maximum builds of one archive: a second only if CodeBuild could not pull the image."""

NO_QUOTA = "more than 0 builds in queue"
"""Part of CodeBuild's message if the account's quota is 0 builds: a retry does not help
(rebuy-de/aws-nuke#1209, aws-ia/terraform-aws-control_tower_account_factory#179)."""

UNCHANGED = "The endpoint and its archives are unchanged."

ARCHIVE_KEY = "{endpoint}/{target}/{model}-{digest:.12}.tar.gz"
"""S3 key of an archive; `digest` is the digest of the model's source."""


def on_event(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Return the deadline of the build. A Delete request has no deadline and keeps the archive."""
    properties = event["ResourceProperties"]
    physical_id = event.get("PhysicalResourceId") or f"model/{properties['Model']}"
    if event["RequestType"] == "Delete":
        return {"PhysicalResourceId": physical_id}
    _validate_key_and_source(properties)
    # Rounded to minutes: Lambda may deliver an event twice, and both must start the same build.
    deadline = 60 * (int(time.time()) // 60 + int(properties["WaitMinutes"]))
    return {"PhysicalResourceId": physical_id, "Deadline": deadline}


def is_complete(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Return whether the archive exists. Raise `RuntimeError` if its build failed or timed out.

    The provider framework fails the resource on any error, so transient errors, such as a full
    build queue, only wait for the next poll. Callers other than the framework can add `BuildId` of
    the response to the next event, which then needs no search for the build.
    """
    if "Deadline" not in event:
        return {"IsComplete": True}
    build_id: dict[str, str] = {}
    try:
        build = _newest_build(event)
    except (ClientError, exceptions.HTTPClientError, exceptions.ConnectionError) as error:
        if not _is_transient(error):
            raise
        state = f"is still waiting to start: {error}"
    else:
        if build is None or build["buildStatus"] == "SUCCEEDED":
            return {"IsComplete": True}
        if build["buildStatus"] != "IN_PROGRESS":
            raise RuntimeError(_failure_message(event["ResourceProperties"]["Model"], build))
        build_id, state = {"BuildId": build["id"]}, f"is still building: {build['id']}"
    if time.time() > event["Deadline"] + GRACE_SECONDS:
        raise RuntimeError(_timeout_message(event["ResourceProperties"], state))
    return {"IsComplete": False, **build_id}


def _newest_build(event: dict[str, Any]) -> "BuildTypeDef | None":
    """Return the newest build of the event, started if necessary; None if the archive exists."""
    properties = event["ResourceProperties"]
    _validate_key_and_source(properties)
    builds = _find_builds(event)
    if not builds and _is_built(properties):
        return None
    if not builds or (len(builds) < MAX_ATTEMPTS and _pull_error(builds[0])):
        return _start_build(event, attempt=len(builds) + 1)
    return builds[0]


def _find_builds(event: dict[str, Any]) -> "list[BuildTypeDef]":
    """Return the builds that were started for an event, newest first."""
    codebuild = boto3.client("codebuild")
    if "BuildId" in event:
        builds = codebuild.batch_get_builds(ids=[event["BuildId"]])["builds"]
        if not builds:
            raise RuntimeError(f"CodeBuild has no build {event['BuildId']}. {UNCHANGED}")
        if not _pull_error(builds[0]):
            return builds
    # The provider framework passes the same event to each poll: a build of an earlier poll can
    # only be found by its variables. The default order is newest first; with an explicit order the
    # call fails for more than 100 builds (API reference, ListBuildsForProject).
    start = event["Deadline"] - 60 * int(event["ResourceProperties"]["WaitMinutes"])
    event_builds: list[BuildTypeDef] = []
    pages = codebuild.get_paginator("list_builds_for_project")
    for page in pages.paginate(projectName=os.environ["PROJECT"]):
        ids = page.get("ids")
        builds = codebuild.batch_get_builds(ids=ids)["builds"] if ids else []
        event_builds += [
            build
            for build in builds
            if _environment(build).get(REQUEST_VARIABLE) == event["RequestId"]
        ]
        if any(build["startTime"].timestamp() < start for build in builds):
            break
    return sorted(event_builds, key=lambda build: build["startTime"], reverse=True)


def _environment(build: "BuildTypeDef") -> dict[str, str]:
    variables = build["environment"].get("environmentVariables", [])
    return {variable["name"]: variable["value"] for variable in variables}


def _validate_key_and_source(properties: dict[str, str]) -> None:
    """Raise `RuntimeError` unless key and source match the model and its digest.

    The caller controls the event: any other source would run with the builder's permissions, and
    another key could replace another model's archive. The build verifies the digest of the source.
    """
    key, digest, bucket = properties["Key"], properties["Digest"], os.environ["BUCKET"]
    expected = ARCHIVE_KEY.format(
        endpoint=key.partition("/")[0],
        target=properties["Target"],
        model=properties["Model"],
        digest=digest,
    )
    is_well_formed = re.fullmatch("[0-9a-f]{64}", digest) and key.count("/") == 2
    if properties["Bucket"] != bucket or key != expected or not is_well_formed:
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
    """Return whether the archive is complete: it has a manifest with the same checksum.

    Builders write the manifest last. Manifests of older versions have no checksum.
    """
    s3, bucket, key = boto3.client("s3"), properties["Bucket"], properties["Key"]
    manifest_key = key.removesuffix(".tar.gz") + ".json"
    try:
        manifest = json.loads(s3.get_object(Bucket=bucket, Key=manifest_key)["Body"].read())
        head = s3.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
    except ClientError as error:
        if error.response["Error"]["Code"] in ("404", "NoSuchKey", "NotFound"):
            return False
        raise
    checksum = head.get("ChecksumSHA256", "")
    recorded = manifest["archive"].get("checksum", checksum)
    if (checksum, properties["Digest"]) != (recorded, manifest["digest"]):
        raise RuntimeError(
            f"s3://{bucket}/{key} has the SHA-256 {checksum or '(none)'}, and its manifest "
            f"records {recorded} of the digest {manifest['digest']}: the archive was replaced. "
            "Delete both, and deploy again"
        )
    return True


def _start_build(event: dict[str, Any], *, attempt: int) -> "BuildTypeDef":
    """Start a build; idempotent for one attempt within five minutes, by the token."""
    properties, deadline = event["ResourceProperties"], event["Deadline"]
    variables = {name: properties[key] for name, key in VARIABLES.items() if properties.get(key)}
    variables |= {DEADLINE_VARIABLE: str(deadline), REQUEST_VARIABLE: event["RequestId"]}
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
        return True  # a connection error
    code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
    if code == "AccountLimitExceededException":
        return NO_QUOTA not in message
    return "Throttl" in code or error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500


def _timeout_message(properties: dict[str, str], state: str) -> str:
    return (
        f"After {properties['WaitMinutes']} minutes, {properties['Model']} {state}. {UNCHANGED} "
        "Run make deliver to keep waiting: CloudFormation cannot wait longer."
    )


def _failure_message(model: str, build: "BuildTypeDef") -> str:
    status = build["buildStatus"].replace("_", " ").lower()
    reason = _pull_error(build) or _last_error(build) or _failed_phase(build)
    log = build.get("logs", {}).get("deepLink", "in CodeBuild")
    return f"Build of {model} {status}{reason[:MAX_REASON_LENGTH]}. Log: {log} . {UNCHANGED}"


def _pull_error(build: "BuildTypeDef") -> str:
    """Return the reason that the image could not be pulled, or an empty string."""
    for phase in build.get("phases", []):
        for context in phase.get("contexts", []):
            if context.get("statusCode") == PULL_FAILED:
                return f", its image could not be pulled: {context.get('message', '')}"
    return ""


def _last_error(build: "BuildTypeDef") -> str:
    """Return the last error in the build's log, or an empty string."""
    log = build.get("logs", {})
    if "groupName" not in log or "streamName" not in log:
        return ""  # the build never ran
    try:
        events = boto3.client("logs").get_log_events(
            logGroupName=log["groupName"], logStreamName=log["streamName"], startFromHead=False
        )["events"]
    except ClientError:  # the log is optional in the error message
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
