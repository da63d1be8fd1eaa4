"""Why a GPU build of CodeBuild has failed."""

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from model_build.errors import BuildError

if TYPE_CHECKING:
    from mypy_boto3_codebuild.type_defs import BuildTypeDef

QUOTA = (
    'ask AWS for the CodeBuild quota "Concurrently running builds for Linux GPU Small/environment"'
)
PULL_FAILED = "BUILD_CONTAINER_UNABLE_TO_PULL_IMAGE"
"""Status code of a phase in which CodeBuild could not pull the image (aws/aws-cdk#10460)."""
NO_QUOTA = "more than 0 builds in queue"
"""In CodeBuild's message to accounts that may run no such build at all
(rebuy-de/aws-nuke#1209, aws-ia/terraform-aws-control_tower_account_factory#179)."""
LOG_EVENTS = 100


def gpu_failure(build: str, record: "BuildTypeDef", logs: Any) -> BuildError:
    """Return the error of a build that has failed; `logs` is a client of CloudWatch Logs."""
    status = record.get("buildStatus", "UNKNOWN").replace("_", " ").lower()
    phase, code, message = _failed_phase(record)
    if phase == "QUEUED":
        return BuildError(
            f"{build} {status}: no GPU machine was free in time. Deploy again, or {QUOTA}"
        )
    if code == PULL_FAILED:
        return BuildError(
            f"{build} {status}, its image could not be pulled: {message}. NVIDIA's registry "
            "refuses addresses that many share: deploy again later, or mirror the image "
            "(gpu_build_images in the stage's file)"
        )
    if record.get("buildStatus") == "STOPPED":
        return BuildError(
            f"{build} was stopped{f' in phase {phase}' if phase else ''}: deliver or publish "
            "again, which compiles the engine anew. CloudTrail has who stopped it, as StopBuild"
        )
    reason = _error_line(record, logs) or message
    if phase == "PROVISIONING":
        reason += (
            " (AWS has no such machine now, or its driver is too old for the image: deploy again "
            "later; if it stays so, choose an older Triton release)"
        )
    log = record.get("logs", {}).get("deepLink", "in CodeBuild")
    return BuildError(
        f"{build} {status}{f' in phase {phase}' if phase else ''}: {reason}. Log: {log}"
    )


def _failed_phase(record: "BuildTypeDef") -> tuple[str, str, str]:
    """Return the first phase that failed, and the status code and message of its context."""
    for phase in record.get("phases", ()):
        if phase.get("phaseStatus") not in (None, "SUCCEEDED"):
            contexts = phase.get("contexts", ())
            context = contexts[0] if contexts else {}
            return (
                phase.get("phaseType", ""),
                context.get("statusCode", ""),
                context.get("message", ""),
            )
    return "", "", ""


def _error_line(record: "BuildTypeDef", logs: Any) -> str:
    """Return the last error that the step wrote to its log."""
    place = record.get("logs", {})
    if not place.get("groupName") or not place.get("streamName"):
        return ""
    try:
        events = logs.get_log_events(
            logGroupName=place["groupName"],
            logStreamName=place["streamName"],
            startFromHead=False,
            limit=LOG_EVENTS,
        )["events"]
    except ClientError:  # no log, or not allowed: the phase's own words are there
        return ""
    lines = [line for event in events for line in event["message"].splitlines()]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return str(errors[-1].strip()) if errors else ""
