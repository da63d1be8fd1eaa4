"""A SageMaker endpoint that serves Triton models."""

from collections.abc import Iterator, Sequence
from typing import Any

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sagemaker as sagemaker

from constructs import Construct
from triton_sagemaker.access import AsyncInference, DataCapture, InstanceMetrics, VpcAccess
from triton_sagemaker.alarm_thresholds import AlarmThresholds
from triton_sagemaker.endpoint_checks import problems
from triton_sagemaker.endpoint_metrics import EndpointMetrics
from triton_sagemaker.endpoint_monitoring import EndpointMonitoring
from triton_sagemaker.endpoint_role import EndpointRole
from triton_sagemaker.endpoint_scaling import EndpointScaling, ScheduledCapacity, Target
from triton_sagemaker.hosting import MultiModelHosting, SingleModelHosting
from triton_sagemaker.problems import InvalidEndpoint
from triton_sagemaker.updates import AllAtOnce, UpdatePolicy
from triton_sagemaker.variant import Variant

DEFAULT_UPDATE = AllAtOnce()
ROLLBACK_ERROR_RATE = 0.05
"""Share of 5xx answers, over a minute, that takes an update back."""


class TritonEndpoint(Construct):
    """Models, EndpointConfig and Endpoint, with role, log group and rollback alarms.

    - `variants` share the traffic by weight. `shadow_variants` get copies of the requests, and
      their answers are thrown away; single-model hosting only.
    - `update` is how a new configuration is taken over. It is taken back when one of
      `rollback_alarms` goes off: by default an alarm on each variant's 5xx answers.
    - `keep_instance_counts` leaves to the instances the count that scaling gave them, whatever the
      template says; weights and data capture are always the template's.
    - `network` puts the instances into a VPC, `network_isolation` cuts the container off from any
      network. `encryption_key` encrypts the instances' volumes, but no NVMe storage.
    - `data_capture`, `async_inference`, `instance_metrics`: see their classes.

    Models and the configuration have no physical names, so that CloudFormation can replace them:
    the new ones are made first, the endpoint moves, then the old ones are deleted. The endpoint
    keeps `endpoint_name`. Raises `InvalidEndpoint` with everything that is wrong.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        endpoint_name: str,
        variants: Sequence[Variant],
        shadow_variants: Sequence[Variant] = (),
        update: UpdatePolicy = DEFAULT_UPDATE,
        rollback_alarms: Sequence[cloudwatch.IAlarm] | None = None,
        keep_instance_counts: bool = True,
        network: VpcAccess | None = None,
        network_isolation: bool = False,
        encryption_key: kms.IKey | None = None,
        data_capture: DataCapture | None = None,
        async_inference: AsyncInference | None = None,
        instance_metrics: InstanceMetrics | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.THREE_MONTHS,
    ) -> None:
        super().__init__(scope, construct_id)
        found = problems(
            endpoint_name=endpoint_name,
            variants=variants,
            shadow_variants=shadow_variants,
            update=update,
            network=network,
            data_capture=data_capture,
            async_inference=async_inference,
            instance_metrics=instance_metrics,
        )
        if found:
            raise InvalidEndpoint(endpoint_name, found)
        self.endpoint_name = endpoint_name
        self.variants = tuple(variants)
        self.log_group = logs.LogGroup(
            self,
            "Log",
            log_group_name=f"/aws/sagemaker/Endpoints/{endpoint_name}",
            removal_policy=RemovalPolicy.DESTROY,
            retention=log_retention,
        )
        self.role = EndpointRole(
            self,
            "Role",
            endpoint_name=endpoint_name,
            variants=[*variants, *shadow_variants],
            in_vpc=network is not None,
            data_capture=data_capture,
            async_inference=async_inference,
        ).role
        self.models = dict(self._models([*variants, *shadow_variants], network, network_isolation))
        self.config = self._config(
            variants, shadow_variants, encryption_key, data_capture, async_inference,
            instance_metrics,
        )  # fmt: skip
        if rollback_alarms is None:
            rollback_alarms = list(self._default_rollback_alarms())
        self.endpoint = self._endpoint(update, rollback_alarms, keep_instance_counts)

    def metrics(self, variant: str | None = None) -> EndpointMetrics:
        """Return what can be measured of a variant, by default of the first."""
        return EndpointMetrics(self.endpoint_name, variant or self.variants[0].name)

    def auto_scale(
        self,
        *,
        min_count: int,
        max_count: int,
        targets: Sequence[Target],
        schedules: Sequence[ScheduledCapacity] = (),
        variant: str | None = None,
    ) -> EndpointScaling:
        """Scale a variant, by default the first, by one or several targets."""
        name = variant or self.variants[0].name
        (scaled,) = (it for it in self.variants if it.name == name)
        return EndpointScaling(
            self,
            f"Scaling-{name}",
            endpoint=self.endpoint,
            endpoint_name=self.endpoint_name,
            variant=scaled,
            min_count=min_count,
            max_count=max_count,
            targets=targets,
            schedules=schedules,
        )

    def monitor(self, thresholds: AlarmThresholds | None = None) -> EndpointMonitoring:
        """Add alarms and a dashboard."""
        return EndpointMonitoring(
            self,
            "Monitoring",
            endpoint_name=self.endpoint_name,
            variants=self.variants,
            thresholds=thresholds,
        )

    def grant_invoke(
        self, grantee: iam.IGrantable, *, models: Sequence[str] | None = None
    ) -> iam.Grant:
        """Allow `grantee` to invoke the endpoint.

        `models` narrows it to versions of these models, by the condition key
        `sagemaker:TargetModel`: an archive is called `<model>-<version>.tar.gz`.
        """
        arn = Stack.of(self).format_arn(
            service="sagemaker", resource="endpoint", resource_name=self.endpoint_name
        )
        archives = [f"{model}-????????????.tar.gz" for model in models or ()]
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["sagemaker:InvokeEndpoint"],
            resource_arns=[arn],
            conditions={"StringLike": {"sagemaker:TargetModel": archives}} if archives else None,
        )

    def _models(
        self, variants: Sequence[Variant], network: VpcAccess | None, network_isolation: bool
    ) -> Iterator[tuple[str, sagemaker.CfnModel]]:
        for variant in variants:
            model = sagemaker.CfnModel(
                self,
                f"Model-{variant.name}",
                enable_network_isolation=network_isolation or None,
                execution_role_arn=self.role.role_arn,
                primary_container=_container(variant),
                vpc_config=sagemaker.CfnModel.VpcConfigProperty(
                    security_group_ids=[it.security_group_id for it in network.security_groups],
                    subnets=[it.subnet_id for it in network.subnets],
                )
                if network
                else None,
            )
            model.node.add_dependency(self.role)  # its policy too: CreateModel checks the rights
            yield variant.name, model

    def _config(
        self,
        variants: Sequence[Variant],
        shadow_variants: Sequence[Variant],
        encryption_key: kms.IKey | None,
        data_capture: DataCapture | None,
        async_inference: AsyncInference | None,
        instance_metrics: InstanceMetrics | None,
    ) -> sagemaker.CfnEndpointConfig:
        return sagemaker.CfnEndpointConfig(
            self,
            "Config",
            async_inference_config=_async_inference(async_inference),
            data_capture_config=_data_capture(data_capture),
            kms_key_id=encryption_key.key_arn if encryption_key else None,
            metrics_config=_metrics_config(instance_metrics),
            production_variants=[self._variant(it) for it in variants],
            shadow_production_variants=[self._variant(it) for it in shadow_variants] or None,
        )

    def _variant(self, variant: Variant) -> sagemaker.CfnEndpointConfig.ProductionVariantProperty:
        instances = variant.instances
        return sagemaker.CfnEndpointConfig.ProductionVariantProperty(
            container_startup_health_check_timeout_in_seconds=instances.startup_timeout,
            inference_ami_version=instances.ami(variant.container.release),
            initial_instance_count=instances.initial_count,
            initial_variant_weight=variant.weight,
            instance_type=instances.instance_type.name,
            model_data_download_timeout_in_seconds=instances.download_timeout,
            model_name=self.models[variant.name].attr_model_name,
            routing_config=sagemaker.CfnEndpointConfig.RoutingConfigProperty(
                routing_strategy=instances.routing
            ),
            variant_name=variant.name,
            volume_size_in_gb=instances.volume_size,
        )

    def _default_rollback_alarms(self) -> Iterator[cloudwatch.Alarm]:
        for variant in self.variants:
            yield cloudwatch.Alarm(
                self,
                f"Rollback-{variant.name}",
                alarm_description=(
                    f"Takes an update of {self.endpoint_name} back: variant {variant.name} "
                    "answers with 5xx"
                ),
                comparison_operator=(
                    cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
                ),
                evaluation_periods=1,
                metric=self.metrics(variant.name).server_error_rate(),
                threshold=ROLLBACK_ERROR_RATE,
                treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            )

    def _endpoint(
        self,
        update: UpdatePolicy,
        rollback_alarms: Sequence[cloudwatch.IAlarm],
        keep_instance_counts: bool,
    ) -> sagemaker.CfnEndpoint:
        templates = ["DesiredWeight", "DataCaptureConfig"]
        if not keep_instance_counts:
            templates.append("DesiredInstanceCount")
        rollback = sagemaker.CfnEndpoint.AutoRollbackConfigProperty(
            alarms=[
                sagemaker.CfnEndpoint.AlarmProperty(alarm_name=alarm.alarm_name)
                for alarm in rollback_alarms
            ]
        )
        endpoint = sagemaker.CfnEndpoint(
            self,
            "Endpoint",
            deployment_config=sagemaker.CfnEndpoint.DeploymentConfigProperty(
                auto_rollback_configuration=rollback if rollback_alarms else None,
                **update.policy(),
            ),
            endpoint_config_name=self.config.attr_endpoint_config_name,
            endpoint_name=self.endpoint_name,
            exclude_retained_variant_properties=[
                sagemaker.CfnEndpoint.VariantPropertyProperty(variant_property_type=it)
                for it in templates
            ],
            retain_all_variant_properties=True,
        )
        endpoint.node.add_dependency(self.log_group)  # else SageMaker makes one, kept for ever
        return endpoint


def _container(variant: Variant) -> sagemaker.CfnModel.ContainerDefinitionProperty:
    hosting = variant.hosting
    environment = variant.container.all_environment(multi_model=hosting.multi_model)
    details: dict[str, Any] = {}
    match hosting:
        case MultiModelHosting():
            setting = "Enabled" if hosting.cache_models else "Disabled"
            details["multi_model_config"] = sagemaker.CfnModel.MultiModelConfigProperty(
                model_cache_setting=setting
            )
        case SingleModelHosting(default_model=str(name)):
            environment["SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"] = name
    return sagemaker.CfnModel.ContainerDefinitionProperty(
        environment=environment,
        image=variant.container.image,
        mode="MultiModel" if hosting.multi_model else "SingleModel",
        model_data_url=hosting.url,
        **details,
    )


def _data_capture(
    capture: DataCapture | None,
) -> sagemaker.CfnEndpointConfig.DataCaptureConfigProperty | None:
    if capture is None:
        return None
    modes = [("Input", capture.requests), ("Output", capture.responses)]
    return sagemaker.CfnEndpointConfig.DataCaptureConfigProperty(
        capture_options=[
            sagemaker.CfnEndpointConfig.CaptureOptionProperty(capture_mode=mode)
            for mode, wanted in modes
            if wanted
        ],
        destination_s3_uri=capture.bucket.s3_url_for_object(capture.prefix.strip("/")),
        enable_capture=True,
        initial_sampling_percentage=capture.percent,
        kms_key_id=capture.encryption_key.key_arn if capture.encryption_key else None,
    )


def _async_inference(
    inference: AsyncInference | None,
) -> sagemaker.CfnEndpointConfig.AsyncInferenceConfigProperty | None:
    if inference is None:
        return None
    config = sagemaker.CfnEndpointConfig
    told = config.AsyncInferenceNotificationConfigProperty(
        error_topic=inference.error.topic_arn if inference.error else None,
        success_topic=inference.success.topic_arn if inference.success else None,
    )
    output = inference.bucket.s3_url_for_object(inference.prefix.strip("/"))
    return config.AsyncInferenceConfigProperty(
        client_config=config.AsyncInferenceClientConfigProperty(
            max_concurrent_invocations_per_instance=inference.concurrency
        )
        if inference.concurrency
        else None,
        output_config=config.AsyncInferenceOutputConfigProperty(
            kms_key_id=inference.encryption_key.key_arn if inference.encryption_key else None,
            notification_config=told if inference.error or inference.success else None,
            s3_failure_path=f"{output}/failures",
            s3_output_path=output,
        ),
    )


def _metrics_config(
    metrics: InstanceMetrics | None,
) -> sagemaker.CfnEndpointConfig.MetricsConfigProperty | None:
    if metrics is None:
        return None
    return sagemaker.CfnEndpointConfig.MetricsConfigProperty(
        enable_detailed_observability=metrics.detailed,
        enable_enhanced_metrics=metrics.enhanced,
        metric_publish_frequency_in_seconds=metrics.frequency,
    )
