"""Custom resource handlers of `ModelBuilder`: start a CodeBuild build, and say how it goes."""

import os
from typing import TYPE_CHECKING, Any

import boto3
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
    "BUILD_REQUIREMENTS": "Requirements",
}
"""Variable of a build -> the resource's property that it is set to."""

KEPT = "The endpoint and its archives are as they were."


def on_event(event: dict[str, Any], _context: object) -> dict[str, str]:
    """Start the build, unless the archive is there; CloudFormation's Delete keeps the archive."""
    wanted = event["ResourceProperties"]
    answer = {"PhysicalResourceId": event.get("PhysicalResourceId") or f"model/{wanted['Model']}"}
    if event["RequestType"] == "Delete" or _is_built(wanted["Bucket"], wanted["Key"]):
        return answer
    build = boto3.client("codebuild").start_build(
        projectName=os.environ["PROJECT"],
        idempotencyToken=event["RequestId"],
        environmentTypeOverride=wanted["EnvironmentType"],
        computeTypeOverride=wanted["ComputeType"],
        imageOverride=wanted["Image"],
        secondarySourcesOverride=[
            {"type": "S3", "location": wanted["Source"], "sourceIdentifier": "model"}
        ],
        environmentVariablesOverride=[
            {"name": name, "value": wanted[key], "type": "PLAINTEXT"}
            for name, key in VARIABLES.items()
            if wanted[key]
        ],
    )["build"]
    return {**answer, "BuildId": build["id"]}


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
    """Return whether the build has succeeded; raise with its reason and log when it has not."""
    if "BuildId" not in event:
        return {"IsComplete": True}
    builds = boto3.client("codebuild").batch_get_builds(ids=[event["BuildId"]])["builds"]
    if not builds:
        raise RuntimeError(f"CodeBuild knows no build {event['BuildId']}. {KEPT}")
    (build,) = builds
    if build["buildStatus"] == "IN_PROGRESS":
        return {"IsComplete": False}
    if build["buildStatus"] == "SUCCEEDED":
        return {"IsComplete": True}
    raise RuntimeError(_failure(event["ResourceProperties"]["Model"], build))


def _failure(model: str, build: "BuildTypeDef") -> str:
    phases = build.get("phases", [])
    failed = [phase for phase in phases if phase.get("phaseStatus") not in (None, "SUCCEEDED")]
    reason = "".join(
        f" in phase {phase['phaseType']}"
        + "".join(f": {context['message']}" for context in phase.get("contexts", ())[:1])
        for phase in failed[:1]
    )
    log = build.get("logs", {}).get("deepLink", "in CodeBuild")
    way_out = ""
    if build["buildStatus"] == "TIMED_OUT":
        way_out = (
            " A deploy cannot wait longer: start this build again in CodeBuild with a longer "
            "time-out, then deploy; the archive is found and nothing is built."
        )
    status = build["buildStatus"].replace("_", " ").lower()
    return f"Build of {model} {status}{reason}. Log: {log} . {KEPT}{way_out}"
