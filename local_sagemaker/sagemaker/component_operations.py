"""SageMaker's inference component operations, and the scaling of their instances."""

import copy
from collections.abc import Iterable
from functools import partial
from typing import Any

from local_sagemaker.errors import invalid
from local_sagemaker.hosting.copies import Placement
from local_sagemaker.hosting.fleet import Fleet
from local_sagemaker.hosting.launch import Host
from local_sagemaker.sagemaker import variants
from local_sagemaker.sagemaker.component import Component, component_plan
from local_sagemaker.sagemaker.deployment import parse_deployment, rollback_alarms
from local_sagemaker.sagemaker.endpoint import Endpoint
from local_sagemaker.sagemaker.endpoint_operations import EndpointOperations
from local_sagemaker.sagemaker.registry import HostingPlan
from local_sagemaker.sagemaker.resources import COMPONENT, ENDPOINT, MODEL, Record
from local_sagemaker.sagemaker.update import Update
from local_sagemaker.validation.hosting import check_alarms_exist, check_deployment

PROVISION_SECONDS = 105.0
"""Start time of an added instance in AWS's seconds (AWS machine learning blog, "Unlock cost savings
with the new scale down to zero feature": 1.75 minutes)."""

IDLE_SECONDS = 600.0
"""Time in AWS's seconds until an instance without copies is ended: "after 10 additional minutes of
inactivity" (the same blog); 12 minutes were measured (huggingface/skills,
hf-cloud-sagemaker-production-defaults)."""


PENDING = "PendingDeploymentSummary"

SCALE_SECONDS = 60.0
"""Interval of scaling the instances, in AWS's seconds."""


class HostingOperations(EndpointOperations):
    """All supported operations of SageMaker's hosting, with those of inference components.

    Idle times of instances are divided by `speed`.
    """

    def __init__(self, host: Host, *, speed: float = 1, **settings: Any) -> None:
        super().__init__(host, **settings)
        self._speed = speed
        self.components: dict[str, Component] = {}

    def create_inference_component(self, request: Record) -> Record:
        """CreateInferenceComponent: returns immediately; InService or Failed later."""
        name = request["InferenceComponentName"]
        with self._lock:
            COMPONENT.check_name_is_free(self.components, name)
            endpoint = ENDPOINT.find(self.endpoints_by_name, request["EndpointName"])
            if not endpoint.hosts_components:
                # Source of the message: pulumi/pulumi-aws#4940.
                raise invalid(
                    "Inference Components are not supported in this Endpoint. Please make sure "
                    "this endpoint can deploy inference components."
                )
            if endpoint.status != "InService":  # no source
                raise invalid(f'Cannot update in-progress endpoint "{endpoint.arn}".')
            (variant,) = endpoint.plan.config["ProductionVariants"]
            variant_name = request.get("VariantName", variant["VariantName"])
            if variant_name != variant["VariantName"]:  # no source
                raise invalid(f"Could not find variant {variant_name}.")
            count = request["RuntimeConfig"]["CopyCount"]
            plan = self._component_plan(name, endpoint, request["Specification"])
            copies = _variant_of_copies(plan, count)
            description = {
                **self._new_description(COMPONENT, {**request, "VariantName": variant_name}),
                "EndpointName": endpoint.name,
                "EndpointArn": endpoint.arn,
            }
            component = Component(description, plan, self._lock, self._context.host.report_event)
            self.components[name] = component
            component.attach_new_fleet(
                plan,
                self._new_copies(endpoint),
                copies,
                EndpointStatus="Creating",
                ProductionVariants=copies,
            )
        self._in_background(self._finish_creation, component)
        return {"InferenceComponentArn": description["InferenceComponentArn"]}

    def update_inference_component(self, request: Record) -> Record:
        """UpdateInferenceComponent: the old copies serve until the new ones are healthy.

        Without a DeploymentConfig all copies are replaced at once; SageMaker's behaviour has no
        source. New copies need resources while the old ones still run: a copy that fills its
        instance needs another instance.
        """
        config = request.get("DeploymentConfig", {})
        if alarms := rollback_alarms(config):
            check_alarms_exist(alarms, self._context.alarms(alarms))
        with self._lock:
            component = self._idle_component(request, "update")
            (current_count,) = variants.desired_counts(component.variants).values()
            count = request.get("RuntimeConfig", {}).get("CopyCount", current_count)
            if "Specification" not in request:
                return self._scale(component, count)
            endpoint = ENDPOINT.find(self.endpoints_by_name, component.name)
            plan = self._component_plan(component.resource_name, endpoint, request["Specification"])
            pending = _variant_of_copies(plan, count)
            counts = variants.desired_counts(pending)
            if count:
                check_deployment(config, counts)
            steps = parse_deployment(config if count else {}, counts)
            fleet = self._new_copies(endpoint)
            changes = {"LastDeploymentConfig": config} if config else {}
            component.operation = "UPDATE_IN_PROGRESS"
            component.attach_new_fleet(plan, fleet, pending, EndpointStatus="Updating", **changes)
            update = Update(component, steps, self._context)
        self._in_background(update.run)
        return {"InferenceComponentArn": component.description["InferenceComponentArn"]}

    def update_inference_component_runtime_config(self, request: Record) -> Record:
        """UpdateInferenceComponentRuntimeConfig: Updating until the number of copies is reached."""
        with self._lock:
            component = self._idle_component(request, "update")
            return self._scale(component, request["DesiredRuntimeConfig"]["CopyCount"])

    def delete_inference_component(self, request: Record) -> Record:
        """DeleteInferenceComponent: returns immediately; Deleting until its calls are completed."""
        with self._lock:
            component = self._idle_component(request, "delete")
            component.operation = "DELETE_IN_PROGRESS"
            component.set_members(EndpointStatus="Deleting")
        self._in_background(self._finish_deletion, component, self.components)
        return {}

    def describe_inference_component(self, request: Record) -> Record:
        """DescribeInferenceComponent."""
        with self._lock:
            component: Component = COMPONENT.find(
                self.components, request["InferenceComponentName"]
            )
            return component.describe()

    def list_inference_components(self, request: Record) -> Record:
        """ListInferenceComponents."""
        with self._lock:
            return COMPONENT.list(
                (component.describe() for component in self.components.values()), request
            )

    def fleet_owners(self) -> list[Endpoint]:
        """Return the components and the endpoints."""
        with self._lock:
            return [*self.components.values(), *self.endpoints_by_name.values()]

    def scale_instances(self) -> None:
        """Add missing instances and stop idle ones of endpoints with ManagedInstanceScaling.

        The instances that new copies need are added by `Placement`.
        """
        for endpoint in self.endpoints():
            if endpoint.hosts_components and endpoint.status == "InService":
                (variant,) = endpoint.plan.config["ProductionVariants"]
                scaling = variant.get("ManagedInstanceScaling", {})
                if scaling.get("Status") == "ENABLED":
                    self._scale_instances(endpoint, scaling["MinInstanceCount"])

    def _scale_instances(self, endpoint: Endpoint, minimum: int) -> None:
        (count,) = variants.desired_counts(endpoint.variants).values()
        idle_seconds = IDLE_SECONDS / self._speed
        placement = self._placement(endpoint)
        if count < minimum:
            placement.add_instance()
        elif placement.release_idle_instances(idle_seconds, count - minimum):
            self._update_instance_counts(endpoint)

    def _idle_component(self, request: Record, verb: str) -> Component:
        """Return a component with no operation in progress. Raise `ApiError`.

        Source of the message for deletions: huggingface/skills,
        hf-cloud-sagemaker-production-defaults. Without a source: the message for updates, and that
        a failed component can only be deleted, like an endpoint.
        """
        component: Component = COMPONENT.find(self.components, request["InferenceComponentName"])
        is_failed = component.status == "Failed"
        if component.status in ("InService", "UpdateRollbackFailed") or (
            is_failed and verb == "delete"
        ):
            return component
        raise invalid(
            f'Cannot {verb} inference component "{component.description["InferenceComponentArn"]}" '
            f"while it is in state {'CREATE_FAILED' if is_failed else component.operation}"
        )

    def _component_plan(self, name: str, endpoint: Endpoint, specification: Record) -> HostingPlan:
        model = MODEL.find(self._models, specification["ModelName"])
        if model["PrimaryContainer"]["Mode"] == "MultiModel":
            raise invalid(
                "The local SageMaker does not support multi-model inference components: give "
                f"model {specification['ModelName']} the mode SingleModel."
            )
        (variant,) = endpoint.plan.config["ProductionVariants"]
        return component_plan(name, variant["InstanceType"], specification, model)

    def _scale(self, component: Component, count: int) -> Record:
        desired = [{"VariantName": component.resource_name, "DesiredInstanceCount": count}]
        component.operation = "UPDATE_RC_IN_PROGRESS"
        component.set_members(
            EndpointStatus="Updating",
            FailureReason=None,
            ProductionVariants=variants.with_desired(component.variants, desired),
        )
        self._in_background(self._finish_scaling, component)
        return {"InferenceComponentArn": component.description["InferenceComponentArn"]}

    # Restart

    def records(self) -> Record:
        """Return what `restore` needs. An update in progress is left out."""
        with self._lock:
            return copy.deepcopy(
                {
                    "models": self._models,
                    "configs": self._configs,
                    "tags": self.tags.by_arn,
                    "endpoints": _records(self.endpoints_by_name.values()),
                    "components": _records(self.components.values()),
                }
            )

    def restore(self, records: Record) -> None:
        """Restore models, configurations, endpoints and components.

        Endpoints and components are Creating until their instances are healthy.
        """
        self._models.update(records["models"])
        self._configs.update(records["configs"])
        self.tags.by_arn.update(records["tags"])
        report = self._context.host.report_event
        for description, config, models in records["components"]:
            component = Component(description, HostingPlan(config, models), self._lock, report)
            self.components[component.resource_name] = component
        for description, config, models in records["endpoints"]:
            endpoint = Endpoint(description, HostingPlan(config, models), self._lock, report)
            self.endpoints_by_name[endpoint.name] = endpoint
            self._in_background(self._start_again, endpoint)

    def _start_again(self, endpoint: Endpoint) -> None:
        """Start the instances of a restored endpoint, then the copies of its components."""
        if endpoint.status != "Failed":
            fleet = self._context.fleet()
            endpoint.attach_new_fleet(endpoint.plan, fleet, endpoint.variants)
            self._finish_creation(endpoint)
        for component in list(self.components.values()):
            if component.name != endpoint.name or component.status == "Failed":
                continue
            if endpoint.fleet is None:
                reason = endpoint.description["FailureReason"]
                component.set_members(EndpointStatus="Failed", FailureReason=reason)
            else:
                copies = self._new_copies(endpoint)
                component.attach_new_fleet(component.plan, copies, component.variants)
                self._in_background(self._finish_creation, component)

    # Instances

    def _new_copies(self, endpoint: Endpoint) -> Fleet:
        return self._context.fleet(self._placement(endpoint))

    def _placement(self, endpoint: Endpoint) -> Placement:
        with self._lock:
            if endpoint.placement is None:
                assert endpoint.fleet is not None
                (variant,) = endpoint.plan.config["ProductionVariants"]
                endpoint.placement = Placement(
                    endpoint.fleet, variant["InstanceType"], partial(self._add_instance, endpoint)
                )
            return endpoint.placement

    def _add_instance(self, endpoint: Endpoint) -> bool:
        """Add an instance, unless MaxInstanceCount is reached; return whether it was added.

        Raise `ApiError` if the account's quota is exceeded, and `LocalSageMakerError` if AWS has no
        capacity of the type.
        """
        (variant,) = endpoint.plan.config["ProductionVariants"]
        scaling = variant.get("ManagedInstanceScaling", {})
        ((name, count),) = variants.desired_counts(endpoint.variants).items()
        if (
            endpoint.fleet is None
            or scaling.get("Status") != "ENABLED"
            or count >= scaling["MaxInstanceCount"]
        ):
            return False
        self._check_quotas(endpoint.plan.config, {name: 1})
        self._context.clock().wait_until_elapsed(PROVISION_SECONDS, self._context.stopping)
        endpoint.fleet.scale({name: count + 1})
        self._update_instance_counts(endpoint)
        return True

    def _update_instance_counts(self, endpoint: Endpoint) -> None:
        """Set the instance counts in an endpoint's description to those of the fleet."""
        with self._lock:
            if endpoint.fleet is not None:
                counts = endpoint.fleet.counts
                (variant,) = variants.with_current_counts(endpoint.variants, counts)
                variant["DesiredInstanceCount"] = variant["CurrentInstanceCount"]
                endpoint.set_members(ProductionVariants=[variant])


def _variant_of_copies(plan: HostingPlan, count: int) -> list[Record]:
    """Return the variant of a component's plan, with `count` copies as its instances."""
    members = ("CurrentInstanceCount", "DesiredInstanceCount")
    (variant,) = variants.from_config(plan.config)
    return [{**variant, **dict.fromkeys(members, count)}]


def _records(owners: Iterable[Endpoint]) -> list[tuple[Record, Record, dict[str, Record]]]:
    """Return description, configuration and models of endpoints or components, to start again."""
    return [
        (
            {
                **{name: value for name, value in owner.description.items() if name != PENDING},
                "EndpointStatus": "Failed" if owner.status == "Failed" else "Creating",
            },
            owner.plan.config,
            owner.plan.models,
        )
        for owner in owners
        if owner.status != "Deleting"
    ]
