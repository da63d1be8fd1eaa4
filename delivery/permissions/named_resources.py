"""Names for resources in the ledger, and their ARNs."""

from typing import NamedTuple


class NamedResource(NamedTuple):
    """A resource in a stack.

    `logical_id` lacks the hash that the CDK appends. `arn` is a pattern, because CloudFormation
    generates the end of the name. `label` is the name in the printed ledger. `stack` lacks the
    name of the stage.
    """

    logical_id: str
    arn: str
    label: str
    stack: str = "models"


def _named(
    logical_id: str, service: str, name: str, label: str, stack: str = "models"
) -> NamedResource:
    arn = f"arn:{{partition}}:{service}:{{region}}:{{account}}:{name}"
    return NamedResource(logical_id, arn, label, stack)


def _bucket(logical_id: str, label: str, stack: str = "models") -> NamedResource:
    name = f"{{stage}}-{stack}-{logical_id.lower()}*"
    return NamedResource(logical_id, f"arn:{{partition}}:s3:::{name}", label, stack)


def _function(logical_id: str, label: str, name: str | None = None) -> NamedResource:
    """Return a Lambda function; without `name`, CloudFormation generates the end of the name."""
    name = name or f"{logical_id}*"
    return _named(logical_id, "lambda", f"function:{{stage}}-models-{name}", label)


def _log(logical_id: str, label: str) -> NamedResource:
    return _named(logical_id, "logs", f"log-group:{{stage}}-models-{logical_id}*", label)


def _project(logical_id: str, label: str) -> NamedResource:
    # The generated name has no stack name; the source is issues of aws-cdk, not a page of AWS.
    return _named(logical_id, "codebuild", f"project/{logical_id}*", label)


def _waiter(provider: str, label: str) -> NamedResource:
    logical_id = f"{provider}waiterstatemachine"
    return _named(logical_id, "states", f"stateMachine:*{logical_id}*", label)


NAMED_RESOURCES = {
    "access_logs": _bucket("ModelsAccessLogs", "access log bucket"),
    "alarm_key": _named("AlarmsKey", "kms", "key/*", "alarm topic key"),
    "alarm_topic": _named("AlarmsTopic", "sns", "{stage}-alarms", "alarm topic"),
    "builder": _project("BuilderProject", "build project"),
    "builder_log": _log("BuilderProjectLog", "build log"),
    "capture_bucket": _bucket("CapturedBucket", "data capture bucket", "capture"),
    "capture_key": _named("CapturedKey", "kms", "key/*", "data capture key", "capture"),
    "capture_logs": _bucket("CapturedAccessLogs", "data capture access log bucket", "capture"),
    "catalog_provider_log": _log("CatalogWriterProviderLog", "catalog provider log"),
    "catalog_writer": _function("CatalogWriterOnEvent", "catalog function"),
    "catalog_writer_log": _log("CatalogWriterOnEventLog", "catalog log"),
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
