"""SageMaker's endpoint operations."""

import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any

from local_sagemaker.clock import Clock
from local_sagemaker.dashboard_events import EventKind
from local_sagemaker.errors import invalid
from local_sagemaker.hosting.fleet import Fleet
from local_sagemaker.hosting.launch import Host
from local_sagemaker.hosting.pools import NoCapacityError
from local_sagemaker.sagemaker import variants
from local_sagemaker.sagemaker.deployment import alarms_of, deployment
from local_sagemaker.sagemaker.deployment_checks import (
    check_alarms,
    check_deployment,
    check_variants,
)
from local_sagemaker.sagemaker.endpoint import (
    MIN_STATUS_SECONDS,
    Endpoint,
    EndpointContext,
    end,
    log,
    reason,
)
from local_sagemaker.sagemaker.instance_quotas import Limit, check_quotas
from local_sagemaker.sagemaker.registry import Plan, Registry
from local_sagemaker.sagemaker.request_checks import check_desired
from local_sagemaker.sagemaker.resources import ENDPOINT, ENDPOINT_CONFIG, Record
from local_sagemaker.sagemaker.update import Update


class Hosting(Registry):
    """The endpoint operations; `by_name` are the endpoints. All methods are thread-safe.

    `fleet` creates a fleet and `clock` the clock of an operation. `alarms` returns the states of
    existing CloudWatch alarms by name. `assumable` is whether SageMaker may assume a role. `quota`
    returns the account's quota by name. `scaled_variants` returns the variants of an endpoint that
    are scalable targets, and `deregister` deregisters them.
    """

    def __init__(
        self,
        host: Host,
        *,
        fleet: Callable[..., Fleet],
        clock: Callable[[], Clock],
        alarms: Callable[[Collection[str]], Mapping[str, str]],
        assumable: Callable[[str], bool],
        quota: Limit,
        scaled_variants: Callable[[str], Collection[str]],
        deregister: Callable[[str], None],
    ) -> None:
        super().__init__(host.s3, assumable=assumable)
        self._site = EndpointContext(host, fleet, clock, alarms, threading.Event())
        self._scaled_variants, self._deregister = scaled_variants, deregister
        self._quota = quota
        self.by_name: dict[str, Endpoint] = {}

    def create_endpoint(self, request: Record) -> Record:
        """CreateEndpoint: returns immediately; the endpoint is InService or Failed later.

        A DeploymentConfig has no effect on a creation (developer guide,
        deployment-guardrails-blue-green-all-at-once).
        """
        name = request["EndpointName"]
        with self._lock:
            ENDPOINT.check_name_is_free(self.by_name, name)
            plan = self._plan(request)
            described = variants.described(plan.config)
            self._check_quotas(plan.config, variants.counts(described))
            kept = {}
            if "DeploymentConfig" in request:
                check_deployment(request["DeploymentConfig"], variants.counts(described))
                kept["LastDeploymentConfig"] = request["DeploymentConfig"]
            born = self._born(ENDPOINT, {"EndpointName": name, "Tags": request.get("Tags", [])})
            endpoint = Endpoint({**born, **kept}, plan, self._lock, self._site.host.report_event)
            self.by_name[name] = endpoint
            endpoint.begin(
                plan,
                self._site.fleet(),
                described,
                EndpointConfigName=request["EndpointConfigName"],
                EndpointStatus="Creating",
                ProductionVariants=described,
            )
        self._in_background(self._bring_up, endpoint, plan)
        return {"EndpointArn": endpoint.arn}

    def update_endpoint(self, request: Record) -> Record:
        """UpdateEndpoint: the old instances serve until the new ones are healthy.

        An update to the serving configuration is accepted; no source was found for an error.
        """
        name = request["EndpointName"]
        if name in self.by_name and self.by_name[name].hosts_components:
            return self._update_in_place(request)
        scaled = self._scaled_variants(name)
        deployment_config = request.get("DeploymentConfig", {})
        if alarms := alarms_of(deployment_config):
            check_alarms(alarms, self._site.alarms(alarms))
        with self._lock:
            endpoint = ENDPOINT.find(self.by_name, name)
            _refuse_unless(endpoint, "InService", "UpdateRollbackFailed")
            # The update fails if the old configuration was deleted: the error message in
            # hashicorp/terraform-provider-aws#40048 and #48997 contains the old name.
            old = self.describe_endpoint_config(endpoint.description)
            plan = self._plan(request)
            _refuse_changed(old, plan.config, scaled)
            pending = variants.with_retained_properties(endpoint.variants, plan.config, request)
            counts = variants.counts(pending)
            check_variants(
                deployment_config, list(variants.counts(endpoint.variants)), list(counts)
            )
            check_deployment(deployment_config, counts)
            steps = deployment(deployment_config, counts)
            self._check_quotas(plan.config, steps.started(counts))
            fleet = self._site.fleet()
            kept = {"LastDeploymentConfig": deployment_config} if deployment_config else {}
            endpoint.begin(plan, fleet, pending, EndpointStatus="Updating", **kept)
            update = Update(endpoint, plan, steps, site=self._site, new=fleet)
        self._in_background(update.run)
        return {"EndpointArn": endpoint.arn}

    def delete_endpoint_config(self, request: Record) -> Record:
        """DeleteEndpointConfig: rejected while the configuration is deployed to an endpoint.

        "You must not delete an EndpointConfig in use by an endpoint that is live or while the
        UpdateEndpoint or CreateEndpoint operations are being performed" (API reference). AWS's
        behaviour during operations has no source. A configuration of a live endpoint is deleted:
        SDK v2's `Predictor.delete_endpoint` deletes it first, and Terraform's provider deletes the
        serving one (hashicorp/terraform-provider-aws#48997). The endpoint cannot be updated then.
        """
        name = request["EndpointConfigName"]
        with self._lock:
            for endpoint in self.by_name.values():
                in_progress = endpoint.status in ("Creating", "Updating", "RollingBack")
                if in_progress and name in endpoint.configurations:
                    raise invalid(
                        f'Cannot delete endpoint configuration "{ENDPOINT_CONFIG.arn(name)}": '
                        f'endpoint "{endpoint.arn}" uses it and has the status {endpoint.status}.'
                    )
            return super().delete_endpoint_config(request)

    def describe_endpoint(self, request: Record) -> Record:
        """DescribeEndpoint: without ProductionVariants until the endpoint was InService once.

        Source: recordings of Creating and Failed endpoints (cloud-custodian/cloud-custodian,
        tests/data/placebo/test_sagemaker_endpoints and test_sagemaker_endpoint_tag).
        """
        with self._lock:
            endpoint: Endpoint = ENDPOINT.find(self.by_name, request["EndpointName"])
            description = endpoint.described()
            if endpoint.fleet is None:
                description.pop("ProductionVariants", None)
            return description

    def list_endpoints(self, request: Record) -> Record:
        """ListEndpoints."""
        with self._lock:
            return ENDPOINT.list(
                (endpoint.description for endpoint in self.by_name.values()), request
            )

    def delete_endpoint(self, request: Record) -> Record:
        """DeleteEndpoint: returns immediately; it is Deleting until its calls are completed.

        Rejected during a creation, update or deletion. Source:
        aws/amazon-sagemaker-operator-for-k8s, `DeleteEndpointInProgressMessagePrefix`. Its variants
        are deregistered as scalable targets (developer guide, "Delete endpoints configured for auto
        scaling").
        """
        name = request["EndpointName"]
        with self._lock:
            endpoint = ENDPOINT.find(self.by_name, name)
            _refuse_unless(endpoint, "InService", "Failed", "UpdateRollbackFailed")
            endpoint.set(EndpointStatus="Deleting")
        self._deregister(name)
        self._in_background(self._take_down, endpoint, self.by_name)
        return {}

    def update_endpoint_weights_and_capacities(self, request: Record) -> Record:
        """UpdateEndpointWeightsAndCapacities: Updating until the desired counts are reached.

        The weights take effect when the endpoint is InService again.
        """
        requested = request["DesiredWeightsAndCapacities"]
        with self._lock:
            endpoint = ENDPOINT.find(self.by_name, request["EndpointName"])
            _refuse_unless(endpoint, "InService")
            if endpoint.hosts_components and any(
                "DesiredInstanceCount" in variant for variant in requested
            ):
                raise invalid(
                    "ManagedInstanceScaling sets the number of instances of an endpoint with "
                    "inference components: leave out DesiredInstanceCount."
                )
            check_desired(requested, [variant["VariantName"] for variant in endpoint.variants])
            desired = variants.with_desired(endpoint.variants, requested)
            now = variants.counts(endpoint.variants)
            more = {name: count - now[name] for name, count in variants.counts(desired).items()}
            self._check_quotas(endpoint.plan.config, more)
            changes = {"FailureReason": None, "ProductionVariants": desired}
            endpoint.set(EndpointStatus="Updating", **changes)
        self._in_background(self._reach_desired, endpoint)
        return {"EndpointArn": endpoint.arn}

    # Readers for other services

    def fleets(self) -> list[tuple[str, Fleet]]:
        """Return the serving and starting fleets, each with its endpoint's name."""
        with self._lock:
            return [
                (endpoint.name, fleet)
                for endpoint in self.deployed()
                for fleet in (endpoint.fleet, endpoint.new)
                if fleet is not None
            ]

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints; hold an endpoint's lock to read several attributes."""
        with self._lock:
            return list(self.by_name.values())

    def deployed(self) -> list[Endpoint]:
        """Return all objects with fleets; subclasses add inference components."""
        return self.endpoints()

    def stop(self) -> None:
        """End all waits and all instances, also starting and leaving ones."""
        with self._lock:
            self._site.stopping.set()
            fleets = [fleet for endpoint in self.deployed() for fleet in endpoint.detach_fleets()]
            self.by_name.clear()
        for fleet in fleets:
            fleet.stop()

    # Transitions, which run on background threads

    def _bring_up(self, endpoint: Endpoint, plan: Plan) -> None:
        clock = self._site.clock()
        fleet, counts = endpoint.new, variants.counts(endpoint.variants)
        if fleet is None:  # the local SageMaker is stopping
            return
        try:
            fleet.start(self._site.host, endpoint.name, plan.config, plan.models, counts)
            clock.wait_until_elapsed(MIN_STATUS_SECONDS, self._site.stopping)
        except Exception as error:
            fleet.stop()
            seconds = error.seconds if isinstance(error, NoCapacityError) else MIN_STATUS_SECONDS
            clock.wait_until_elapsed(seconds, self._site.stopping)
            with self._lock:
                endpoint.new = None
                endpoint.set(
                    EndpointStatus="Failed",
                    FailureReason=reason(error),
                    PendingDeploymentSummary=None,
                )
            return
        with self._lock:
            if not self._site.stopping.is_set():
                endpoint.switch(plan)

    def _take_down(self, endpoint: Endpoint, endpoints: dict[str, Any]) -> None:
        """End an endpoint's fleets, and delete it from `endpoints`."""
        try:
            for fleet in (endpoint.new, endpoint.fleet):
                if fleet is not None:
                    end(fleet)
        finally:
            with self._lock:
                if endpoints.get(endpoint.key) is endpoint:  # else the local SageMaker is stopping
                    self._delete(endpoint.kind, endpoints, endpoint.key)
                    endpoint.happened(EventKind.ENDPOINT_DELETED, f"{endpoint.key} is deleted.")

    def _update_in_place(self, request: Record) -> Record:
        """Change the configuration of an endpoint of inference components.

        Instances and copies keep running; which of them SageMaker replaces has no source. Source of
        the first message: aws-samples/sample-auto-extract-ai-ocr-app#66.
        """
        with self._lock:
            endpoint = ENDPOINT.find(self.by_name, request["EndpointName"])
            _refuse_unless(endpoint, "InService")
            plan = self._plan(request)
            (before,) = endpoint.plan.config["ProductionVariants"]
            after, *others = plan.config["ProductionVariants"]
            if before["InstanceType"] != after.get("InstanceType"):
                raise invalid(
                    "Cannot update endpoint with a different instance type for endpoints to which "
                    "you plan to deploy Inference Components."
                )
            same = before["VariantName"] == after["VariantName"] and "ModelName" not in after
            if others or not same or len(request) > 2:
                raise invalid(
                    "The local SageMaker updates endpoints of inference components in place: keep "
                    f"the variant {before['VariantName']} without a ModelName, and specify only "
                    "EndpointName and EndpointConfigName."
                )
            endpoint.set(EndpointStatus="Updating", FailureReason=None)
        self._in_background(self._reconfigure, endpoint, plan)
        return {"EndpointArn": endpoint.arn}

    def _reconfigure(self, endpoint: Endpoint, plan: Plan) -> None:
        self._site.clock().wait_until_elapsed(MIN_STATUS_SECONDS, self._site.stopping)
        with self._lock:
            if endpoint.fleet is not None and not self._site.stopping.is_set():
                endpoint.fleet.reconfigure(plan.config)
                endpoint.plan = endpoint.pending_plan = plan
                name = plan.config["EndpointConfigName"]
                endpoint.set(EndpointStatus="InService", EndpointConfigName=name)

    def _reach_desired(self, endpoint: Endpoint) -> None:
        """Scale to the desired counts; on failure the status is RollingBack, then InService.

        A fleet that cannot be scaled keeps its instances. Source of RollingBack: the API reference
        of DescribeEndpoint.
        """
        clock, desired = self._site.clock(), variants.counts(endpoint.variants)
        try:
            if endpoint.fleet and desired != variants.counts(endpoint.variants, when="Current"):
                endpoint.fleet.scale(desired)
        except Exception as error:
            if self._site.stopping.is_set():
                return
            log.warning("%s is not scaled: %s", endpoint.title, error)
            endpoint.set(
                EndpointStatus="RollingBack",
                ProductionVariants=variants.with_current_as_desired(endpoint.variants),
                FailureReason=reason(error),
            )
        clock.wait_until_elapsed(MIN_STATUS_SECONDS, self._site.stopping)
        settled = variants.with_desired_as_current(endpoint.variants)
        endpoint.set(EndpointStatus="InService", ProductionVariants=settled)

    def _in_background(self, transition: Any, *arguments: Any) -> None:
        threading.Thread(target=transition, args=arguments, daemon=True).start()

    def _check_quotas(self, config: Record, added: Mapping[str, int]) -> None:
        check_quotas(self.by_name.values(), config, added, self._quota)


def _refuse_unless(endpoint: Endpoint, *allowed: str) -> None:
    if endpoint.status in allowed:
        return
    if endpoint.status == "Failed":
        # Source: EndpointSummary's API reference, "the only operation that can be performed on a
        # failed endpoint" is DeleteEndpoint.
        raise invalid(f'Cannot update failed endpoint "{endpoint.arn}": delete and recreate it.')
    if endpoint.status == "UpdateRollbackFailed":  # no source
        raise invalid(
            f'Cannot scale endpoint "{endpoint.arn}", whose update and rollback failed: call '
            "UpdateEndpoint first."
        )
    raise invalid(f'Cannot update in-progress endpoint "{endpoint.arn}".')


def _refuse_changed(old: Record, new: Record, scaled: Collection[str]) -> None:
    """Raise `ApiError` if an update changes a scaled variant's instance type, or removes it.

    Source: the developer guide, "Update endpoints that use auto scaling"; only the model may
    change. The error for a removed variant has no source. Changes between instance type and
    instance pools are allowed (AWS machine learning blog, "Capacity-aware inference").
    """
    types = {
        variant["VariantName"]: variant.get("InstanceType") for variant in new["ProductionVariants"]
    }
    for variant in old["ProductionVariants"]:
        name, before = variant["VariantName"], variant.get("InstanceType")
        removed, after = name not in types, types.get(name)
        if name in scaled and (removed or (before and after and before != after)):
            raise invalid(
                f"Variant {name} is a scalable target of Application Auto Scaling: call "
                "DeregisterScalableTarget before you remove the variant or change its instance "
                "type."
            )
