"""An update of an endpoint or component: traffic shifting and rollback."""

import logging
from fractions import Fraction

from local_sagemaker.dashboard_events import EventKind
from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.sagemaker import variants
from local_sagemaker.sagemaker.deployment import (
    FULL_SHARE,
    Deployment,
    TrafficStep,
    share_of_counts,
)
from local_sagemaker.sagemaker.endpoint import (
    MIN_STATUS_SECONDS,
    Endpoint,
    HostingContext,
    drain_and_stop,
    failure_reason,
    provision_seconds,
)

POLL_SECONDS = 10.0
"""Interval in which alarms are polled; SageMaker's interval has no source."""

_log = logging.getLogger(__name__)


class AlarmError(Exception):
    """An update cannot continue because an alarm is in ALARM."""


class Update:
    """An update that replaces an endpoint's fleet by the attached new fleet.

    During the update the endpoint keeps its EndpointConfigName, and the new one is in the
    PendingDeploymentSummary (the developer guide's example of an event,
    automating-sagemaker-with-eventbridge). The status is Updating during a rollback too:
    RollingBack "only applies to" changes of weights and capacities (API reference of
    DescribeEndpoint).
    """

    def __init__(self, endpoint: Endpoint, deployment: Deployment, context: HostingContext) -> None:
        assert endpoint.fleet is not None
        assert endpoint.new_fleet is not None
        self._endpoint, self._deployment, self._context = endpoint, deployment, context
        self._old_fleet, self._new_fleet = endpoint.fleet, endpoint.new_fleet
        self._plan = endpoint.new_plan
        self._clock = context.clock()
        self._start = self._clock.now()
        self._old_counts = variants.desired_counts(endpoint.variants)
        self._new_counts = variants.desired_counts(endpoint.pending_variants)

    def run(self) -> None:
        """Run the update until the endpoint is InService with the new or the old fleet."""
        try:
            self._stop_leftover_fleet()
            self._check_can_continue()  # that SageMaker checks before the first step has no source
            for step in self._deployment.steps:
                self._start_new_instances(step)
                self._shift_traffic(step)
                self._bake(step)
                self._stop_replaced_instances(step)
        except Exception as error:
            if not self._context.stopping.is_set():
                self._roll_back(error)
        else:
            if not self._context.stopping.is_set():
                self._complete()

    def _stop_leftover_fleet(self) -> None:
        """Stop the fleet that a failed rollback has left; when SageMaker does so has no source."""
        if self._endpoint.leftover_fleet is not None:
            drain_and_stop(self._endpoint.leftover_fleet)
            self._endpoint.leftover_fleet = None

    def _start_new_instances(self, step: TrafficStep) -> None:
        """Start all new instances, or the step's batch in a rolling update."""
        share = step.share if self._deployment.is_rolling else FULL_SHARE
        counts = share_of_counts(self._new_counts, share)
        if step is not self._deployment.steps[0]:
            if self._deployment.is_rolling:
                self._new_fleet.scale(counts)
                self._endpoint.set_pending_counts(counts)
            return
        config, models = self._plan.config, self._plan.models
        self._new_fleet.start(self._context.host, self._endpoint.name, config, models, counts)
        self._endpoint.set_pending_counts(counts)

    def _shift_traffic(self, step: TrafficStep) -> None:
        """Shift the step's share of the traffic to the new fleet. Raise `AlarmError`.

        "if your old fleet trips the alarm during the deployment, SageMaker terminates your
        deployment" (deployment-guardrails-configuration).
        """
        self._check_can_continue()
        with self._endpoint.lock:
            self._endpoint.new_fleet_share = step.share

    def _bake(self, step: TrafficStep) -> None:
        """Check the alarms during the step's baking period."""
        deadline = self._clock.now() + step.bake_seconds
        while (remaining := deadline - self._clock.now()) > 0:
            self._clock.sleep(min(remaining, POLL_SECONDS), self._context.stopping)
            self._check_can_continue()

    def _stop_replaced_instances(self, step: TrafficStep) -> None:
        """Stop the old instances that a batch of a rolling update has replaced."""
        if self._deployment.is_rolling and step.share < FULL_SHARE:
            self._scale_old_fleet(share_of_counts(self._old_counts, FULL_SHARE - step.share))

    def _complete(self) -> None:
        """Stop the old fleet after its calls, and switch to the new fleet."""
        try:
            drain_and_stop(self._old_fleet)
            self._clock.wait_until_elapsed(MIN_STATUS_SECONDS, self._context.stopping)
        finally:
            with self._endpoint.lock:
                if not self._context.stopping.is_set():
                    self._endpoint.switch_to_new_fleet()

    def _check_can_continue(self) -> None:
        """Raise if an alarm, the timeout or the shutdown of the local SageMaker ends the update."""
        if self._context.stopping.is_set():
            raise LocalSageMakerError("the local SageMaker is stopping")
        names = self._deployment.alarms
        states = self._context.alarms(names) if names else {}
        if alarms := [name for name, state in states.items() if state == "ALARM"]:
            raise AlarmError(f"in ALARM: {', '.join(alarms)}")
        timeout = self._deployment.timeout_seconds
        if timeout is not None and self._clock.now() - self._start > timeout:
            raise LocalSageMakerError(
                f"The deployment took longer than MaximumExecutionTimeoutInSeconds, {timeout} s."
            )

    def _roll_back(self, error: Exception) -> None:
        """Route all calls to the old fleet, stop the new fleet, and set the FailureReason.

        A rollback by an alarm has no FailureReason: "the endpoint returns to InService with its
        previous configuration, and the FailureReason may become empty"
        (hashicorp/terraform-provider-aws#49020, #48997). The log has the cause. After a rollback
        because of failed instances there is one (aws-controllers-k8s/sagemaker-controller#7).
        """
        if lost_seconds := provision_seconds(error):
            self._clock.wait_until_elapsed(lost_seconds, self._context.stopping)
        _log.warning("the update of %s is rolled back: %s", self._endpoint.title, error)
        self._endpoint.report_event(
            EventKind.ENDPOINT_ROLLED_BACK,
            f"The update to {self._plan.config['EndpointConfigName']} is rolled back: {error}",
        )
        cause = None if isinstance(error, AlarmError) else failure_reason(error)
        try:
            if variants.current_counts(self._endpoint.variants) != self._old_counts:
                self._scale_old_fleet(
                    self._old_counts
                )  # "at once" (API reference, RollingUpdatePolicy)
        except Exception as rollback_error:
            if not self._context.stopping.is_set():
                # "Your endpoint is in service with a mix of the old and new endpoint
                # configurations" (API reference of DescribeEndpoint).
                reasons = (
                    f"{cause or error}; and the rollback failed: {failure_reason(rollback_error)}"
                )
                self._endpoint.set_members(
                    EndpointStatus="UpdateRollbackFailed", FailureReason=reasons
                )
            return
        with self._endpoint.lock:
            self._endpoint.new_fleet_share = Fraction(0)
        try:
            drain_and_stop(self._new_fleet)
            self._clock.wait_until_elapsed(MIN_STATUS_SECONDS, self._context.stopping)
        finally:
            self._restore_description(cause)

    def _restore_description(self, cause: str | None) -> None:
        endpoint = self._endpoint
        with endpoint.lock:
            if self._context.stopping.is_set():
                return
            endpoint.new_fleet = None
            endpoint.set_members(
                EndpointStatus="InService",
                PendingDeploymentSummary=None,
                ProductionVariants=variants.with_desired_as_current(endpoint.variants),
                FailureReason=cause,
            )

    def _scale_old_fleet(self, counts: dict[str, int]) -> None:
        self._old_fleet.scale(counts)
        old_variants = variants.with_current_counts(self._endpoint.variants, counts)
        self._endpoint.set_members(ProductionVariants=old_variants)
