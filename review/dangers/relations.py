"""Dangers of two numbers of one stage, of which each alone looks harmless.

Such as a wait that ends before the alarm that it waits for can go off. A relation is a danger only
if the change breaks it.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from review.amounts import duration
from review.comparison import Comparison
from review.dangers.danger import Danger, digest
from review.files.readers import read_structure
from review.references import Place, StageResources
from review.values import construct_path, format_value

CLOUDFORMATION_SECONDS = 3600
"""The default and maximum of ServiceTimeout (template reference,
AWS::CloudFormation::CustomResource)."""
FUNCTION_SECONDS = 3
"""The default of Timeout (template reference, AWS::Lambda::Function)."""
VISIBILITY_SECONDS = 30
"""The default of VisibilityTimeout (template reference, AWS::SQS::Queue)."""
UNITS = {"Minutes": 60, "Seconds": 1}
"""End of a property's name -> seconds."""


class Relation(NamedTuple):
    """Two times, of which the first may not exceed the second.

    place: stack and logical ID of the resource that waits.
    key: its property with one of the times, whose own danger the relation explains.
    """

    place: Place
    key: str
    shorter: str
    shorter_seconds: float
    longer: str
    longer_seconds: float
    rule: str
    effect: str

    @property
    def is_broken(self) -> bool:
        """Whether the first time exceeds the second."""
        return self.shorter_seconds > self.longer_seconds


def broken_relations(comparison: Comparison) -> Iterator[Danger]:
    """A change of one number breaks its relation to another one."""
    sides = [StageResources(templates) for templates in comparison.templates]
    before, after = (
        {(relation.place, relation.shorter): relation for relation in _relations(side)}
        for side in sides
    )
    for key, relation in after.items():
        old = before.get(key)
        if relation.is_broken and not (old and old.is_broken):
            (stack, logical_id), resources = relation.place, sides[1].of_stack(relation.place[0])
            full_path = construct_path(logical_id, resources)
            path = full_path.partition("/")[2] or full_path
            text = (
                f"{relation.shorter} {duration(relation.shorter_seconds)}, but {relation.longer} "
                f"{duration(relation.longer_seconds)}: {relation.effect}"
            )
            yield Danger(
                f"{stack}.{path}.{digest(text)}",
                f"{resources[logical_id]['Type']} {stack}/{path}: {text}",
                rule=relation.rule,
                group=digest(text),
                place=f"{stack}/{path}: {relation.key}",
            )


def _relations(stage: StageResources) -> Iterator[Relation]:
    for relations in RELATIONS:
        yield from relations(stage)


def _rollback_waits(stage: StageResources) -> Iterator[Relation]:
    """A step of an update waits until a rollback alarm can go off.

    An alarm goes off after DatapointsToAlarm periods (CloudWatch user guide, alarm-evaluation);
    SageMaker watches the alarms during the baking period, which is the wait (developer guide,
    deployment-guardrails-blue-green).
    """
    for (stack, logical_id), properties in stage.of_type("AWS::SageMaker::Endpoint"):
        config = properties.get("DeploymentConfig") or {}
        blue_green = config.get("BlueGreenUpdatePolicy") or {}
        policy = config.get("RollingUpdatePolicy") or blue_green.get("TrafficRoutingConfiguration")
        steps = policy or {}
        longer, wait = "each step waits", steps.get("WaitIntervalInSeconds")
        effect = f"{_step(steps)} before an alarm can roll the update back"
        if steps.get("Type") == "ALL_AT_ONCE":
            longer, wait = "the old instances stay", blue_green.get("TerminationWaitInSeconds", 0)
            effect = "they are gone before an alarm can roll the update back"
        for alarm in (config.get("AutoRollbackConfiguration") or {}).get("Alarms", ()):
            match = stage.find(stack, alarm.get("AlarmName"))
            seconds = _alarm_seconds(match[1]) if match else None
            if match and seconds and isinstance(wait, int):
                metric = match[1].get("MetricName", match[0][1])
                count = match[1].get("DatapointsToAlarm") or match[1].get("EvaluationPeriods")
                yield Relation(
                    (stack, logical_id), "DeploymentConfig",
                    f"the rollback alarm on {metric} needs {count} periods of bad data,",
                    seconds, longer, wait, "lost_rollback", effect,
                )  # fmt: skip


def _step(steps: dict[str, Any]) -> str:
    """Return what the next step does, with its size."""
    sizes = (steps.get(name) for name in ("CanarySize", "LinearStepSize", "MaximumBatchSize"))
    size = next((size for size in sizes if isinstance(size, dict)), {})
    percent = size.get("Value") if size.get("Type") == "CAPACITY_PERCENT" else None
    if steps.get("Type") == "CANARY":
        return "all traffic moves"
    if isinstance(percent, int) and steps.get("Type") == "LINEAR":
        return f"{min(2 * percent, 100)} % of the traffic has moved"
    return "the next step begins"


def _alarm_seconds(alarm: dict[str, Any]) -> float | None:
    """Return the least time of bad data until an alarm goes off, None if it is unknown."""
    count = alarm.get("DatapointsToAlarm", alarm.get("EvaluationPeriods"))
    statistics = [item.get("MetricStat") or {} for item in alarm.get("Metrics", ())]
    periods = [side.get("Period") for side in (alarm, *statistics)]
    period = max((value for value in periods if isinstance(value, int)), default=None)
    return count * period if isinstance(count, int) and period else None


def _custom_resources(stage: StageResources) -> Iterator[Relation]:
    """A custom resource waits within the time of its provider, and that within CloudFormation's.

    The CDK's provider framework polls in a state machine (aws-cdk-lib, custom_resources.Provider).
    """
    for (stack, logical_id), properties in stage.of_type("Custom::"):
        provider = stage.find(stack, properties.get("ServiceToken"))
        total = _polling_seconds(stage, provider) if provider else None
        if total is None:
            continue
        for name, value in properties.items():
            unit = next((unit for end, unit in UNITS.items() if name.endswith(end)), None)
            if unit and str(value).isdigit():
                yield Relation(
                    (stack, logical_id), name, f"{name} promises to wait", int(value) * unit,
                    "its provider polls for", total, "shrunk_protection",
                    "a deployment that takes longer fails and is rolled back",
                )  # fmt: skip
        limit = properties.get("ServiceTimeout", CLOUDFORMATION_SECONDS)
        if str(limit).isdigit():
            yield Relation(
                (stack, logical_id), "ServiceTimeout", "its provider polls for", total,
                "CloudFormation waits", int(limit), "shrunk_protection",
                "the deployment fails without the reason",
            )  # fmt: skip


def _polling_seconds(stage: StageResources, provider: tuple[Place, dict[str, Any]]) -> float | None:
    """Return the time for which the state machine of a provider polls, None without one."""
    (stack, _), properties = provider
    machine = stage.find(stack, _variables(properties).get("WAITER_STATE_MACHINE_ARN"))
    if machine is None:
        return None
    text = format_value(machine[1].get("DefinitionString"), stage.of_stack(machine[0][0]))
    definition = read_structure(text)
    states = definition.get("States") if isinstance(definition, dict) else None
    retries = [
        retry.get("IntervalSeconds", 1) * retry.get("MaxAttempts", 3)
        for state in (states.values() if isinstance(states, dict) else ())
        for retry in state.get("Retry", ())
    ]
    return max(retries, default=None)


def _variables(function: dict[str, Any]) -> dict[str, Any]:
    return (function.get("Environment") or {}).get("Variables") or {}


def _called_functions(stage: StageResources) -> Iterator[Relation]:
    """A function that waits for another one has at least the time of the other."""
    for (stack, logical_id), properties in stage.of_type("AWS::Lambda::Function"):
        for name, value in _variables(properties).items():
            callee = stage.find(stack, value)
            if callee is None or not name.endswith("_FUNCTION_ARN"):
                continue
            seconds = (side.get("Timeout", FUNCTION_SECONDS) for side in (callee[1], properties))
            called, calling = seconds
            if isinstance(called, int) and isinstance(calling, int):
                yield Relation(
                    (stack, logical_id), "Timeout", f"{callee[0][1]} may take", called,
                    "the function that waits for it has", calling, "shrunk_protection",
                    "it ends before the answer",
                )  # fmt: skip


def _queues(stage: StageResources) -> Iterator[Relation]:
    """A message stays invisible while a function handles it (SQS developer guide,
    sqs-visibility-timeout; Lambda refuses the mapping only when it is created)."""
    for (stack, logical_id), properties in stage.of_type("AWS::Lambda::EventSourceMapping"):
        queue = stage.find(stack, properties.get("EventSourceArn"))
        function = stage.find(stack, properties.get("FunctionName"))
        if queue and function:
            handling = function[1].get("Timeout", FUNCTION_SECONDS)
            invisible = queue[1].get("VisibilityTimeout", VISIBILITY_SECONDS)
            if isinstance(handling, int) and isinstance(invisible, int):
                yield Relation(
                    (stack, logical_id), "EventSourceArn", "the function may take", handling,
                    "a message is invisible for", invisible, "shrunk_protection",
                    "messages are handled twice",
                )  # fmt: skip


def _published_metrics(stage: StageResources) -> Iterator[Relation]:
    """An alarm on utilisation gets as many data points as it needs (SageMaker API reference,
    MetricsConfig, MetricPublishFrequencyInSeconds; missing data does not breach)."""
    for (stack, _), properties in stage.of_type("AWS::SageMaker::EndpointConfig"):
        metrics = properties.get("MetricsConfig") or {}
        interval = metrics.get("MetricPublishFrequencyInSeconds")
        for place, alarm in stage.of_type("AWS::CloudWatch::Alarm"):
            period = alarm.get("Period")
            points = alarm.get("DatapointsToAlarm", alarm.get("EvaluationPeriods"))
            is_utilisation = str(alarm.get("Namespace")).startswith("/aws/sagemaker")
            if not (isinstance(interval, int) and isinstance(period, int)):
                continue
            if place[0] == stack and is_utilisation and isinstance(points, int):
                yield Relation(
                    place, "Period", f"{points} data points come in", points * interval,
                    "the alarm looks at", period * alarm.get("EvaluationPeriods", 1),
                    "weakened_alarms", "it cannot go off",
                )  # fmt: skip


RELATIONS: tuple[Callable[[StageResources], Iterator[Relation]], ...] = (
    _rollback_waits,
    _custom_resources,
    _called_functions,
    _queues,
    _published_metrics,
)
