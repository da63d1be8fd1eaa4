"""Error messages of failed GPU builds in CodeBuild."""

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from model_build.errors import BuildError

if TYPE_CHECKING:
    from mypy_boto3_codebuild.type_defs import BuildTypeDef

REQUEST_QUOTA = (
    'ask AWS for the CodeBuild quota "Concurrently running builds for Linux GPU Small/environment"'
)


class ImageNotPulled(BuildError):
    """CodeBuild could not pull the image of a build."""


PULL_FAILED = "BUILD_CONTAINER_UNABLE_TO_PULL_IMAGE"
"""Status code of a build phase whose image could not be pulled (aws/aws-cdk#10460)."""
NO_QUOTA = "more than 0 builds in queue"
"""Part of CodeBuild's message if the account's quota is 0
(rebuy-de/aws-nuke#1209, aws-ia/terraform-aws-control_tower_account_factory#179)."""
_LOG_EVENTS = 100


def gpu_failure(build_id: str, record: "BuildTypeDef", logs: Any) -> BuildError:
    """Return the error of a failed build; `logs` is a client of CloudWatch Logs."""
    status = record.get("buildStatus", "UNKNOWN").replace("_", " ").lower()
    phase, code, message = _failed_phase(record)
    if phase == "QUEUED":
        return BuildError(
            f"{build_id} {status}: no GPU machine was free in time. Deploy again, or "
            f"{REQUEST_QUOTA}"
        )
    if code == PULL_FAILED:
        return ImageNotPulled(
            f"{build_id} {status}, its image could not be pulled: {message}. NVIDIA's registry "
            "limits pulls per IP address: deploy again later, or mirror the image "
            "(gpu_build_images in the stage's file)"
        )
    if record.get("buildStatus") == "STOPPED":
        return BuildError(
            f"{build_id} was stopped{f' in phase {phase}' if phase else ''}: deliver or publish "
            "again, which compiles the engine again. CloudTrail shows who called StopBuild"
        )
    reason = _error_line(record, logs) or message
    if phase == "PROVISIONING":
        reason += (
            " (AWS has no GPU machine available, or its driver is too old for the image: deploy "
            "again later; if the error persists, choose an older Triton release)"
        )
    log = record.get("logs", {}).get("deepLink", "in CodeBuild")
    return BuildError(
        f"{build_id} {status}{f' in phase {phase}' if phase else ''}: {reason}. Log: {log}"
    )


def _failed_phase(record: "BuildTypeDef") -> tuple[str, str, str]:
    """Return the first failed phase, and the status code and message of its context."""
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
    """Return the last error line in the build's log, or an empty string."""
    log = record.get("logs", {})
    if not log.get("groupName") or not log.get("streamName"):
        return ""
    try:
        events = logs.get_log_events(
            logGroupName=log["groupName"],
            logStreamName=log["streamName"],
            startFromHead=False,
            limit=_LOG_EVENTS,
        )["events"]
    except ClientError:  # no log, or access denied: the phase's message is shown instead
        return ""
    lines = [line for event in events for line in event["message"].splitlines()]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return str(errors[-1].strip()) if errors else ""
