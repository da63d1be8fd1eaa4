"""The run of an endpoint's or component's update: traffic shifting, or rollback."""

import logging
from fractions import Fraction

from local_sagemaker.dashboard_events import EventKind
from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.hosting.fleet import Fleet
from local_sagemaker.sagemaker import variants
from local_sagemaker.sagemaker.deployment import ALL, Deployment, TrafficStep, part
from local_sagemaker.sagemaker.endpoint import (
    MIN_STATUS_SECONDS,
    Endpoint,
    EndpointContext,
    end,
    reason,
)
from local_sagemaker.sagemaker.registry import Plan

POLL_SECONDS = 10.0
"""Poll interval of the alarms; SageMaker's has no source."""

log = logging.getLogger(__name__)


class AlarmError(Exception):
    """An alarm is in ALARM."""


class Update:
    """Replaces the endpoint's fleet by `new`, which `Endpoint.begin` has attached.

    During the update the endpoint keeps its EndpointConfigName, and the new one is in the
    PendingDeploymentSummary (the developer guide's example of an event,
    automating-sagemaker-with-eventbridge). The status is Updating during a rollback too:
    RollingBack "only applies to" changes of weights and capacities (API reference of
    DescribeEndpoint).
    """

    def __init__(
        self,
        endpoint: Endpoint,
        plan: Plan,
        deployment: Deployment,
        *,
        site: EndpointContext,
        new: Fleet,
    ) -> None:
        assert endpoint.fleet is not None
        self._endpoint, self._plan, self._deployment, self._site = endpoint, plan, deployment, site
        self._old, self._new = endpoint.fleet, new
        self._clock = site.clock()
        self._start = self._clock.now()
        self._of_old = variants.counts(endpoint.variants)
        self._of_new = variants.counts(endpoint.pending)

    def run(self) -> None:
        """Run the update until the endpoint is InService with the new or the old fleet."""
        try:
            self._end_leftover()
            self._check()  # no source for a check this early; a stack must handle it
            for step in self._deployment.steps:
                self._provision(step)
                self._shift(step)
                self._bake(step)
                self._release(step)
        except Exception as error:
            if not self._site.stopping.is_set():
                self._roll_back(error)
        else:
            if not self._site.stopping.is_set():
                self._complete()

    # Forward

    def _end_leftover(self) -> None:
        """End the fleet that a failed rollback has left; the time of this has no source."""
        if self._endpoint.leftover is not None:
            end(self._endpoint.leftover)
            self._endpoint.leftover = None

    def _provision(self, step: TrafficStep) -> None:
        """Start the new instances of a step: all of them, or a batch of a rolling update."""
        counts = part(self._of_new, step.share if self._deployment.rolling else ALL)
        if step is not self._deployment.steps[0]:
            if self._deployment.rolling:
                self._new.scale(counts)
                self._endpoint.set_pending_counts(counts)
            return
        self._endpoint.set_pending_counts(dict.fromkeys(counts, 0))
        config, models = self._plan.config, self._plan.models
        self._new.start(self._site.host, self._endpoint.name, config, models, counts)
        self._endpoint.set_pending_counts(counts)

    def _shift(self, step: TrafficStep) -> None:
        """Shift traffic to the new fleet. Raise if an alarm is in ALARM already.

        "if your old fleet trips the alarm during the deployment, SageMaker terminates your
        deployment" (deployment-guardrails-configuration).
        """
        self._check()
        with self._endpoint.lock:
            self._endpoint.share = step.share

    def _bake(self, step: TrafficStep) -> None:
        """Check the alarms during the step's baking period."""
        until = self._clock.now() + step.bake
        while (left := until - self._clock.now()) > 0:
            self._clock.sleep(min(left, POLL_SECONDS), self._site.stopping)
            self._check()

    def _release(self, step: TrafficStep) -> None:
        """End the old instances that a batch of a rolling update has replaced."""
        if self._deployment.rolling and step.share < ALL:
            self._scale_old(part(self._of_old, ALL - step.share))

    def _complete(self) -> None:
        """End the old fleet after its calls are completed, and switch to the new one."""
        try:
            end(self._old)
            self._clock.wait_until_elapsed(MIN_STATUS_SECONDS, self._site.stopping)
        finally:
            with self._endpoint.lock:
                if not self._site.stopping.is_set():
                    self._endpoint.switch(self._plan)

    def _check(self) -> None:
        """Raise if the update must end: because of an alarm, the timeout, or shutdown."""
        if self._site.stopping.is_set():
            raise LocalSageMakerError("the local SageMaker is stopping")
        names = self._deployment.alarms
        states = self._site.alarms(names) if names else {}
        if tripped := [name for name, state in states.items() if state == "ALARM"]:
            raise AlarmError(f"in ALARM: {', '.join(tripped)}")
        timeout = self._deployment.timeout
        if timeout is not None and self._clock.now() - self._start > timeout:
            raise LocalSageMakerError(
                f"The deployment took longer than MaximumExecutionTimeoutInSeconds, {timeout} s."
            )

    # Back

    def _roll_back(self, error: Exception) -> None:
        """Return all calls to the old fleet, end the new one, and set the FailureReason.

        A rollback by an alarm has no FailureReason: "the endpoint returns to InService with its
        previous configuration, and the FailureReason may become empty"
        (hashicorp/terraform-provider-aws#49020, #48997). The log has the reason. A rollback because
        of failed instances has one (aws-controllers-k8s/sagemaker-controller#7).
        """
        log.warning("the update of %s is rolled back: %s", self._endpoint.title, error)
        self._endpoint.happened(
            EventKind.ENDPOINT_ROLLED_BACK,
            f"The update to {self._plan.config['EndpointConfigName']} is rolled back: {error}",
        )
        why = None if isinstance(error, AlarmError) else reason(error)
        try:
            if variants.counts(self._endpoint.variants, when="Current") != self._of_old:
                self._scale_old(self._of_old)  # "at once" (API reference, RollingUpdatePolicy)
        except Exception as second:
            if not self._site.stopping.is_set():
                # "Your endpoint is in service with a mix of the old and new endpoint
                # configurations" (API reference of DescribeEndpoint).
                both = f"{why or error}; and the rollback failed: {reason(second)}"
                self._endpoint.set(EndpointStatus="UpdateRollbackFailed", FailureReason=both)
            return
        with self._endpoint.lock:
            self._endpoint.share = Fraction(0)
        try:
            end(self._new)
            self._clock.wait_until_elapsed(MIN_STATUS_SECONDS, self._site.stopping)
        finally:
            self._be_as_before(why)

    def _be_as_before(self, why: str | None) -> None:
        endpoint = self._endpoint
        with endpoint.lock:
            if self._site.stopping.is_set():
                return
            endpoint.new = None
            endpoint.set(
                EndpointStatus="InService",
                PendingDeploymentSummary=None,
                ProductionVariants=variants.with_desired_as_current(endpoint.variants),
                FailureReason=why,
            )

    def _scale_old(self, counts: dict[str, int]) -> None:
        self._old.scale(counts)
        now = variants.with_current_counts(self._endpoint.variants, counts)
        self._endpoint.set(ProductionVariants=now)
