"""The Models, the EndpointConfig and the Endpoint of a Triton endpoint."""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from triton_sagemaker.data_capture import DataCapture
from triton_sagemaker.updates import UpdatePolicy
from triton_sagemaker.variant import Variant

Cfn = sagemaker.CfnEndpoint


def models(
    scope: Construct,
    variants: Sequence[Variant],
    images: Mapping[str, str],
    role: iam.IRole,
    vpc: ec2.IVpc | None,
    security_groups: Sequence[ec2.ISecurityGroup],
) -> dict[str, dict[str, sagemaker.CfnModel]]:
    """Return the Models of each variant by their hostings' locations, by its name, as are `images`.

    A variant with fallbacks has one for each archive that its instances load.
    """
    resources: dict[str, dict[str, sagemaker.CfnModel]] = {}
    vpc_config = None
    if vpc:
        vpc_config = sagemaker.CfnModel.VpcConfigProperty(
            security_group_ids=[group.security_group_id for group in security_groups],
            subnets=vpc.select_subnets().subnet_ids,
        )
    for variant in variants:
        of_variant = resources.setdefault(variant.variant_name, {})
        for number, hosting in enumerate(variant.hostings, start=1):
            suffix = f"-{number}" if number > 1 else ""
            model = sagemaker.CfnModel(
                scope,
                f"Model-{variant.variant_name}{suffix}",
                execution_role_arn=role.role_arn,
                primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                    environment=variant.container.all_environment(hosting),
                    image=images.get(variant.variant_name, ""),
                    model_data_url=hosting.url,
                    **hosting.container_properties,
                ),
                vpc_config=vpc_config,
            )
            model.node.add_dependency(role)  # its policy too: CreateModel checks the rights
            of_variant[hosting.location] = model
    return resources


def endpoint_config(
    scope: Construct,
    variants: Sequence[Variant],
    models: Mapping[str, Mapping[str, sagemaker.CfnModel]],
    encryption_key: kms.IKey | None,
    data_capture: DataCapture | None,
    detailed_observability: bool,
) -> sagemaker.CfnEndpointConfig:
    """Return the configuration; what metrics alarms rest on is not left to AWS's defaults."""
    return sagemaker.CfnEndpointConfig(
        scope,
        "Config",
        data_capture_config=data_capture.property() if data_capture else None,
        kms_key_id=encryption_key.key_arn if encryption_key else None,
        metrics_config=sagemaker.CfnEndpointConfig.MetricsConfigProperty(
            enable_detailed_observability=detailed_observability,
            enable_enhanced_metrics=False,
            metric_publish_frequency_in_seconds=60,
        ),
        production_variants=[
            variant.property(
                model_names={
                    location: model.attr_model_name
                    for location, model in models[variant.variant_name].items()
                }
            )
            for variant in variants
        ],
    )


def deployment_config(
    update: UpdatePolicy, *, alarm_names: Sequence[str]
) -> Cfn.DeploymentConfigProperty:
    """Return the DeploymentConfig, without regard to scaling: a change of it is an update."""
    return Cfn.DeploymentConfigProperty(
        auto_rollback_configuration=Cfn.AutoRollbackConfigProperty(
            alarms=[Cfn.AlarmProperty(alarm_name=name) for name in alarm_names]
        ),
        **update.policy,
    )


def endpoint(
    scope: Construct,
    *,
    endpoint_name: str,
    config_name: str,
    deployment: Cfn.DeploymentConfigProperty,
) -> Cfn:
    """Return the Endpoint; counts, unlike weights and capture, stay those that scaling chose."""
    return Cfn(
        scope,
        "Endpoint",
        deployment_config=deployment,
        endpoint_config_name=config_name,
        endpoint_name=endpoint_name,
        exclude_retained_variant_properties=[
            Cfn.VariantPropertyProperty(variant_property_type=kind)
            for kind in ("DesiredWeight", "DataCaptureConfig")
        ],
        retain_all_variant_properties=True,
    )
