"""The Models, the EndpointConfig and the Endpoint of a Triton endpoint."""

from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import aws_kms as kms
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from triton_sagemaker.data_capture import DataCapture
from triton_sagemaker.endpoint_role import EndpointRole
from triton_sagemaker.hosting_mode import VpcConfig
from triton_sagemaker.triton_container import ContainerImage
from triton_sagemaker.variant import Variant

Cfn = sagemaker.CfnEndpoint


def create_models(
    scope: Construct,
    variants: Sequence[Variant],
    images: Mapping[str, ContainerImage],
    role: EndpointRole,
    vpc_config: VpcConfig | None,
) -> dict[str, dict[str, sagemaker.CfnModel]]:
    """Return the Models by variant name and location of their source.

    `images` maps variant names to container images. A variant with fallbacks has one Model for each
    archive that its instances load.
    """
    resources: dict[str, dict[str, sagemaker.CfnModel]] = {}
    for variant in variants:
        variant_models = resources.setdefault(variant.variant_name, {})
        image = images.get(variant.variant_name)
        for suffix, source in variant.sources.items():
            model = sagemaker.CfnModel(
                scope,
                f"Model-{variant.variant_name}{suffix}",
                execution_role_arn=role.role.role_arn,
                primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                    environment=variant.container.all_environment(
                        source.environment, multi_model=source.is_multi_model
                    ),
                    image=image.uri if image else "",
                    model_data_url=source.model_data_url,
                    **source.container_properties,
                ),
                **variant.hosting.model_properties(vpc_config),
            )
            # On the role and its policy, because CreateModel checks the permissions.
            model.node.add_dependency(role, role.role)
            variant_models[source.location] = model
    return resources


def create_endpoint_config(
    scope: Construct,
    variants: Sequence[Variant],
    models: Mapping[str, Mapping[str, sagemaker.CfnModel]],
    encryption_key: kms.IKey | None,
    data_capture: DataCapture | None,
    detailed_observability: bool,
    role: EndpointRole,
    vpc_config: VpcConfig | None,
) -> sagemaker.CfnEndpointConfig:
    """Return the EndpointConfig, with explicit metrics options, because alarms depend on them."""
    # All variants have the same hosting mode.
    mode = variants[0].hosting.config_properties(role.role.role_arn, vpc_config) if variants else {}
    config = sagemaker.CfnEndpointConfig(
        scope,
        "Config",
        data_capture_config=data_capture.config_property() if data_capture else None,
        kms_key_id=encryption_key.key_arn if encryption_key else None,
        metrics_config=sagemaker.CfnEndpointConfig.MetricsConfigProperty(
            enable_detailed_observability=detailed_observability,
            enable_enhanced_metrics=False,
            metric_publish_frequency_in_seconds=60,
        ),
        production_variants=[
            variant.config_property(
                model_names={
                    location: model.attr_model_name
                    for location, model in models[variant.variant_name].items()
                }
            )
            for variant in variants
        ],
        **mode,
    )
    if mode:  # instances of components use the role of the configuration
        config.node.add_dependency(role, role.role)
    return config


def create_endpoint(
    scope: Construct,
    *,
    endpoint_name: str,
    config_name: str,
    deployment_config: Mapping[str, Any] | None,
    suffix: str,
) -> Cfn:
    """Return the Endpoint, whose updates keep instance counts, but not weights and data capture.

    Without `deployment_config`, the endpoint is updated in place and keeps none of them.
    """
    resource = Cfn(
        scope,
        f"Endpoint{suffix}",
        endpoint_config_name=config_name,
        endpoint_name=endpoint_name,
    )
    if deployment_config:
        resource.add_property_override("DeploymentConfig", deployment_config)
        resource.retain_all_variant_properties = True
        resource.exclude_retained_variant_properties = [
            Cfn.VariantPropertyProperty(variant_property_type=name)
            for name in ("DesiredWeight", "DataCaptureConfig")
        ]
    return resource
