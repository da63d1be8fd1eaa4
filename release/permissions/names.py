"""The names in the ledger's resources, and which ARNs they stand for."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from release.permissions.ledger import Condition


class Named(NamedTuple):
    """A resource of the models' stack or the delivery's, with a logical id without its hash.

    `arn` is its ARN as far as it is known before CloudFormation completes its name; `what` is for
    readers.
    """

    stack: str
    resource: str
    arn: str
    what: str


_OWN = "{region}:{account}"

NAMED = {
    "model_bucket": Named(
        "models",
        "ModelsBucket",
        "arn:{partition}:s3:::{stage}-models-modelsbucket*",
        "bucket of archives",
    ),
    "model_key": Named(
        "models", "ModelsKey", f"arn:{{partition}}:kms:{_OWN}:key/*", "key of archives"
    ),
    "access_logs": Named(
        "models",
        "ModelsAccessLogs",
        "arn:{partition}:s3:::{stage}-models-modelsaccesslogs*",
        "bucket of access logs",
    ),
    **{
        name: Named(
            "models",
            resource,
            f"arn:{{partition}}:{service}:{_OWN}:{kind}{{stage}}-models-{resource}*",
            what,
        )
        for name, service, kind, resource, what in (
            ("builder", "codebuild", "project/", "BuilderProject", "project that builds"),
            ("engines", "codebuild", "project/", "EnginesProject", "project that compiles"),
            ("builder_log", "logs", "log-group:", "BuilderProjectLog", "log of builds"),
            ("engines_log", "logs", "log-group:", "EnginesProjectLog", "log of engine builds"),
            ("start_log", "logs", "log-group:", "BuilderOnEventLog", "log of what starts builds"),
            ("poll_log", "logs", "log-group:", "BuilderPollLog", "log of what watches builds"),
            ("provider_log", "logs", "log-group:", "BuilderProviderLog", "log of builds' provider"),
            ("checks_log", "logs", "log-group:", "UpdateChecksOnEventLog", "log of checks"),
            (
                "checks_provider_log",
                *("logs", "log-group:", "UpdateChecksProviderLog", "log of checks' provider"),
            ),
            ("start", "lambda", "function:", "BuilderOnEvent", "function that starts builds"),
            ("poll", "lambda", "function:", "BuilderPoll", "function that watches builds"),
            ("checks", "lambda", "function:", "UpdateChecksOnEvent", "function that checks"),
            (
                "is_complete",
                *("lambda", "function:", "BuilderProviderframeworkisComplete"),
                "provider's function that polls",
            ),
            (
                "on_timeout",
                *("lambda", "function:", "BuilderProviderframeworkonTimeout"),
                "provider's function that gives up",
            ),
            (
                "waiter",
                *("states", "stateMachine:", "BuilderProviderwaiterstatemachine"),
                "provider's state machine",
            ),
        )
    },
    "alarm_topic": Named(
        "models", "AlarmsTopic", f"arn:{{partition}}:sns:{_OWN}:{{stage}}-alarms", "topic of alarms"
    ),
    "alarm_key": Named(
        "models", "AlarmsKey", f"arn:{{partition}}:kms:{_OWN}:key/*", "key of the topic of alarms"
    ),
}
"""Name in the ledger -> what it stands for."""

Names = Mapping[str, str]
"""Name in the ledger -> ARN, or what else stands there."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the ledger is to hold.

    `suffix` ends the names of the partition's services, `endpoint` is the short name of one
    endpoint of the stage, `source_stage` the stage that archives are promoted from, `registry` the
    account of the region's images, `engines_source` the asset that compiles engines.
    """

    partition: str = "aws"
    suffix: str = "amazonaws.com"
    region: str
    account: str
    stage: str
    endpoint: str = "*"
    source_stage: str = "*"
    registry: str = "*"
    engines_source: str = "*"

    def names(self, resources: Names) -> dict[str, str]:
        """Return all names: those of the place itself, and `resources` by the names of `NAMED`."""
        return {**vars(self), **resources}


def by_name(place: Place) -> dict[str, str]:
    """Return the names of a place, resources as patterns that their ARNs fit."""
    return place.names({name: it.arn.format(**vars(place)) for name, it in NAMED.items()})


def filled(text: str, names: Names) -> str | None:
    """Return a text of the ledger with ARNs for names; None where one of them is not there."""
    wanted = re.findall(r"\{(\w+)\}", text)
    return None if set(wanted) - names.keys() else text.format(**names)


def filled_condition(condition: Condition, names: Names) -> dict[str, dict[str, list[str]]]:
    """Return a condition with values for names, each a list."""
    return {
        operator: {
            key: [it.format(**names) for it in ([value] if isinstance(value, str) else value)]
            for key, value in keys.items()
        }
        for operator, keys in condition.items()
    }
