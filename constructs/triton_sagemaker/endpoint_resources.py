"""The Models, the EndpointConfig and the Endpoint of a Triton endpoint."""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from triton_sagemaker.data_capture import DataCapture
from triton_sagemaker.hosting_mode import Network
from triton_sagemaker.variant import Variant

Cfn = sagemaker.CfnEndpoint


def models(
    scope: Construct,
    variants: Sequence[Variant],
    images: Mapping[str, str],
    role: iam.IRole,
    network: Network | None,
) -> dict[str, dict[str, sagemaker.CfnModel]]:
    """Return the Models by variant name and location of their source.

    `images` maps variant names to container images. A variant with fallbacks has one Model for each
    archive that its instances load.
    """
    resources: dict[str, dict[str, sagemaker.CfnModel]] = {}
    for variant in variants:
        of_variant = resources.setdefault(variant.variant_name, {})
        for suffix, source in variant.sources.items():
            model = sagemaker.CfnModel(
                scope,
                f"Model-{variant.variant_name}{suffix}",
                execution_role_arn=role.role_arn,
                primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                    environment=variant.container.all_environment(source),
                    image=images.get(variant.variant_name, ""),
                    model_data_url=source.url,
                    **source.container_properties,
                ),
                **variant.hosting.model_members(network),
            )
            model.node.add_dependency(role)  # and on its policy: CreateModel checks the permissions
            of_variant[source.location] = model
    return resources


def endpoint_config(
    scope: Construct,
    variants: Sequence[Variant],
    models: Mapping[str, Mapping[str, sagemaker.CfnModel]],
    encryption_key: kms.IKey | None,
    data_capture: DataCapture | None,
    detailed_observability: bool,
    role: iam.IRole,
    network: Network | None,
) -> sagemaker.CfnEndpointConfig:
    """Return the EndpointConfig, with explicit metrics options, on which alarms depend."""
    members = [variant.hosting.config_members(role.role_arn, network) for variant in variants[:1]]
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
        **dict(*members),
    )


def endpoint(
    scope: Construct,
    *,
    endpoint_name: str,
    config_name: str,
    deployment: Cfn.DeploymentConfigProperty | None,
    suffix: str,
) -> Cfn:
    """Return the Endpoint, whose updates keep instance counts, but not weights and data capture.

    If `deployment` is None, the endpoint is updated in place, without these properties.
    """
    resource = Cfn(
        scope,
        f"Endpoint{suffix}",
        endpoint_config_name=config_name,
        endpoint_name=endpoint_name,
    )
    if deployment:
        resource.deployment_config = deployment
        resource.retain_all_variant_properties = True
        resource.exclude_retained_variant_properties = [
            Cfn.VariantPropertyProperty(variant_property_type=kind)
            for kind in ("DesiredWeight", "DataCaptureConfig")
        ]
    return resource
