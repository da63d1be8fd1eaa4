"""A SageMaker endpoint that serves Triton models."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct, IValidation

from platform_facts.rules.monitoring import MODEL_ERROR_RATE
from triton_sagemaker.alarm_thresholds import AlarmThresholds
from triton_sagemaker.data_capture import DataCapture
from triton_sagemaker.endpoint_base import EndpointBase, checked_models
from triton_sagemaker.endpoint_checks import endpoint_problems
from triton_sagemaker.endpoint_component import EndpointComponent, create_components
from triton_sagemaker.endpoint_log import EndpointLog
from triton_sagemaker.endpoint_monitoring import (
    EndpointMonitoring,
    VariantOrComponent,
    monitoring_problems,
)
from triton_sagemaker.endpoint_resources import (
    create_endpoint,
    create_endpoint_config,
    create_models,
)
from triton_sagemaker.endpoint_role import EndpointRole
from triton_sagemaker.endpoint_variant import EndpointVariant
from triton_sagemaker.multi_model_hosting import MultiModelHosting
from triton_sagemaker.problems import Problem, reject_plain_values
from triton_sagemaker.region_images import image_problems, region_images
from triton_sagemaker.rollback_alarms import variant_rollback_alarms
from triton_sagemaker.update_checks import EndpointUpdateChecks
from triton_sagemaker.updates import AllAtOnce, UpdatePolicy
from triton_sagemaker.variant import Variant, start_seconds
from triton_sagemaker.vpc_access import create_vpc_config, endpoint_security_group

DEFAULT_UPDATE = AllAtOnce()
DEFAULT_THRESHOLDS = AlarmThresholds()


@jsii.implements(IValidation)
class TritonEndpoint(EndpointBase):
    """A SageMaker endpoint with its Models, EndpointConfig, role, log group and rollback alarms.

    Arguments:

    - `variants` share the traffic by weight.
    - `update` is the strategy of updates. SageMaker rolls an update back if it takes longer than
      its strategy allows, or if one of two alarms on the new instances of a variant goes off: for
      5xx responses, and for error responses of the container to a share `rollback_error_rate` of
      requests. With more than five variants, only the second alarm exists, because SageMaker
      supports ten alarms.
    - `vpc`: instances are in its private subnets, or in `vpc_subnets`, with `security_groups` and a
      security group that this construct creates, which allows outbound traffic only without
      `security_groups`. A VPC without internet access needs a gateway endpoint for S3.
    - `encryption_key` encrypts the volumes of the instances. Omit it for instance types with local
      NVMe storage: AWS's documents disagree on whether SageMaker ignores or rejects the key.
    - `data_capture` captures requests and responses.
    - `role` is the execution role, by default a new one. It gets the permissions that the endpoint
      needs, unless it was imported with `mutable=False`. SageMaker must be able to assume it.
    - `detailed_observability` publishes OpenTelemetry metrics of GPUs, hosts and containers, which
      CloudWatch charges by the GB. (AWS's default is true.)
    - `update_checks` adds a guard before updates, and a check after them: see `UpdateChecks`.
    - `log` is the log group, from a stack that is not deleted with this one. By default it is in
      this construct, and is deleted if the first deploy fails, together with the reason.
    - `is_checked`: the caller has evaluated the rules of `platform_facts.rules` for the arguments.
      The construct then reports no problems.

    Attributes:

    - `role` is the execution role; grant it further permissions if models need them.
    - `instance_production_variants` and `components` have metrics and methods for scaling.
    - `updated` is the resource that completes when the new configuration serves. Depend on it and
      not on the construct, which includes dashboard and alarms.
    - `problems` are the invalid arguments. They fail the synthesis.

    Models and the EndpointConfig have no physical names, so that CloudFormation can replace them:
    it creates new ones, updates the endpoint, and then deletes the old ones. The endpoint keeps its
    name, and its variants keep the instance counts that scaling has set.
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
        vpc_subnets: ec2.SubnetSelection | None = None,
        security_groups: Sequence[ec2.ISecurityGroup] = (),
        encryption_key: kms.IKey | None = None,
        role: iam.IRole | None = None,
        data_capture: DataCapture | None = None,
        detailed_observability: bool = False,
        update_checks: EndpointUpdateChecks | None = None,
        log: EndpointLog | None = None,
        is_checked: bool = False,
    ) -> None:
        super().__init__(scope, construct_id, endpoint_name=endpoint_name)
        groups = list(security_groups)
        reject_plain_values(vpc=vpc, security_groups=groups, encryption_key=encryption_key)
        reject_plain_values(role=role)
        self._region = self._stack.region
        self._variants = {variant.variant_name: variant for variant in variants}
        unique_variants = list(self._variants.values())
        own_group, vpc_config, vpc_problems = None, None, list[Problem]()
        if vpc:
            own_group = endpoint_security_group(self, vpc, allow_all_outbound=not groups)
            groups.append(own_group)
            vpc_config, vpc_problems = create_vpc_config(vpc, vpc_subnets, groups)
        elif vpc_subnets or groups:
            message = "missing, and vpc_subnets and security_groups belong to it: write vpc"
            vpc_problems = [Problem("vpc", message)]
        images = region_images(self._region, self._variants)
        self._is_checked = is_checked
        self._checks: list[Callable[[], Iterable[Problem]]] = [
            lambda: endpoint_problems(
                endpoint_name, variants, update, rollback_error_rate, data_capture
            ),
            lambda: image_problems(self._region, self._variants),
            lambda: vpc_problems,
        ]
        self.log = log or EndpointLog(self, "Log", endpoint_name=endpoint_name)
        endpoint_role = EndpointRole(
            self,
            "Role",
            endpoint_name=endpoint_name,
            variants=unique_variants,
            images=list(images.values()),
            vpc=vpc,
            volume_key=encryption_key,
            data_capture=data_capture,
            role=role,
        )
        self.role = endpoint_role.role
        self.models = create_models(self, unique_variants, images, endpoint_role, vpc_config)
        self.config = create_endpoint_config(
            self,
            unique_variants,
            self.models,
            encryption_key,
            data_capture,
            detailed_observability,
            endpoint_role,
            vpc_config,
        )
        config_name = self.config.attr_endpoint_config_name
        deployment_config = None
        if all(variant.hosting.has_deployment_config for variant in unique_variants):
            alarms = variant_rollback_alarms(
                self,
                endpoint_name=endpoint_name,
                config_name=config_name,
                variants=list(self._variants),
                model_error_rate=rollback_error_rate,
            )
            start = start_seconds(unique_variants)
            alarm_names = [alarm.alarm_name for alarm in alarms]
            deployment_config = update.deployment_config(start, alarm_names)
        first = next(iter(unique_variants), None)  # all variants have the same hosting mode
        self.endpoint = create_endpoint(
            self,
            endpoint_name=endpoint_name,
            config_name=config_name,
            deployment_config=deployment_config,
            suffix=first.hosting.id_suffix(first.instance_type) if first else "",
        )
        components = list[EndpointComponent]()
        if first:
            components = create_components(
                self,
                first,
                self.models[first.variant_name],
                endpoint=self.endpoint,
                update=update,
                model_error_rate=rollback_error_rate,
            )
        self.updated: Construct = self.endpoint
        prerequisites: list[Construct] = [self.log]  # SageMaker would create the log group
        if update_checks:
            guard, self.updated = update_checks.checks.add_guard_and_check(
                self,
                self.endpoint,
                endpoint_name=endpoint_name,
                config_name=config_name,
                deployment_config=deployment_config,
                catalog=update_checks.catalog,
                security_group_id=own_group.security_group_id if own_group else None,
                components=components,
            )
            prerequisites.append(guard)
        self.endpoint.node.add_dependency(*prerequisites)
        node = self.node  # each access is a call of the jsii process
        node.default_child = self.endpoint
        if not is_checked:
            node.add_validation(self)
        self.instance_production_variants = [
            EndpointVariant(
                endpoint_name=endpoint_name,
                variant_name=variant.variant_name,
                endpoint=self,
                updated=self.updated,
                variant=variant,
            )
            for variant in unique_variants
        ]
        self.components = [replace(component, updated=self.updated) for component in components]

    @property
    def problems(self) -> list[Problem]:
        """All invalid arguments, of the endpoint and its scaling."""
        if self._is_checked:
            return []
        items = self._variants_and_components
        scalings = [count.problems for item in items for count in item.scalings]
        return [problem for check in (*self._checks, *scalings) for problem in check()]

    @property
    def _variants_and_components(self) -> list[VariantOrComponent]:
        return [*self.instance_production_variants, *self.components]

    @jsii.member(jsii_name="validate")
    def validate(self) -> list[str]:
        """Return the errors of the synthesis."""
        return [str(problem) for problem in self.problems]

    def find_instance_production_variant(self, name: str) -> EndpointVariant:
        """Return the variant of this name. Raise `ValueError` if there is none."""
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
        """Add a dashboard and alarms, which notify `topics`; by default, a topic is created.

        `client_metrics` is the namespace of the metrics of `endpoint_client`, for the dashboard.
        """
        reject_plain_values(topics=list(topics))
        self._checks.append(lambda: monitoring_problems(thresholds, topics, self._region))
        return EndpointMonitoring(
            self,
            "Monitoring",
            endpoint_name=self.endpoint_name,
            variants_and_components=self._variants_and_components,
            thresholds=thresholds,
            topics=topics,
            client_metrics=client_metrics,
        )

    @jsii.member(jsii_name="grantInvoke")
    def grant_invoke(
        self, grantee: iam.IGrantable, *, models: Sequence[str] | None = None
    ) -> iam.Grant:
        """Allow `grantee` to invoke the endpoint, or only `models`: see `EndpointBase`."""
        models = checked_models(models)
        if self.components:
            names = [
                component.component_name
                for component in self.components
                if models is None or component.model in models
            ]
            return self._grant_components(grantee, names)
        hosting = next(iter(self._variants.values())).hosting  # all variants have the same mode
        if models and not isinstance(hosting, MultiModelHosting):
            raise ValueError(
                f"models: {type(hosting).__name__} has no TargetModel: leave models out"
            )
        return super().grant_invoke(grantee, models=models)

    def _grant_components(self, grantee: iam.IGrantable, names: Sequence[str]) -> iam.Grant:
        """Allow `grantee` to invoke inference components of the endpoint.

        AWS's own policies list both resources (aws-solutions/
        generative-ai-application-builder-on-aws, sagemaker-vpc). No source states that both are
        required.
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
