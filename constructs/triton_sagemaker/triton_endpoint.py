"""A SageMaker endpoint that serves Triton models."""

from collections.abc import Sequence
from dataclasses import replace

import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct, IValidation

from triton_sagemaker.alarm_thresholds import MODEL_ERROR_RATE, AlarmThresholds
from triton_sagemaker.data_capture import DataCapture
from triton_sagemaker.endpoint_base import EndpointBase, checked_models
from triton_sagemaker.endpoint_checks import problems
from triton_sagemaker.endpoint_component import EndpointComponent
from triton_sagemaker.endpoint_log import EndpointLog
from triton_sagemaker.endpoint_monitoring import (
    EndpointMonitoring,
    EndpointPart,
    monitoring_problems,
)
from triton_sagemaker.endpoint_resources import endpoint, endpoint_config, models
from triton_sagemaker.endpoint_role import EndpointRole
from triton_sagemaker.endpoint_variant import EndpointVariant
from triton_sagemaker.problems import Problem
from triton_sagemaker.region_images import region_images
from triton_sagemaker.update_checks import CheckedUpdates
from triton_sagemaker.updates import AllAtOnce, UpdatePolicy
from triton_sagemaker.variant import Variant
from triton_sagemaker.vpc_access import network, own_security_group

DEFAULT_UPDATE = AllAtOnce()
DEFAULT_THRESHOLDS = AlarmThresholds()


@jsii.implements(IValidation)
class TritonEndpoint(EndpointBase):
    """Models, EndpointConfig and Endpoint, with role, log group and rollback alarms.

    - `variants` share the traffic by weight.
    - `update` is how a new configuration is taken over. It is rolled back when one of two alarms
      on each variant's new instances goes off, for 5xx answers, and for a share of
      `rollback_error_rate` of requests that the container fails; and when it takes too long for
      its strategy. Of more than five variants only the second alarm: SageMaker takes ten.
    - `vpc` puts the instances into its private subnets, with `security_groups` and one that is
      made, which lets them out only where none is given. Without a way out of the VPC, it needs a
      gateway endpoint of S3 to load models.
    - `role` is the role of the instances, an `EndpointRole`; others grant it what they use.
    - `encryption_key` encrypts volumes; leave it out for types with NVMe storage, which have none:
      AWS's documents differ on whether SageMaker ignores or rejects it there.
    - `data_capture` records requests and responses.
    - `detailed_observability` publishes OpenTelemetry metrics of GPUs, hosts and containers, which
      CloudWatch charges by the GB; AWS's default is to publish them.
    - `log` is where instances write. Make it in a stack that stays: one of this construct's own,
      which there is otherwise, goes with a first deploy that fails, and with the reason.
    - `instance_production_variants` are the variants, with their metrics and their scaling.
    - `updated` is the resource after which the new configuration serves: depend on it rather than
      on the whole construct, whose dashboard and alarms serve nobody.

    Models and the configuration have no physical names, so that CloudFormation can replace them:
    the new ones are made first, the endpoint moves, then the old ones are deleted. The endpoint
    keeps `endpoint_name`, and the instances the count that scaling gave them. `problems` are what
    cannot be deployed; they fail the synthesis.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        endpoint_name: str,
        variants: Sequence[Variant],
        update: UpdatePolicy = DEFAULT_UPDATE,
        rollback_error_rate: float = MODEL_ERROR_RATE,
        vpc: ec2.IVpc | None = None,
        security_groups: Sequence[ec2.ISecurityGroup] = (),
        encryption_key: kms.IKey | None = None,
        data_capture: DataCapture | None = None,
        detailed_observability: bool = False,
        checked: CheckedUpdates | None = None,
        log: EndpointLog | None = None,
    ) -> None:
        super().__init__(scope, construct_id, endpoint_name=endpoint_name)
        self._region = self._stack.region
        self._variants = {variant.variant_name: variant for variant in variants}
        named = list(self._variants.values())
        own_group = vpc_config = None
        if vpc:
            own_group = own_security_group(self, vpc, allow_all_outbound=not security_groups)
            vpc_config = network(vpc, [*security_groups, own_group])
        images, image_problems = region_images(self._region, self._variants)
        self._problems = [
            *problems(endpoint_name, variants, update, rollback_error_rate, data_capture),
            *image_problems,
        ]
        self.log = log or EndpointLog(self, "Log", endpoint_name=endpoint_name)
        self.role = EndpointRole(
            self,
            "Role",
            endpoint_name=endpoint_name,
            variants=named,
            images=list(images.values()),
            vpc=vpc,
            volume_key=encryption_key,
            data_capture=data_capture,
        ).role
        self.models = models(self, named, images, self.role, vpc_config)
        self.config = endpoint_config(
            self,
            named,
            self.models,
            encryption_key,
            data_capture,
            detailed_observability,
            self.role,
            vpc_config,
        )
        config_name = self.config.attr_endpoint_config_name
        deployment, suffix, components = None, "", list[EndpointComponent]()
        for variant in named[:1]:  # the others are hosted in the same mode
            suffix = variant.hosting.id_suffix(variant.instance_type)
            deployment = variant.hosting.deployment(
                self,
                update,
                endpoint_name=endpoint_name,
                config_name=config_name,
                variants=list(self._variants),
                model_error_rate=rollback_error_rate,
            )
        self.endpoint = endpoint(
            self,
            endpoint_name=endpoint_name,
            config_name=config_name,
            deployment=deployment,
            suffix=suffix,
        )
        for variant in named[:1]:
            components = variant.hosting.place(
                self,
                update,
                endpoint=self.endpoint,
                variant=variant,
                models=self.models[variant.variant_name],
                model_error_rate=rollback_error_rate,
            )
        self.updated: Construct = self.endpoint
        before: list[Construct] = [self.log]  # the log group must exist first
        if checked:
            guard, self.updated = checked.checks.around(
                self,
                self.endpoint,
                endpoint_name=endpoint_name,
                config_name=config_name,
                deployment=deployment,
                updates=checked,
                security_group_id=own_group.security_group_id if own_group else None,
                components=components,
            )
            before.append(guard)
        self.endpoint.node.add_dependency(*before)
        node = self.node
        node.default_child = self.endpoint
        node.add_validation(self)
        self.instance_production_variants = [
            EndpointVariant(
                endpoint_name=endpoint_name,
                variant_name=variant.variant_name,
                endpoint=self,
                updated=self.updated,
                variant=variant,
            )
            for variant in named
        ]
        self.components = [replace(each, updated=self.updated) for each in components]

    @property
    def problems(self) -> list[Problem]:
        """Everything that cannot be deployed."""
        scalings = (count for part in self._parts for count in part.scalings)
        return [*self._problems, *(problem for count in scalings for problem in count.problems())]

    @property
    def _parts(self) -> list[EndpointPart]:
        return [*self.instance_production_variants, *self.components]

    @jsii.member(jsii_name="validate")
    def validate(self) -> list[str]:
        """Return the messages with which the synthesis fails."""
        return [str(problem) for problem in self.problems]

    def find_instance_production_variant(self, name: str) -> EndpointVariant:
        """Return the variant of a name. Raises `ValueError`."""
        for variant in self.instance_production_variants:
            if variant.variant_name == name:
                return variant
        raise ValueError(f'variant: no "{name}": write one of {", ".join(self._variants)}')

    def monitor(
        self,
        thresholds: AlarmThresholds = DEFAULT_THRESHOLDS,
        *,
        topics: Sequence[sns.ITopic] = (),
        client_metrics: str | None = None,
    ) -> EndpointMonitoring:
        """Add a dashboard and alarms, which notify `topics`, or one that is made.

        `client_metrics` is the namespace of the metrics of `endpoint_client`, to draw them too.
        """
        self._problems += monitoring_problems(thresholds, topics, self._region)
        return EndpointMonitoring(
            self,
            "Monitoring",
            endpoint_name=self.endpoint_name,
            parts=self._parts,
            thresholds=thresholds,
            topics=topics,
            client_metrics=client_metrics,
        )

    @jsii.member(jsii_name="grantInvoke")
    def grant_invoke(
        self, grantee: iam.IGrantable, *, models: Sequence[str] | None = None
    ) -> iam.Grant:
        """Allow `grantee` to invoke the endpoint: see `EndpointBase`."""
        models = checked_models(models)
        if self.components:
            invoked = [each for each in self.components if each.model in (models or [each.model])]
            return self._grant_components(grantee, [each.component_name for each in invoked])
        hosting = next(iter(self._variants.values())).hosting  # the others' is of the same mode
        if models and not hosting.many_models:
            raise ValueError(
                f"models: {type(hosting).__name__} is invoked without naming a model: leave it out"
            )
        return super().grant_invoke(grantee, models=models)

    def _grant_components(self, grantee: iam.IGrantable, names: Sequence[str]) -> iam.Grant:
        """Allow to invoke components on the endpoint.

        AWS's own policies name both resources (aws-solutions/
        generative-ai-application-builder-on-aws, sagemaker-vpc); that both are needed has no
        source.
        """
        components = [
            self._stack.format_arn(
                service="sagemaker", resource="inference-component", resource_name=name
            )
            for name in names
        ]
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["sagemaker:InvokeEndpoint"],
            resource_arns=[self.endpoint_arn, *components],
        )
