"""An endpoint: its description, and the fleets that serve its calls."""

import copy
import logging
import random
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from local_sagemaker.clock import Clock
from local_sagemaker.dashboard_events import DashboardEvent, EventKind, OnEvent, ignore_event
from local_sagemaker.environment import ACCOUNT
from local_sagemaker.errors import ApiError, LocalSageMakerError, plain_message
from local_sagemaker.hosting import pools
from local_sagemaker.hosting.copies import Placement
from local_sagemaker.hosting.fleet import Fleet
from local_sagemaker.hosting.instance import Instance
from local_sagemaker.hosting.launch import Host
from local_sagemaker.sagemaker import variants
from local_sagemaker.sagemaker.registry import Plan
from local_sagemaker.sagemaker.resources import ENDPOINT, Record

DRAIN_SECONDS = 60
MIN_STATUS_SECONDS = 60.0
"""Minimum time in AWS's seconds in which an endpoint is Creating or Updating, so that clients can
observe the status. On AWS it takes minutes; the number is not documented."""

MAX_REASON_LENGTH = 1024
"""Maximum length of a FailureReason; source: botocore's model."""

log = logging.getLogger(__name__)


Route = tuple[Fleet, Instance] | None


@dataclass(frozen=True)
class EndpointContext:
    """Services that all endpoints share. `alarms` returns the states of existing alarms by name.

    `stopping` is set when the local SageMaker stops: waits end, and operations have no effect.
    """

    host: Host
    fleet: Callable[..., Fleet]
    clock: Callable[[], Clock]
    alarms: Callable[[Collection[str]], Mapping[str, str]]
    stopping: threading.Event


class Endpoint:
    """An endpoint; `lock` guards its attributes.

    `fleet` serves the configuration in `plan`. `new` is the starting fleet of an operation, with
    the plan `pending_plan`; during an update it gets `share` of the calls, with the weights in the
    PendingDeploymentSummary. `leftover` is a fleet that remained after a failed rollback; the next
    update ends it. `report` is called at each change of the status.
    """

    kind = ENDPOINT

    def __init__(
        self, description: Record, plan: Plan, lock: threading.RLock, report: OnEvent = ignore_event
    ) -> None:
        self.description, self.plan, self.lock, self._report = description, plan, lock, report
        self.pending_plan = plan
        self.fleet: Fleet | None = None
        self.new: Fleet | None = None
        self.leftover: Fleet | None = None
        self.placement: Placement | None = None  # of copies of inference components
        self.share = Fraction(0)

    @property
    def name(self) -> str:
        """The endpoint's name."""
        return str(self.description["EndpointName"])

    @property
    def key(self) -> str:
        """The name of the endpoint or component."""
        return self.name

    @property
    def title(self) -> str:
        """Kind and name, for the log."""
        return f"{self.kind.words} {self.key}"

    @property
    def hosts_components(self) -> bool:
        """Whether its instances host inference components."""
        return hosts_components(self.plan.config)

    @property
    def arn(self) -> str:
        """The EndpointArn."""
        return str(self.description["EndpointArn"])

    @property
    def status(self) -> str:
        """The EndpointStatus."""
        return str(self.description["EndpointStatus"])

    @property
    def configurations(self) -> set[str]:
        """The names of the serving and the pending configuration."""
        pending = self.description.get("PendingDeploymentSummary", {})
        return {summary["EndpointConfigName"] for summary in (self.description, pending) if summary}

    @property
    def variants(self) -> list[Record]:
        """The serving variants, as in DescribeEndpoint."""
        serving: list[Record] = self.description["ProductionVariants"]
        return serving

    @property
    def pending(self) -> list[Record]:
        """The pending variants of an update, as in DescribeEndpoint."""
        pending: list[Record] = self.description["PendingDeploymentSummary"]["ProductionVariants"]
        return pending

    def described(self) -> Record:
        """Return the response of DescribeEndpoint."""
        with self.lock:
            described = copy.deepcopy({**self.description, **self._capture(), **self._pools()})
        if self.hosts_components:
            (variant,), (configured,) = (
                described["ProductionVariants"], self.plan.config["ProductionVariants"]
            )  # fmt: skip
            if "ManagedInstanceScaling" in configured:
                variant["ManagedInstanceScaling"] = configured["ManagedInstanceScaling"]
        return described

    def set(self, **changes: Any) -> None:
        """Change members of the description; None removes a member."""
        with self.lock:
            before = self.description.get("EndpointStatus")
            self.description.update(changes)
            creating = (
                self.status == "Creating"
            )  # LastModifiedTime is CreationTime then (recorded from AWS)
            modified = self.description["CreationTime"] if creating else time.time()
            self.description["LastModifiedTime"] = modified
            for name in [name for name, value in changes.items() if value is None]:
                del self.description[name]
            if self.status != before:
                self.happened(EventKind.ENDPOINT_STATUS, self._status_message())

    def happened(self, kind: EventKind, message: str) -> None:
        """Report an event of the endpoint."""
        self._report(DashboardEvent(kind, message, endpoint=self.name))

    def begin(self, plan: Plan, fleet: Fleet, pending: list[Record], **changes: Any) -> None:
        """Attach the fleet that will be started by a creation or an update.

        An earlier FailureReason "disappears as soon as a new update is applied"
        (aws-controllers-k8s/sagemaker-controller#7).
        """
        self.leftover, self.new, self.share = self.new, fleet, Fraction(0)
        self.pending_plan = plan
        summary = {
            "EndpointConfigName": plan.config["EndpointConfigName"],
            "ProductionVariants": pending,
            "StartTime": time.time(),
        }
        self.set(PendingDeploymentSummary=summary, FailureReason=None, **changes)

    def set_pending_counts(self, now: Mapping[str, int]) -> None:
        """Set the instance counts of the pending variants."""
        with self.lock:
            summary = self.description["PendingDeploymentSummary"]
            counted = variants.with_current_counts(self.pending, now)
            self.set(PendingDeploymentSummary={**summary, "ProductionVariants": counted})

    def route(self, target_model: str | None = None, target_variant: str | None = None) -> Route:
        """Return the fleet and the instance for an invocation; None if no instance serves.

        The fleet counts the invocation under the lock, so that an update cannot stop the instance
        before the invocation is completed. Raise `ApiError`.
        """
        with self.lock:
            if self.fleet is None or self.description["EndpointStatus"] in ("Deleting", "Failed"):
                return None
            fleet, description = self.fleet, self.description
            if self.new is not None and random.random() < self.share:
                fleet, description = self.new, description["PendingDeploymentSummary"]
            weights = {
                variant["VariantName"]: variant["CurrentWeight"]
                for variant in description["ProductionVariants"]
            }
            instance = fleet.choose(
                weights, target_model=target_model, target_variant=target_variant
            )
            return (fleet, instance) if instance else None

    def not_serving_error(self) -> ApiError:
        """Return the error for an invocation without a route."""
        return not_found(self.name)

    def switch(self, plan: Plan) -> None:
        """Make the new fleet the serving fleet; the endpoint is InService."""
        with self.lock:
            self.fleet, self.new, self.share, self.plan = self.new, None, Fraction(0), plan
            self.set(
                EndpointConfigName=plan.config["EndpointConfigName"],
                EndpointStatus="InService",
                PendingDeploymentSummary=None,
                ProductionVariants=variants.with_desired_as_current(self.pending),
            )

    def detach_fleets(self) -> list[Fleet]:
        """Detach and return all fleets; the caller must stop them."""
        fleets = self.fleets
        self.new = self.fleet = self.leftover = None
        return fleets

    @property
    def fleets(self) -> list[Fleet]:
        """The fleets that serve, start, or remain from a failed rollback."""
        return [fleet for fleet in (self.fleet, self.new, self.leftover) if fleet]

    def _status_message(self) -> str:
        why = self.description.get("FailureReason")
        pending = self.description.get("PendingDeploymentSummary", {}).get("EndpointConfigName")
        config = pending or self.description.get("EndpointConfigName")
        return f"{self.key} is {self.status}: {why or f'configuration {config}'}"

    def _pools(self) -> Record:
        """Return ProductionVariants with InstancePools, if a variant has them."""
        configured = {each["VariantName"]: each for each in self.plan.config["ProductionVariants"]}
        if self.fleet is None or not any("InstancePools" in each for each in configured.values()):
            return {}
        serving, described = self.fleet.serving(), []
        for variant in self.variants:
            config, count = configured[variant["VariantName"]], variant["CurrentInstanceCount"]
            types = [
                instance.pool.instance_type
                for instance in serving[variant["VariantName"]]
                if instance.pool
            ]
            own = {"InstancePools": pools.describe_pools(config, types, count)}
            described.append({**variant, **(own if "InstancePools" in config else {})})
        return {"ProductionVariants": described}

    def _capture(self) -> Record:
        """Return the "currently active data capture configuration": the API reference."""
        config = self.plan.config.get("DataCaptureConfig")
        if config is None or self.fleet is None:
            return {}
        enabled = config.get("EnableCapture", True)  # "defaults to enabled"
        summary = {
            "EnableCapture": enabled,
            "CaptureStatus": "Started" if enabled else "Stopped",
            "CurrentSamplingPercentage": config["InitialSamplingPercentage"],
            "DestinationS3Uri": config["DestinationS3Uri"],
            "KmsKeyId": config.get("KmsKeyId", ""),  # required in the summary
        }
        return {"DataCaptureConfig": summary}


def not_found(name: str) -> ApiError:
    """Return the error for an invocation of an endpoint that does not exist."""
    return ApiError("ValidationError", f"Endpoint {name} of account {ACCOUNT} not found.")


def hosts_components(config: Record) -> bool:
    """Return whether a configuration's instances host inference components."""
    return any("ModelName" not in variant for variant in config["ProductionVariants"])


def end(fleet: Fleet) -> None:
    """Wait until a fleet has finished its calls, and stop it."""
    fleet.drain(DRAIN_SECONDS)
    fleet.stop()


def reason(error: Exception) -> str:
    """Return the FailureReason of an error; unexpected errors are logged."""
    if isinstance(error, ApiError | LocalSageMakerError | OSError):
        return plain_message(error)[:MAX_REASON_LENGTH]
    log.error("the instances did not start", exc_info=error)
    return "An internal error of the local SageMaker; its log says which."
