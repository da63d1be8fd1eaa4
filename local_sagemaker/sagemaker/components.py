"""SageMaker's inference component operations, and the scaling of their instances."""

from functools import partial
from typing import Any

from local_sagemaker.errors import invalid
from local_sagemaker.hosting.copies import Placement
from local_sagemaker.hosting.launch import Host
from local_sagemaker.sagemaker import variants
from local_sagemaker.sagemaker.component import Component, component_plan
from local_sagemaker.sagemaker.deployment import alarms_of, deployment
from local_sagemaker.sagemaker.deployment_checks import check_alarms, check_deployment
from local_sagemaker.sagemaker.endpoint import Endpoint
from local_sagemaker.sagemaker.hosting_api import Hosting
from local_sagemaker.sagemaker.registry import Plan
from local_sagemaker.sagemaker.resources import COMPONENT, ENDPOINT, MODEL, Record
from local_sagemaker.sagemaker.update import Update

PROVISION_SECONDS = 105.0
"""Start time of an added instance in AWS's seconds (AWS machine learning blog, "Unlock cost savings
with the new scale down to zero feature": 1.75 minutes)."""

IDLE_SECONDS = 600.0
"""Time in AWS's seconds until an instance without copies is ended: "after 10 additional minutes of
inactivity" (the same blog); 12 minutes were measured (huggingface/skills,
hf-cloud-sagemaker-production-defaults)."""


SCALE_SECONDS = 60.0
"""Interval of scaling the instances, in AWS's seconds."""


class Components(Hosting):
    """SageMaker's hosting operations with inference components; `components` is by name.

    Idle times of instances are divided by `speed`.
    """

    def __init__(self, host: Host, *, speed: float = 1, **more: Any) -> None:
        super().__init__(host, **more)
        self._speed = speed
        self.components: dict[str, Component] = {}

    def create_inference_component(self, request: Record) -> Record:
        """CreateInferenceComponent: returns immediately; it is InService or Failed later."""
        name = request["InferenceComponentName"]
        with self._lock:
            COMPONENT.check_name_is_free(self.components, name)
            endpoint = ENDPOINT.find(self.by_name, request["EndpointName"])
            if not endpoint.hosts_components:
                # The text: pulumi/pulumi-aws#4940.
                raise invalid(
                    "Inference Components are not supported in this Endpoint. Please make sure "
                    "this endpoint can deploy inference components."
                )
            if endpoint.status != "InService":  # no source
                raise invalid(f'Cannot update in-progress endpoint "{endpoint.arn}".')
            (variant,) = endpoint.plan.config["ProductionVariants"]
            hosted_by = request.get("VariantName", variant["VariantName"])
            if hosted_by != variant["VariantName"]:  # no source
                raise invalid(f"Could not find variant {hosted_by}.")
            count = request.get("RuntimeConfig", {}).get("CopyCount", 0)
            if count < 1:
                # The text: stdapi-ai/stdapi.ai#43; that RuntimeConfig is required has no source.
                raise invalid("Inference components copy count an integer larger than 0")
            plan = self._component_plan(name, endpoint, request.get("Specification", {}))
            described = _counted(plan, count)
            born = self._born(COMPONENT, {**request, "VariantName": hosted_by})
            named = {"EndpointName": endpoint.name, "EndpointArn": endpoint.arn}
            report = self._site.host.report_event
            component = Component({**born, **named}, plan, self._lock, report)
            self.components[name] = component
            fleet = self._copies(endpoint)
            component.begin(
                plan, fleet, described, EndpointStatus="Creating", ProductionVariants=described
            )
        self._in_background(self._bring_up, component, plan)
        return {"InferenceComponentArn": born["InferenceComponentArn"]}

    def update_inference_component(self, request: Record) -> Record:
        """UpdateInferenceComponent: the old copies serve until the new ones are healthy.

        Without a DeploymentConfig all copies are replaced at once; SageMaker's behaviour has no
        source. New copies need resources while the old ones still run: a copy that fills its
        instance needs another instance.
        """
        config = request.get("DeploymentConfig", {})
        if alarms := alarms_of(config):
            check_alarms(alarms, self._site.alarms(alarms))
        with self._lock:
            component = self._settled(request, "update")
            (current,) = variants.counts(component.variants).values()
            count = request.get("RuntimeConfig", {}).get("CopyCount", current)
            if "Specification" not in request:
                if "RuntimeConfig" not in request:
                    # hashicorp/terraform-provider-aws#48894; the text has no source.
                    raise invalid("Specify a Specification or a RuntimeConfig.")
                return self._scale(component, count)
            endpoint = ENDPOINT.find(self.by_name, component.name)
            plan = self._component_plan(component.key, endpoint, request["Specification"])
            pending = _counted(plan, count)
            counts = variants.counts(pending)
            if count:
                check_deployment(config, counts)
            steps = deployment(config if count else {}, counts)
            fleet = self._copies(endpoint)
            kept = {"LastDeploymentConfig": config} if config else {}
            component.operation = "UPDATE_IN_PROGRESS"
            component.begin(plan, fleet, pending, EndpointStatus="Updating", **kept)
            update = Update(component, plan, steps, site=self._site, new=fleet)
        self._in_background(update.run)
        return {"InferenceComponentArn": component.description["InferenceComponentArn"]}

    def update_inference_component_runtime_config(self, request: Record) -> Record:
        """UpdateInferenceComponentRuntimeConfig: Updating until the number of copies is reached."""
        with self._lock:
            component = self._settled(request, "update")
            return self._scale(component, request["DesiredRuntimeConfig"]["CopyCount"])

    def delete_inference_component(self, request: Record) -> Record:
        """DeleteInferenceComponent: returns immediately; Deleting until its calls are completed.

        Components remain when their endpoint is deleted: "delete-endpoint does not delete the
        components" (huggingface/skills, hf-cloud-sagemaker-production-defaults).
        """
        with self._lock:
            component = self._settled(request, "delete")
            component.operation = "DELETE_IN_PROGRESS"
            component.set(EndpointStatus="Deleting")
        self._in_background(self._take_down, component, self.components)
        return {}

    def describe_inference_component(self, request: Record) -> Record:
        """DescribeInferenceComponent."""
        with self._lock:
            component: Component = COMPONENT.find(
                self.components, request["InferenceComponentName"]
            )
            return component.described()

    def list_inference_components(self, request: Record) -> Record:
        """ListInferenceComponents."""
        with self._lock:
            return COMPONENT.list(
                (component.described() for component in self.components.values()), request
            )

    def deployed(self) -> list[Endpoint]:
        """Return the components and the endpoints."""
        with self._lock:
            return [*self.components.values(), *self.by_name.values()]

    def scale_instances(self) -> None:
        """Add or end instances of endpoints with ManagedInstanceScaling.

        Instances that new copies need are added by `Placement`.
        """
        for endpoint in self.endpoints():
            if endpoint.hosts_components and endpoint.status == "InService":
                (variant,) = endpoint.plan.config["ProductionVariants"]
                scaling = variant.get("ManagedInstanceScaling", {})
                if scaling.get("Status") == "ENABLED":
                    self._scale_instances(endpoint, scaling["MinInstanceCount"])

    def _scale_instances(self, endpoint: Endpoint, least: int) -> None:
        ((_, count),) = variants.counts(endpoint.variants).items()
        seconds = IDLE_SECONDS / self._speed
        placement = self._placement(endpoint)
        if count < least:
            placement.add_instance()
        elif placement.release_idle_instances(seconds, count - least):
            self._count_instances(endpoint)

    def _settled(self, request: Record, verb: str) -> Component:
        """Return a component with no operation in progress. Raise `ApiError`.

        Source of the message for deletions: huggingface/skills,
        hf-cloud-sagemaker-production-defaults. Without a source: the message for updates, and that
        a failed component can only be deleted, like an endpoint.
        """
        component: Component = COMPONENT.find(self.components, request["InferenceComponentName"])
        failed = component.status == "Failed"
        if component.status in ("InService", "UpdateRollbackFailed") or (
            failed and verb == "delete"
        ):
            return component
        raise invalid(
            f'Cannot {verb} inference component "{component.description["InferenceComponentArn"]}" '
            f"while it is in state {'CREATE_FAILED' if failed else component.operation}"
        )

    def _component_plan(self, name: str, endpoint: Endpoint, specification: Record) -> Plan:
        for member in ("ModelName", "ComputeResourceRequirements"):
            if member not in specification:
                raise invalid(f"The local SageMaker needs {member} in the Specification.")
        model = MODEL.find(self._models, specification["ModelName"])
        if model["PrimaryContainer"]["Mode"] == "MultiModel":
            raise invalid(
                "The local SageMaker does not support multi-model inference components: give "
                f"model {specification['ModelName']} the mode SingleModel."
            )
        (variant,) = endpoint.plan.config["ProductionVariants"]
        return component_plan(name, variant["InstanceType"], specification, model)

    def _scale(self, component: Component, count: int) -> Record:
        desired = [{"VariantName": component.key, "DesiredInstanceCount": count}]
        changed = variants.with_desired(component.variants, desired)
        component.operation = "UPDATE_RC_IN_PROGRESS"
        component.set(EndpointStatus="Updating", FailureReason=None, ProductionVariants=changed)
        self._in_background(self._reach_desired, component)
        return {"InferenceComponentArn": component.description["InferenceComponentArn"]}

    # Instances

    def _copies(self, endpoint: Endpoint) -> Any:
        return self._site.fleet(self._placement(endpoint))

    def _placement(self, endpoint: Endpoint) -> Placement:
        with self._lock:
            if endpoint.placement is None:
                assert endpoint.fleet is not None
                (variant,) = endpoint.plan.config["ProductionVariants"]
                add = partial(self._add_instance, endpoint)
                endpoint.placement = Placement(endpoint.fleet, variant["InstanceType"], add)
            return endpoint.placement

    def _add_instance(self, endpoint: Endpoint) -> bool:
        """Add an instance, unless MaxInstanceCount is reached; return whether it was added.

        Raise `ApiError` if the account's quota is exceeded, and `LocalSageMakerError` without
        capacity.
        """
        (variant,) = endpoint.plan.config["ProductionVariants"]
        scaling = variant.get("ManagedInstanceScaling", {})
        ((name, count),) = variants.counts(endpoint.variants).items()
        if (
            endpoint.fleet is None
            or scaling.get("Status") != "ENABLED"
            or count >= scaling["MaxInstanceCount"]
        ):
            return False
        self._check_quotas(endpoint.plan.config, {name: 1})
        self._site.clock().wait_until_elapsed(PROVISION_SECONDS, self._site.stopping)
        endpoint.fleet.scale({name: count + 1})
        self._count_instances(endpoint)
        return True

    def _count_instances(self, endpoint: Endpoint) -> None:
        """Set the instance counts in an endpoint's description."""
        with self._lock:
            if endpoint.fleet is not None:
                counts = endpoint.fleet.counts
                (variant,) = variants.with_current_counts(endpoint.variants, counts)
                variant["DesiredInstanceCount"] = variant["CurrentInstanceCount"]
                endpoint.set(ProductionVariants=[variant])


def _counted(plan: Plan, count: int) -> list[Record]:
    """Return the component as a variant with `count` copies."""
    members = ("CurrentInstanceCount", "DesiredInstanceCount")
    (variant,) = variants.described(plan.config)
    return [{**variant, **dict.fromkeys(members, count)}]
