"""An endpoint: its description and its fleets."""

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
from local_sagemaker.sagemaker.registry import HostingPlan
from local_sagemaker.sagemaker.resources import ENDPOINT, Record

DRAIN_SECONDS = 60
MIN_STATUS_SECONDS = 60.0
"""Minimum time in AWS's seconds in which an endpoint is Creating or Updating, so that clients can
observe the status. On AWS it takes minutes; the number is not documented."""

MAX_REASON_LENGTH = 1024
"""Maximum length of a FailureReason; source: botocore's model."""

_log = logging.getLogger(__name__)


Route = tuple[Fleet, Instance] | None


@dataclass(frozen=True)
class HostingContext:
    """The services that all endpoints share.

    `alarms` returns the states of existing alarms by name. `stopping` is set when the local
    SageMaker stops: waits end, and operations have no effect.
    """

    host: Host
    fleet: Callable[..., Fleet]
    clock: Callable[[], Clock]
    alarms: Callable[[Collection[str]], Mapping[str, str]]
    stopping: threading.Event


class Endpoint:
    """An endpoint; `lock` guards its attributes.

    `fleet` serves the configuration in `plan`. `new_fleet` is the starting fleet of an operation,
    with the plan `new_plan`; during an update it gets `new_fleet_share` of the calls, with the
    weights in the PendingDeploymentSummary. `leftover_fleet` remained after a failed rollback; the
    next update stops it. `report` is called at each change of the status.
    """

    kind = ENDPOINT

    def __init__(
        self,
        description: Record,
        plan: HostingPlan,
        lock: threading.RLock,
        report: OnEvent = ignore_event,
    ) -> None:
        self.description, self.plan, self.lock, self._report = description, plan, lock, report
        self.new_plan = plan
        self.fleet: Fleet | None = None
        self.new_fleet: Fleet | None = None
        self.leftover_fleet: Fleet | None = None
        self.placement: Placement | None = None  # of copies of inference components
        self.new_fleet_share = Fraction(0)

    @property
    def name(self) -> str:
        """The endpoint's name."""
        return str(self.description["EndpointName"])

    @property
    def resource_name(self) -> str:
        """The name of the endpoint or component."""
        return self.name

    @property
    def title(self) -> str:
        """The kind and the name, for log messages."""
        return f"{self.kind.label} {self.resource_name}"

    @property
    def hosts_components(self) -> bool:
        """Whether the endpoint's instances host inference components."""
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
    def config_names(self) -> set[str]:
        """The names of the serving and the pending configuration."""
        pending = self.description.get("PendingDeploymentSummary", {})
        return {summary["EndpointConfigName"] for summary in (self.description, pending) if summary}

    @property
    def variants(self) -> list[Record]:
        """The serving variants, as in DescribeEndpoint."""
        serving: list[Record] = self.description["ProductionVariants"]
        return serving

    @property
    def pending_variants(self) -> list[Record]:
        """The pending variants of an update, as in DescribeEndpoint."""
        pending: list[Record] = self.description["PendingDeploymentSummary"]["ProductionVariants"]
        return pending

    def describe(self) -> Record:
        """Return the response of DescribeEndpoint."""
        with self.lock:
            description = copy.deepcopy({**self.description, **self._capture(), **self._pools()})
        if self.hosts_components:
            (variant,), (configured,) = (
                description["ProductionVariants"], self.plan.config["ProductionVariants"]
            )  # fmt: skip
            if "ManagedInstanceScaling" in configured:
                variant["ManagedInstanceScaling"] = configured["ManagedInstanceScaling"]
        return description

    def set_members(self, **changes: Any) -> None:
        """Change members of the description; None removes a member."""
        with self.lock:
            old_status = self.description.get("EndpointStatus")
            self.description.update(changes)
            # While it is Creating, LastModifiedTime is CreationTime (recorded from AWS).
            self.description["LastModifiedTime"] = (
                self.description["CreationTime"] if self.status == "Creating" else time.time()
            )
            for name in [name for name, value in changes.items() if value is None]:
                del self.description[name]
            if self.status != old_status:
                self.report_event(EventKind.ENDPOINT_STATUS, self._status_message())

    def report_event(self, kind: EventKind, message: str) -> None:
        """Report an event of the endpoint."""
        self._report(DashboardEvent(kind, message, endpoint=self.name))

    def attach_new_fleet(
        self, plan: HostingPlan, fleet: Fleet, pending: list[Record], **changes: Any
    ) -> None:
        """Attach the fleet that a creation or an update will start.

        An earlier FailureReason "disappears as soon as a new update is applied"
        (aws-controllers-k8s/sagemaker-controller#7).
        """
        self.leftover_fleet, self.new_fleet = self.new_fleet, fleet
        self.new_fleet_share = Fraction(0)
        self.new_plan = plan
        summary = {
            "EndpointConfigName": plan.config["EndpointConfigName"],
            "ProductionVariants": variants.with_current_counts(
                pending, dict.fromkeys(variants.desired_counts(pending), 0)
            ),
            "StartTime": time.time(),
        }
        self.set_members(PendingDeploymentSummary=summary, FailureReason=None, **changes)

    def set_pending_counts(self, counts: Mapping[str, int]) -> None:
        """Set the current instance counts of the pending variants."""
        with self.lock:
            summary = self.description["PendingDeploymentSummary"]
            pending = variants.with_current_counts(self.pending_variants, counts)
            summary = {**summary, "ProductionVariants": pending}
            self.set_members(PendingDeploymentSummary=summary)

    def route(self, target_model: str | None = None, target_variant: str | None = None) -> Route:
        """Return the fleet and the instance for an invocation; None if no instance serves.

        The fleet counts the invocation under the lock, so that an update cannot stop the instance
        before the invocation is completed. Raise `ApiError`.
        """
        with self.lock:
            if self.fleet is None or self.description["EndpointStatus"] in ("Deleting", "Failed"):
                return None
            fleet, description = self.fleet, self.description
            if self.new_fleet is not None and random.random() < self.new_fleet_share:
                fleet, description = self.new_fleet, description["PendingDeploymentSummary"]
            weights = {
                variant["VariantName"]: variant["CurrentWeight"]
                for variant in description["ProductionVariants"]
            }
            instance = fleet.choose(
                weights, target_model=target_model, target_variant=target_variant
            )
            return (fleet, instance) if instance else None

    def no_instance_error(self) -> ApiError:
        """Return the error for an invocation without a route."""
        return endpoint_not_found_error(self.name)

    def switch_to_new_fleet(self) -> None:
        """Make the new fleet the serving fleet, and the endpoint InService."""
        with self.lock:
            self.fleet, self.new_fleet = self.new_fleet, None
            self.plan, self.new_fleet_share = self.new_plan, Fraction(0)
            self.set_members(
                EndpointConfigName=self.plan.config["EndpointConfigName"],
                EndpointStatus="InService",
                PendingDeploymentSummary=None,
                ProductionVariants=variants.with_desired_as_current(self.pending_variants),
            )

    def take_fleets(self) -> list[Fleet]:
        """Detach and return all fleets; the caller must stop them."""
        fleets = self.fleets
        self.new_fleet = self.fleet = self.leftover_fleet = None
        return fleets

    @property
    def fleets(self) -> list[Fleet]:
        """The fleets that serve, start, or remain from a failed rollback."""
        return [fleet for fleet in (self.fleet, self.new_fleet, self.leftover_fleet) if fleet]

    def _status_message(self) -> str:
        reason = self.description.get("FailureReason")
        pending = self.description.get("PendingDeploymentSummary", {}).get("EndpointConfigName")
        config = pending or self.description.get("EndpointConfigName")
        return f"{self.resource_name} is {self.status}: {reason or f'configuration {config}'}"

    def _pools(self) -> Record:
        """Return ProductionVariants with InstancePools, or nothing if no variant has pools."""
        configs = {
            config["VariantName"]: config for config in self.plan.config["ProductionVariants"]
        }
        if self.fleet is None or not any("InstancePools" in config for config in configs.values()):
            return {}
        described_variants = []
        for variant in self.variants:
            name = variant["VariantName"]
            if "InstancePools" in configs[name]:
                types = self.fleet.instance_types(name)
                instance_pools = pools.describe_pools(configs[name], types)
                variant = {**variant, "InstancePools": instance_pools}
            described_variants.append(variant)
        return {"ProductionVariants": described_variants}

    def _capture(self) -> Record:
        """Return the "currently active data capture configuration" (API reference)."""
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


def endpoint_not_found_error(name: str) -> ApiError:
    """Return the error for an invocation of an endpoint that does not exist."""
    return ApiError("ValidationError", f"Endpoint {name} of account {ACCOUNT} not found.")


def hosts_components(config: Record) -> bool:
    """Return whether a configuration's instances host inference components."""
    return any("ModelName" not in variant for variant in config["ProductionVariants"])


def drain_and_stop(fleet: Fleet) -> None:
    """Wait for a fleet's calls, for `DRAIN_SECONDS` at most, and stop the fleet."""
    fleet.drain(DRAIN_SECONDS)
    fleet.stop()


def provision_seconds(error: Exception) -> float:
    """Return the time in AWS's seconds until an operation fails for lack of capacity, else 0."""
    return error.seconds if isinstance(error, pools.NoCapacityError) else 0


def failure_reason(error: Exception) -> str:
    """Return the FailureReason for an error; unexpected errors are also logged."""
    if isinstance(error, ApiError | LocalSageMakerError | OSError):
        return plain_message(error)[:MAX_REASON_LENGTH]
    _log.error("the instances did not start", exc_info=error)
    return "Internal error of the local SageMaker: see its log."
