"""SageMaker's endpoint operations."""

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any

from local_sagemaker.clock import Clock
from local_sagemaker.dashboard_events import EventKind
from local_sagemaker.errors import invalid
from local_sagemaker.hosting.fleet import Fleet
from local_sagemaker.hosting.launch import Host
from local_sagemaker.sagemaker import variants
from local_sagemaker.sagemaker.deployment import parse_deployment, rollback_alarms
from local_sagemaker.sagemaker.endpoint import (
    MIN_STATUS_SECONDS,
    Endpoint,
    HostingContext,
    drain_and_stop,
    failure_reason,
    provision_seconds,
)
from local_sagemaker.sagemaker.instance_quotas import QuotaValue, check_quotas
from local_sagemaker.sagemaker.registry import HostingPlan, Registry
from local_sagemaker.sagemaker.resources import ENDPOINT, ENDPOINT_CONFIG, Record
from local_sagemaker.sagemaker.update import Update
from local_sagemaker.validation.hosting import (
    check_alarms_exist,
    check_deployment,
    check_variant_names,
    check_variants_exist,
)

_log = logging.getLogger(__name__)


class EndpointOperations(Registry):
    """The operations on models, configurations and endpoints. All methods are thread-safe.

    `fleet` creates a fleet, and `clock` the clock of an operation. `alarms` returns the states of
    existing CloudWatch alarms by name. `is_assumable` returns whether SageMaker may assume a role.
    `scalable_variants` returns the variants of an endpoint that are scalable targets, and
    `deregister` deregisters them.
    """

    def __init__(
        self,
        host: Host,
        *,
        fleet: Callable[..., Fleet],
        clock: Callable[[], Clock],
        alarms: Callable[[Collection[str]], Mapping[str, str]],
        is_assumable: Callable[[str], bool],
        quota_value: QuotaValue,
        scalable_variants: Callable[[str], Collection[str]],
        deregister: Callable[[str], None],
    ) -> None:
        super().__init__(host.s3, is_assumable=is_assumable)
        self._context = HostingContext(host, fleet, clock, alarms, threading.Event())
        self._scalable_variants, self._deregister = scalable_variants, deregister
        self._quota_value = quota_value
        self.endpoints_by_name: dict[str, Endpoint] = {}

    def create_endpoint(self, request: Record) -> Record:
        """CreateEndpoint: returns immediately; the endpoint is InService or Failed later.

        A DeploymentConfig has no effect on a creation (developer guide,
        deployment-guardrails-blue-green-all-at-once).
        """
        name = request["EndpointName"]
        with self._lock:
            ENDPOINT.check_name_is_free(self.endpoints_by_name, name)
            plan = self._hosting_plan(request)
            initial_variants = variants.from_config(plan.config)
            counts = variants.desired_counts(initial_variants)
            self._check_quotas(plan.config, counts)
            description = self._new_description(
                ENDPOINT, {"EndpointName": name, "Tags": request.get("Tags", [])}
            )
            if "DeploymentConfig" in request:
                check_deployment(request["DeploymentConfig"], counts)
                description["LastDeploymentConfig"] = request["DeploymentConfig"]
            endpoint = Endpoint(description, plan, self._lock, self._context.host.report_event)
            self.endpoints_by_name[name] = endpoint
            endpoint.attach_new_fleet(
                plan,
                self._context.fleet(),
                initial_variants,
                EndpointConfigName=request["EndpointConfigName"],
                EndpointStatus="Creating",
                ProductionVariants=initial_variants,
            )
        self._in_background(self._finish_creation, endpoint)
        return {"EndpointArn": endpoint.arn}

    def update_endpoint(self, request: Record) -> Record:
        """UpdateEndpoint: the old instances serve until the new ones are healthy.

        An update to the serving configuration is accepted; no source was found for an error.
        RetainDeploymentConfig reuses "the last deployment configuration" (API reference). That a
        DeploymentConfig has precedence has no source.
        """
        name = request["EndpointName"]
        if name in self.endpoints_by_name and self.endpoints_by_name[name].hosts_components:
            return self._update_in_place(request)
        scalable_variants = self._scalable_variants(name)
        deployment_config = request.get("DeploymentConfig", {})
        if request.get("RetainDeploymentConfig") and not deployment_config:
            deployment_config = self.describe_endpoint(request).get("LastDeploymentConfig", {})
        if alarms := rollback_alarms(deployment_config):
            check_alarms_exist(alarms, self._context.alarms(alarms))
        with self._lock:
            endpoint = ENDPOINT.find(self.endpoints_by_name, name)
            _check_status(endpoint, "InService", "UpdateRollbackFailed")
            # The update fails if the old configuration was deleted: the error message in
            # hashicorp/terraform-provider-aws#40048 and #48997 contains the old name.
            old_config = self.describe_endpoint_config(endpoint.description)
            plan = self._hosting_plan(request)
            _check_scaled_variants(old_config, plan.config, scalable_variants)
            pending = variants.with_retained_properties(endpoint.variants, plan.config, request)
            counts = variants.desired_counts(pending)
            check_variant_names(
                deployment_config, list(variants.desired_counts(endpoint.variants)), list(counts)
            )
            check_deployment(deployment_config, counts)
            steps = parse_deployment(deployment_config, counts)
            self._check_quotas(plan.config, steps.first_step_counts(counts))
            changes = {"LastDeploymentConfig": deployment_config} if deployment_config else {}
            endpoint.attach_new_fleet(
                plan, self._context.fleet(), pending, EndpointStatus="Updating", **changes
            )
            update = Update(endpoint, steps, self._context)
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
            for endpoint in self.endpoints_by_name.values():
                in_progress = endpoint.status in ("Creating", "Updating", "RollingBack")
                if in_progress and name in endpoint.config_names:
                    raise invalid(
                        f'Cannot delete endpoint configuration "{ENDPOINT_CONFIG.arn(name)}": '
                        f'endpoint "{endpoint.arn}" uses it and has the status {endpoint.status}.'
                    )
            return super().delete_endpoint_config(request)

    def describe_endpoint(self, request: Record) -> Record:
        """DescribeEndpoint: without ProductionVariants until the endpoint has been InService.

        Source: recordings of Creating and Failed endpoints (cloud-custodian/cloud-custodian,
        tests/data/placebo/test_sagemaker_endpoints and test_sagemaker_endpoint_tag).
        """
        with self._lock:
            endpoint: Endpoint = ENDPOINT.find(self.endpoints_by_name, request["EndpointName"])
            description = endpoint.describe()
            if endpoint.fleet is None:
                description.pop("ProductionVariants", None)
            return description

    def list_endpoints(self, request: Record) -> Record:
        """ListEndpoints."""
        with self._lock:
            return ENDPOINT.list(
                (endpoint.description for endpoint in self.endpoints_by_name.values()), request
            )

    def delete_endpoint(self, request: Record) -> Record:
        """DeleteEndpoint: returns immediately; the status is Deleting until all calls have ended.

        Rejected during a creation, update or deletion. Source:
        aws/amazon-sagemaker-operator-for-k8s, `DeleteEndpointInProgressMessagePrefix`. Rejected
        while it has inference components. Source: gruntwork-io/cloud-nuke#1142. The variants
        are deregistered as scalable targets (developer guide, "Delete endpoints configured for auto
        scaling").
        """
        name = request["EndpointName"]
        with self._lock:
            endpoint = ENDPOINT.find(self.endpoints_by_name, name)
            _check_status(endpoint, "InService", "Failed", "UpdateRollbackFailed")
            if any(owner.name == name for owner in self.fleet_owners() if owner is not endpoint):
                raise invalid(
                    "Cannot delete endpoint with inference component associated. Please delete "
                    "inference component and try it again."
                )
            endpoint.set_members(EndpointStatus="Deleting")
        self._deregister(name)
        self._in_background(self._finish_deletion, endpoint, self.endpoints_by_name)
        return {}

    def update_endpoint_weights_and_capacities(self, request: Record) -> Record:
        """UpdateEndpointWeightsAndCapacities: Updating until the desired counts are reached.

        The weights take effect when the endpoint is InService again.
        """
        requested = request["DesiredWeightsAndCapacities"]
        with self._lock:
            endpoint = ENDPOINT.find(self.endpoints_by_name, request["EndpointName"])
            _check_status(endpoint, "InService")
            if endpoint.hosts_components and any(
                "DesiredInstanceCount" in variant for variant in requested
            ):
                raise invalid(
                    "ManagedInstanceScaling sets the number of instances of an endpoint with "
                    "inference components: leave out DesiredInstanceCount."
                )
            check_variants_exist(
                requested, [variant["VariantName"] for variant in endpoint.variants]
            )
            desired = variants.with_desired(endpoint.variants, requested)
            old_counts = variants.desired_counts(endpoint.variants)
            new_counts = variants.desired_counts(desired)
            added = {name: count - old_counts[name] for name, count in new_counts.items()}
            self._check_quotas(endpoint.plan.config, added)
            endpoint.set_members(
                EndpointStatus="Updating", FailureReason=None, ProductionVariants=desired
            )
        self._in_background(self._finish_scaling, endpoint)
        return {"EndpointArn": endpoint.arn}

    def fleets(self) -> list[tuple[str, Fleet]]:
        """Return the serving and the starting fleets, each with its endpoint's name."""
        with self._lock:
            return [
                (endpoint.name, fleet)
                for endpoint in self.fleet_owners()
                for fleet in (endpoint.fleet, endpoint.new_fleet)
                if fleet is not None
            ]

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints; hold an endpoint's lock to read several attributes."""
        with self._lock:
            return list(self.endpoints_by_name.values())

    def fleet_owners(self) -> list[Endpoint]:
        """Return all resources with fleets; a subclass adds the inference components."""
        return self.endpoints()

    def stop(self) -> None:
        """End all waits and stop all fleets."""
        with self._lock:
            self._context.stopping.set()
            fleets = [fleet for endpoint in self.fleet_owners() for fleet in endpoint.take_fleets()]
            self.endpoints_by_name.clear()
        for fleet in fleets:
            fleet.stop()

    # Background threads of operations

    def _finish_creation(self, endpoint: Endpoint) -> None:
        clock, plan = self._context.clock(), endpoint.new_plan
        fleet, counts = endpoint.new_fleet, variants.desired_counts(endpoint.variants)
        if fleet is None:  # the local SageMaker is stopping
            return
        try:
            fleet.start(self._context.host, endpoint.name, plan.config, plan.models, counts)
            clock.wait_until_elapsed(MIN_STATUS_SECONDS, self._context.stopping)
        except Exception as error:
            fleet.stop()
            seconds = provision_seconds(error) or MIN_STATUS_SECONDS
            clock.wait_until_elapsed(seconds, self._context.stopping)
            with self._lock:
                endpoint.new_fleet = None
                endpoint.set_members(
                    EndpointStatus="Failed",
                    FailureReason=failure_reason(error),
                    PendingDeploymentSummary=None,
                )
            return
        with self._lock:
            if not self._context.stopping.is_set():
                endpoint.switch_to_new_fleet()

    def _finish_deletion(self, endpoint: Endpoint, endpoints: dict[str, Any]) -> None:
        """Stop an endpoint's fleets, and delete the endpoint from `endpoints`."""
        try:
            for fleet in (endpoint.new_fleet, endpoint.fleet):
                if fleet is not None:
                    drain_and_stop(fleet)
        finally:
            with self._lock:
                if (
                    endpoints.get(endpoint.resource_name) is endpoint
                ):  # else the local SageMaker is stopping
                    self._delete(endpoint.kind, endpoints, endpoint.resource_name)
                    endpoint.report_event(
                        EventKind.ENDPOINT_DELETED, f"{endpoint.resource_name} is deleted."
                    )

    def _update_in_place(self, request: Record) -> Record:
        """Change the configuration of an endpoint of inference components.

        Instances and copies keep running; whether SageMaker replaces them has no source. Source of
        the first message: aws-samples/sample-auto-extract-ai-ocr-app#66.
        """
        with self._lock:
            endpoint = ENDPOINT.find(self.endpoints_by_name, request["EndpointName"])
            _check_status(endpoint, "InService")
            plan = self._hosting_plan(request)
            (old_variant,) = endpoint.plan.config["ProductionVariants"]
            new_variant, *other_variants = plan.config["ProductionVariants"]
            if old_variant["InstanceType"] != new_variant.get("InstanceType"):
                raise invalid(
                    "Cannot update endpoint with a different instance type for endpoints to which "
                    "you plan to deploy Inference Components."
                )
            is_same_variant = (
                old_variant["VariantName"] == new_variant["VariantName"]
                and "ModelName" not in new_variant
            )
            if other_variants or not is_same_variant or len(request) > 2:
                raise invalid(
                    "The local SageMaker updates endpoints of inference components in place: keep "
                    f"the variant {old_variant['VariantName']} without a ModelName, and specify "
                    "only EndpointName and EndpointConfigName."
                )
            endpoint.set_members(EndpointStatus="Updating", FailureReason=None)
        self._in_background(self._finish_in_place_update, endpoint, plan)
        return {"EndpointArn": endpoint.arn}

    def _finish_in_place_update(self, endpoint: Endpoint, plan: HostingPlan) -> None:
        self._context.clock().wait_until_elapsed(MIN_STATUS_SECONDS, self._context.stopping)
        with self._lock:
            if endpoint.fleet is not None and not self._context.stopping.is_set():
                endpoint.fleet.reconfigure(plan.config)
                endpoint.plan = endpoint.new_plan = plan
                name = plan.config["EndpointConfigName"]
                endpoint.set_members(EndpointStatus="InService", EndpointConfigName=name)

    def _finish_scaling(self, endpoint: Endpoint) -> None:
        """Scale to the desired counts.

        A fleet that cannot be scaled keeps its instances, and the status is RollingBack before it
        is InService (API reference of DescribeEndpoint).
        """
        clock, desired = self._context.clock(), variants.desired_counts(endpoint.variants)
        seconds = MIN_STATUS_SECONDS
        try:
            if endpoint.fleet and desired != variants.current_counts(endpoint.variants):
                endpoint.fleet.scale(desired)
        except Exception as error:
            if self._context.stopping.is_set():
                return
            _log.warning("%s is not scaled: %s", endpoint.title, error)
            if lost_seconds := provision_seconds(error):
                clock.wait_until_elapsed(lost_seconds, self._context.stopping)
                seconds += lost_seconds
            endpoint.set_members(
                EndpointStatus="RollingBack",
                ProductionVariants=variants.with_current_as_desired(endpoint.variants),
                FailureReason=failure_reason(error),
            )
        clock.wait_until_elapsed(seconds, self._context.stopping)
        scaled_variants = variants.with_desired_as_current(endpoint.variants)
        endpoint.set_members(EndpointStatus="InService", ProductionVariants=scaled_variants)

    def _in_background(self, function: Any, *arguments: Any) -> None:
        threading.Thread(target=function, args=arguments, daemon=True).start()

    def _check_quotas(self, config: Record, added: Mapping[str, int]) -> None:
        check_quotas(self.endpoints_by_name.values(), config, added, self._quota_value)


def _check_status(endpoint: Endpoint, *allowed_statuses: str) -> None:
    """Raise `ApiError` unless the endpoint has an allowed status."""
    if endpoint.status in allowed_statuses:
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


def _check_scaled_variants(
    old_config: Record, new_config: Record, scalable_variants: Collection[str]
) -> None:
    """Raise `ApiError` if an update changes a scaled variant's instance type, or removes it.

    Source: the developer guide, "Update endpoints that use auto scaling"; only the model may
    change. The error for a removed variant has no source. Changes between instance type and
    instance pools are allowed (AWS machine learning blog, "Capacity-aware inference").
    """
    new_types = {
        variant["VariantName"]: variant.get("InstanceType")
        for variant in new_config["ProductionVariants"]
    }
    for variant in old_config["ProductionVariants"]:
        name, old_type = variant["VariantName"], variant.get("InstanceType")
        is_removed, new_type = name not in new_types, new_types.get(name)
        is_other_type = old_type and new_type and old_type != new_type
        if name in scalable_variants and (is_removed or is_other_type):
            raise invalid(
                f"Variant {name} is a scalable target of Application Auto Scaling: call "
                "DeregisterScalableTarget before you remove the variant or change its instance "
                "type."
            )
