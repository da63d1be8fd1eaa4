"""The names in the ledger's resources, and their ARNs."""

from typing import NamedTuple


class Named(NamedTuple):
    """A resource in a stack; `resource` is its logical id without the CDK's hash.

    `arn` is a pattern of its ARN, because CloudFormation completes its name; `what` describes it to
    readers; `stack` is the stack's name without the stage's.
    """

    resource: str
    arn: str
    what: str
    stack: str = "models"


def _named(resource: str, service: str, name: str, what: str, stack: str = "models") -> Named:
    arn = f"arn:{{partition}}:{service}:{{region}}:{{account}}:{name}"
    return Named(resource, arn, what, stack)


def _bucket(resource: str, what: str, stack: str = "models") -> Named:
    name = f"{{stage}}-{stack}-{resource.lower()}*"
    return Named(resource, f"arn:{{partition}}:s3:::{name}", what, stack)


def _function(resource: str, what: str, name: str | None = None) -> Named:
    """Return a function; without `name`, CloudFormation completes its name."""
    name = name or f"{resource}*"
    return _named(resource, "lambda", f"function:{{stage}}-models-{name}", what)


def _log(resource: str, what: str) -> Named:
    return _named(resource, "logs", f"log-group:{{stage}}-models-{resource}*", what)


def _project(resource: str, what: str) -> Named:
    # Without the stack's name, as in issues of aws-cdk; no page documents it.
    return _named(resource, "codebuild", f"project/{resource}*", what)


def _waiter(provider: str, what: str) -> Named:
    resource = f"{provider}waiterstatemachine"
    return _named(resource, "states", f"stateMachine:*{resource}*", what)


NAMED = {
    "access_logs": _bucket("ModelsAccessLogs", "bucket of access logs"),
    "alarm_key": _named("AlarmsKey", "kms", "key/*", "key of the topic of alarms"),
    "alarm_topic": _named("AlarmsTopic", "sns", "{stage}-alarms", "topic of alarms"),
    "builder": _project("BuilderProject", "project that builds"),
    "builder_log": _log("BuilderProjectLog", "log of builds"),
    "capture_bucket": _bucket("CapturedBucket", "bucket of recorded requests", "capture"),
    "capture_key": _named("CapturedKey", "kms", "key/*", "key of recorded requests", "capture"),
    "capture_logs": _bucket("CapturedAccessLogs", "their access logs", "capture"),
    "checks": _function("UpdateChecksOnEvent", "function that checks"),
    "checks_is_complete": _function(
        "UpdateChecksProviderframeworkisComplete", "checks' provider's that polls"
    ),
    "checks_log": _log("UpdateChecksOnEventLog", "log of checks"),
    "checks_on_timeout": _function(
        "UpdateChecksProviderframeworkonTimeout", "checks' provider's that gives up"
    ),
    "checks_provider_log": _log("UpdateChecksProviderLog", "log of checks' provider"),
    "checks_waiter": _waiter("UpdateChecksProvider", "checks' provider's state machine"),
    "engines": _project("EnginesProject", "project that compiles"),
    "engines_log": _log("EnginesProjectLog", "log of engine builds"),
    "is_complete": _function("BuilderProviderframeworkisComplete", "provider's that polls"),
    "model_bucket": _bucket("ModelsBucket", "bucket of archives"),
    "model_key": _named("ModelsKey", "kms", "key/*", "key of archives"),
    "on_timeout": _function("BuilderProviderframeworkonTimeout", "provider's that gives up"),
    "poll": _function("BuilderPoll", "function that watches builds", "poll-build"),
    "poll_log": _log("BuilderPollLog", "log of what watches builds"),
    "provider_log": _log("BuilderProviderLog", "log of builds' provider"),
    "start": _function("BuilderOnEvent", "function that starts builds", "start-build"),
    "start_log": _log("BuilderOnEventLog", "log of what starts builds"),
    "vpc": _named("Vpc", "ec2", "vpc/*", "network of private stages", "network"),
    "waiter": _waiter("BuilderProvider", "provider's state machine"),
}
"""Name in the ledger -> the resource."""
