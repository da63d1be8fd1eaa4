"""Names for resources in the ledger, and their ARNs."""

from typing import NamedTuple


class Named(NamedTuple):
    """A resource in a stack; `resource` is its logical id without the CDK's hash.

    `arn` is a pattern, because CloudFormation generates the end of its name; `label` is its name in
    docs/permissions.md; `stack` is the stack's name without the stage's.
    """

    resource: str
    arn: str
    label: str
    stack: str = "models"


def _named(resource: str, service: str, name: str, label: str, stack: str = "models") -> Named:
    arn = f"arn:{{partition}}:{service}:{{region}}:{{account}}:{name}"
    return Named(resource, arn, label, stack)


def _bucket(resource: str, label: str, stack: str = "models") -> Named:
    name = f"{{stage}}-{stack}-{resource.lower()}*"
    return Named(resource, f"arn:{{partition}}:s3:::{name}", label, stack)


def _function(resource: str, label: str, name: str | None = None) -> Named:
    """Return a function; without `name`, CloudFormation generates the end of its name."""
    name = name or f"{resource}*"
    return _named(resource, "lambda", f"function:{{stage}}-models-{name}", label)


def _log(resource: str, label: str) -> Named:
    return _named(resource, "logs", f"log-group:{{stage}}-models-{resource}*", label)


def _project(resource: str, label: str) -> Named:
    # The generated name has no stack name, as in issues of aws-cdk; no page documents it.
    return _named(resource, "codebuild", f"project/{resource}*", label)


def _waiter(provider: str, label: str) -> Named:
    resource = f"{provider}waiterstatemachine"
    return _named(resource, "states", f"stateMachine:*{resource}*", label)


NAMED_RESOURCES = {
    "access_logs": _bucket("ModelsAccessLogs", "access log bucket"),
    "alarm_key": _named("AlarmsKey", "kms", "key/*", "alarm topic key"),
    "alarm_topic": _named("AlarmsTopic", "sns", "{stage}-alarms", "alarm topic"),
    "builder": _project("BuilderProject", "build project"),
    "builder_log": _log("BuilderProjectLog", "build log"),
    "capture_bucket": _bucket("CapturedBucket", "data capture bucket", "capture"),
    "capture_key": _named("CapturedKey", "kms", "key/*", "data capture key", "capture"),
    "capture_logs": _bucket("CapturedAccessLogs", "data capture access log bucket", "capture"),
    "checks": _function("UpdateChecksOnEvent", "update check function"),
    "checks_is_complete": _function(
        "UpdateChecksProviderframeworkisComplete", "update check provider: isComplete function"
    ),
    "checks_log": _log("UpdateChecksOnEventLog", "update check log"),
    "checks_on_timeout": _function(
        "UpdateChecksProviderframeworkonTimeout", "update check provider: onTimeout function"
    ),
    "checks_provider_log": _log("UpdateChecksProviderLog", "update check provider log"),
    "checks_waiter": _waiter("UpdateChecksProvider", "update check provider: state machine"),
    "engines": _project("EnginesProject", "engine build project"),
    "engines_log": _log("EnginesProjectLog", "engine build log"),
    "is_complete": _function(
        "BuilderProviderframeworkisComplete", "build provider: isComplete function"
    ),
    "model_bucket": _bucket("ModelsBucket", "model bucket"),
    "model_key": _named("ModelsKey", "kms", "key/*", "model bucket key"),
    "on_timeout": _function(
        "BuilderProviderframeworkonTimeout", "build provider: onTimeout function"
    ),
    "poll": _function("BuilderPoll", "build poll function", "poll-build"),
    "poll_log": _log("BuilderPollLog", "build poll log"),
    "provider_log": _log("BuilderProviderLog", "build provider log"),
    "start": _function("BuilderOnEvent", "build start function", "start-build"),
    "start_log": _log("BuilderOnEventLog", "build start log"),
    "vpc": _named("Vpc", "ec2", "vpc/*", "network", "network"),
    "waiter": _waiter("BuilderProvider", "build provider: state machine"),
}
"""Name in the ledger -> the resource."""
