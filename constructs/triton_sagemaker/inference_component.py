"""An inference component: its archive, the resources of a copy, and its updates."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aws_cdk import Size
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from platform_facts.rules.updates import CopiesUpdate, UpdateTimes
from triton_sagemaker.component_metrics import ComponentMetrics
from triton_sagemaker.problems import reject_plain_values
from triton_sagemaker.rollback_alarms import rollback_alarms
from triton_sagemaker.single_model_hosting import SingleModelHosting

Cfn = sagemaker.CfnInferenceComponent


@dataclass(frozen=True, kw_only=True)
class ModelComponent:
    """An archive, and the resources that each copy of it reserves.

    `name` is the InferenceComponentName, unique in an account and region. Include the instance type
    in it and in the name of the endpoint, because SageMaker can update neither to another type.
    `cpus` are vCPUs, `accelerators` whole GPUs. The component is created with `initial_copy_count`
    copies, one or more, because SageMaker rejects 0 (stdapi-ai/stdapi.ai#43).
    """

    name: str
    source: SingleModelHosting
    memory: Size
    cpus: float | None = None
    accelerators: int | None = None
    initial_copy_count: int = 1

    def __post_init__(self) -> None:
        reject_plain_values(memory=self.memory)


def component_resource(
    scope: Construct,
    metrics: ComponentMetrics,
    component: ModelComponent,
    *,
    id_suffix: str,
    endpoint: sagemaker.CfnEndpoint,
    model_name: str,
    startup: Mapping[str, Any],
    times: UpdateTimes,
    model_error_rate: float,
) -> Cfn:
    """Return the component, which is updated in batches of copies, with two rollback alarms.

    The alarms also monitor old copies, because no dimension distinguishes versions. `RuntimeConfig`
    has the number of copies at creation; no source states whether a stack update resets it.

    A change of `deployment_config` alone may fail: UpdateInferenceComponent rejects a request
    without a Specification (hashicorp/terraform-provider-aws#48894, seen on AWS), and no source
    states whether CloudFormation adds it.
    """
    batches = CopiesUpdate.of(times)
    alarms = rollback_alarms(scope, metrics, version=model_name, model_error_rate=model_error_rate)
    return Cfn(
        scope,
        f"Component-{metrics.model}{id_suffix}",
        deployment_config=Cfn.InferenceComponentDeploymentConfigProperty(
            auto_rollback_configuration=Cfn.AutoRollbackConfigurationProperty(
                alarms=[Cfn.AlarmProperty(alarm_name=alarm.alarm_name) for alarm in alarms]
            ),
            rolling_update_policy=Cfn.InferenceComponentRollingUpdatePolicyProperty(
                maximum_batch_size=Cfn.InferenceComponentCapacitySizeProperty(
                    type="CAPACITY_PERCENT", value=batches.percent
                ),
                maximum_execution_timeout_in_seconds=batches.max_seconds,
                wait_interval_in_seconds=batches.wait,
            ),
        ),
        endpoint_name=endpoint.attr_endpoint_name,
        inference_component_name=component.name,
        runtime_config=Cfn.InferenceComponentRuntimeConfigProperty(
            copy_count=component.initial_copy_count
        ),
        specification=Cfn.InferenceComponentSpecificationProperty(
            compute_resource_requirements=Cfn.InferenceComponentComputeResourceRequirementsProperty(
                min_memory_required_in_mb=component.memory.to_mebibytes(),
                number_of_accelerator_devices_required=component.accelerators,
                number_of_cpu_cores_required=component.cpus,
            ),
            model_name=model_name,
            startup_parameters=Cfn.InferenceComponentStartupParametersProperty(**startup),
        ),
        variant_name=metrics.variant_name,
    )
