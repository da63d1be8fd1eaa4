"""The log groups of an endpoint."""

from collections.abc import Mapping
from types import MappingProxyType

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs
from constructs import Construct

from platform_facts.rules.names import component_log_group, log_group, metrics_log_group

METRICS_RETENTION = logs.RetentionDays.ONE_WEEK
"""Retention of the log of Triton's metrics, which CloudWatch extracts on arrival."""


class EndpointLog(Construct):
    """The log group of an endpoint's containers.

    SageMaker determines the name (developer guide, logging-cloudwatch). The execution role may
    create the group too (`LOG_ACTIONS`), so that an instance that is being terminated can create a
    deleted group again with its last log lines. The next deploy then fails, because the name
    exists, and its error names the group to delete.

    `metrics` adds a second group, for Triton's own metrics (`PublishedMetrics`). `components` maps
    models to the names of their inference components; each component has a group.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        endpoint_name: str,
        retention: logs.RetentionDays = logs.RetentionDays.THREE_MONTHS,
        metrics: bool = False,
        components: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(scope, construct_id)
        self.group = self._group("Group", log_group(endpoint_name), retention)
        self.node.default_child = self.group.node.default_child
        for model, component in components.items():
            self._group(f"Component-{model}", component_log_group(component), retention)
        if metrics:
            self._group("Metrics", metrics_log_group(endpoint_name), METRICS_RETENTION)

    def _group(self, construct_id: str, name: str, retention: logs.RetentionDays) -> logs.LogGroup:
        return logs.LogGroup(
            self,
            construct_id,
            log_group_name=name,
            removal_policy=RemovalPolicy.DESTROY,
            retention=retention,
        )
