"""An endpoint: what DescribeEndpoint answers, and the fleets between which its calls are split."""

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
from local_sagemaker.environment import ACCOUNT
from local_sagemaker.errors import ApiError, LocalSageMakerError, plain_message
from local_sagemaker.happenings import Happening, HappeningKind, Tell, untold
from local_sagemaker.hosting import pools
from local_sagemaker.hosting.copies import Placement
from local_sagemaker.hosting.fleet import Fleet
from local_sagemaker.hosting.instance import Instance
from local_sagemaker.hosting.launch import Host
from local_sagemaker.sagemaker import variants
from local_sagemaker.sagemaker.registry import Plan
from local_sagemaker.sagemaker.resources import ENDPOINT, Record

DRAIN_SECONDS = 60
LEAST_SECONDS = 60.0
"""Of AWS's: for so long at least an endpoint is Creating or Updating, so that whoever looks after a
request sees it. There it takes minutes; how many is said nowhere."""

MOST_REASON = 1024
"""Characters of a FailureReason: the service's model."""

log = logging.getLogger(__name__)


Route = tuple[Fleet, Instance] | None


@dataclass(frozen=True)
class EndpointContext:
    """What every endpoint runs on. `alarms` gives the states of those that exist, by name.

    `stopping` is set when everything ends: who waits or works for an endpoint does nothing more.
    """

    host: Host
    fleet: Callable[..., Fleet]
    clock: Callable[[], Clock]
    alarms: Callable[[Collection[str]], Mapping[str, str]]
    stopping: threading.Event


class Endpoint:
    """An endpoint, whose `lock` guards everything in it.

    `fleet` serves what `plan` says. `new` is a fleet that starts, of an update `share` of the calls
    goes to it, by the weights in the PendingDeploymentSummary. `stray` is one that a failed
    rollback has left, and that the next update ends. `coming` is the plan of a fleet that starts.
    `report` is told each status that it comes into.
    """

    kind = ENDPOINT

    def __init__(
        self, description: Record, plan: Plan, lock: threading.RLock, report: Tell = untold
    ) -> None:
        self.description, self.plan, self.lock, self._report = description, plan, lock, report
        self.coming = plan
        self.fleet: Fleet | None = None
        self.new: Fleet | None = None
        self.stray: Fleet | None = None
        self.placement: Placement | None = None  # of copies of inference components
        self.share = Fraction(0)

    @property
    def name(self) -> str:
        """Return the endpoint's name."""
        return str(self.description["EndpointName"])

    @property
    def key(self) -> str:
        """Return the name by which it is found among those of its kind."""
        return self.name

    @property
    def title(self) -> str:
        """Return its kind and name, for the log."""
        return f"{self.kind.words} {self.key}"

    @property
    def hosts_components(self) -> bool:
        """Whether its instances have no model, but room for inference components."""
        return hosts_components(self.plan.config)

    @property
    def arn(self) -> str:
        """Return its ARN."""
        return str(self.description["EndpointArn"])

    @property
    def status(self) -> str:
        """Return its EndpointStatus."""
        return str(self.description["EndpointStatus"])

    @property
    def configurations(self) -> set[str]:
        """Return the names of what serves, and of what an operation in progress brings."""
        pending = self.description.get("PendingDeploymentSummary", {})
        return {summary["EndpointConfigName"] for summary in (self.description, pending) if summary}

    @property
    def variants(self) -> list[Record]:
        """Return the variants of what serves."""
        serving: list[Record] = self.description["ProductionVariants"]
        return serving

    @property
    def pending(self) -> list[Record]:
        """Return the variants of what an update brings."""
        pending: list[Record] = self.description["PendingDeploymentSummary"]["ProductionVariants"]
        return pending

    def described(self) -> Record:
        """Return the answer of DescribeEndpoint."""
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
        """Change members of the description; None takes one away."""
        with self.lock:
            before = self.description.get("EndpointStatus")
            self.description.update(changes)
            creating = self.status == "Creating"  # not modified: recorded, as DescribeEndpoint is
            modified = self.description["CreationTime"] if creating else time.time()
            self.description["LastModifiedTime"] = modified
            for name in [name for name, value in changes.items() if value is None]:
                del self.description[name]
            if self.status != before:
                self.happened(HappeningKind.ENDPOINT_STATUS, self._status_message())

    def happened(self, kind: HappeningKind, message: str) -> None:
        """Report what has happened to it."""
        self._report(Happening(kind, message, endpoint=self.name))

    def begin(self, plan: Plan, fleet: Fleet, pending: list[Record], **changes: Any) -> None:
        """Take in the fleet that is to start.

        The reason of a failure before "disappears as soon as a new update is applied"
        (aws-controllers-k8s/sagemaker-controller#7).
        """
        self.stray, self.new, self.share = self.new, fleet, Fraction(0)
        self.coming = plan
        summary = {
            "EndpointConfigName": plan.config["EndpointConfigName"],
            "ProductionVariants": pending,
            "StartTime": time.time(),
        }
        self.set(PendingDeploymentSummary=summary, FailureReason=None, **changes)

    def count_pending(self, now: Mapping[str, int]) -> None:
        """Set the instance counts of the pending variants."""
        with self.lock:
            summary = self.description["PendingDeploymentSummary"]
            counted = variants.counted(self.pending, now)
            self.set(PendingDeploymentSummary={**summary, "ProductionVariants": counted})

    def route(self, target_model: str | None = None, target_variant: str | None = None) -> Route:
        """Return the fleet and the instance that answer an invocation; None if nothing serves.

        The fleet counts the invocation before an update can take the instance away, so that it is
        answered before the instance is stopped. Raise `ApiError`.
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

    def not_serving(self) -> ApiError:
        """Return the answer to an invocation without a route."""
        return not_found(self.name)

    def switch(self, plan: Plan) -> None:
        """The new fleet is the endpoint's from now on."""
        with self.lock:
            self.fleet, self.new, self.share, self.plan = self.new, None, Fraction(0), plan
            self.set(
                EndpointConfigName=plan.config["EndpointConfigName"],
                EndpointStatus="InService",
                PendingDeploymentSummary=None,
                ProductionVariants=variants.settled(self.pending),
            )

    def give_up(self) -> list[Fleet]:
        """Return the fleets, which are the caller's to stop from now on."""
        fleets = self.fleets
        self.new = self.fleet = self.stray = None
        return fleets

    @property
    def fleets(self) -> list[Fleet]:
        """Return the fleets that serve, start, or remain from a rollback."""
        return [fleet for fleet in (self.fleet, self.new, self.stray) if fleet]

    def _status_message(self) -> str:
        why = self.description.get("FailureReason")
        coming = self.description.get("PendingDeploymentSummary", {}).get("EndpointConfigName")
        config = coming or self.description.get("EndpointConfigName")
        return f"{self.key} is {self.status}: {why or f'configuration {config}'}"

    def _pools(self) -> Record:
        """Return the variants with the instances of each type, where there are instance pools."""
        configured = {each["VariantName"]: each for each in self.plan.config["ProductionVariants"]}
        if self.fleet is None or not any("InstancePools" in each for each in configured.values()):
            return {}
        serving, described = self.fleet.serving(), []
        for variant in self.variants:
            config, count = configured[variant["VariantName"]], variant["CurrentInstanceCount"]
            types = [
                each.pool.instance_type for each in serving[variant["VariantName"]] if each.pool
            ]
            own = {"InstancePools": pools.described(config, types, count)}
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
            "KmsKeyId": config.get("KmsKeyId", ""),  # which every summary has
        }
        return {"DataCaptureConfig": summary}


def not_found(name: str) -> ApiError:
    """Return the answer to an invocation of an endpoint that is not there."""
    return ApiError("ValidationError", f"Endpoint {name} of account {ACCOUNT} not found.")


def hosts_components(config: Record) -> bool:
    """Whether a configuration is of an endpoint of inference components."""
    return any("ModelName" not in variant for variant in config["ProductionVariants"])


def end(fleet: Fleet) -> None:
    """Let a fleet finish the calls that it has, and end it."""
    fleet.drain(DRAIN_SECONDS)
    fleet.stop()


def reason(error: Exception) -> str:
    """Return a FailureReason: what says itself what to do; of anything else, where to read it."""
    if isinstance(error, ApiError | LocalSageMakerError | OSError):
        return plain_message(error)[:MOST_REASON]
    log.error("the instances did not start", exc_info=error)
    return "An internal error of the local SageMaker; its log says which."
