"""A SageMaker endpoint that serves Triton models."""

from collections.abc import Sequence

import jsii
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct, IValidation

from platform_facts.rules.updates import LONGEST_SECONDS
from triton_sagemaker.alarm_thresholds import MODEL_ERROR_RATE, AlarmThresholds
from triton_sagemaker.data_capture import DataCapture
from triton_sagemaker.endpoint_base import EndpointBase
from triton_sagemaker.endpoint_checks import longest_start, problems
from triton_sagemaker.endpoint_log import EndpointLog
from triton_sagemaker.endpoint_monitoring import (
    EndpointMonitoring,
    threshold_problems,
    topic_problems,
)
from triton_sagemaker.endpoint_resources import (
    deployment_config,
    endpoint,
    endpoint_config,
    models,
)
from triton_sagemaker.endpoint_role import EndpointRole
from triton_sagemaker.endpoint_variant import EndpointVariant
from triton_sagemaker.problems import Problem
from triton_sagemaker.region_images import region_images
from triton_sagemaker.rollback_alarms import default_alarms
from triton_sagemaker.scalable_instance_count import ScalableInstanceCount
from triton_sagemaker.update_checks import CheckedUpdates
from triton_sagemaker.updates import AllAtOnce, UpdatePolicy
from triton_sagemaker.variant import Variant
from triton_sagemaker.vpc_access import VpcAccess

DEFAULT_UPDATE = AllAtOnce()


@jsii.implements(ec2.IConnectable, iam.IGrantable, IValidation)
class TritonEndpoint(EndpointBase):
    """Models, EndpointConfig and Endpoint, with role, log group and rollback alarms.

    - `variants` share the traffic by weight.
    - `update` is how a new configuration is taken over. It is rolled back when one of
      `rollback_alarms` goes off: by default two alarms on each variant's new instances, for 5xx
      answers, and for a share of `rollback_error_rate` of requests that the container fails; and
      when it takes too long for its strategy. Of more than five variants only the second alarm:
      SageMaker takes ten.
    - `keep_instance_counts` leaves to the instances the count that scaling gave them, whatever the
      template says; weights and data capture are always the template's.
    - `vpc` puts the instances into its `vpc_subnets`, private ones by default, with
      `security_groups` and one that is made, which lets them out only where none is given;
      `connections` opens them to others. Without a way out of the VPC, it needs a gateway endpoint
      of S3 to load models.
    - `network_isolation` cuts the container off from any network.
    - `role` is what the instances act as, by default an `EndpointRole` of its own. To a role that
      is given, this construct grants nothing: it must be trusted by sagemaker.amazonaws.com and
      may do all that an `EndpointRole` may. Both are granted more with `grant_*` of what they use.
    - `encryption_key` encrypts volumes; leave it out for types with NVMe storage, which have none:
      AWS's documents differ on whether SageMaker ignores or refuses it there.
    - `data_capture` records requests and responses.
    - `detailed_observability` publishes OpenTelemetry metrics of GPUs, hosts and containers, which
      CloudWatch charges by the GB; AWS's default is to publish them.
    - `log` is where instances write. Make it in a stack that stays: one of this construct's own,
      which there is otherwise, goes with a first deploy that fails, and with the reason.
    - `updated` is the resource after which the new configuration serves: depend on it rather than
      on the whole construct, whose dashboard and alarms serve nobody.

    Models and the configuration have no physical names, so that CloudFormation can replace them:
    the new ones are made first, the endpoint moves, then the old ones are deleted. The endpoint
    keeps `endpoint_name`. `problems` are what cannot be deployed; they fail the synthesis.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        endpoint_name: str,
        variants: Sequence[Variant],
        update: UpdatePolicy = DEFAULT_UPDATE,
        rollback_alarms: Sequence[cloudwatch.IAlarm] | None = None,
        rollback_error_rate: float = MODEL_ERROR_RATE,
        keep_instance_counts: bool = True,
        vpc: ec2.IVpc | None = None,
        vpc_subnets: ec2.SubnetSelection | None = None,
        security_groups: Sequence[ec2.ISecurityGroup] | None = None,
        network_isolation: bool = False,
        role: iam.IRole | None = None,
        encryption_key: kms.IKey | None = None,
        data_capture: DataCapture | None = None,
        detailed_observability: bool = False,
        checked: CheckedUpdates | None = None,
        log: EndpointLog | None = None,
    ) -> None:
        super().__init__(scope, construct_id, endpoint_name=endpoint_name)
        self._region = self._stack.region
        self._variants = {variant.name: variant for variant in variants}
        named = list(self._variants.values())
        self._update, self._scalings = update, list[ScalableInstanceCount]()
        self._problems = problems(
            endpoint_name=endpoint_name,
            variants=variants,
            update=update,
            rollback_alarms=rollback_alarms,
            rollback_error_rate=rollback_error_rate,
            data_capture=data_capture,
        )
        self._network = VpcAccess(
            self, vpc=vpc, vpc_subnets=vpc_subnets, security_groups=security_groups
        )
        images, image_problems = region_images(self._region, self._variants)
        self._problems += [*self._network.problems, *image_problems]
        self.log = log or EndpointLog(self, "Log", endpoint_name=endpoint_name)
        self.role = (
            role
            or EndpointRole(
                self,
                "Role",
                endpoint_name=endpoint_name,
                variants=named,
                images=list(images.values()),
                vpc=vpc,
                volume_key=encryption_key,
                data_capture=data_capture,
            ).role
        )
        self.models = models(
            self,
            variants=named,
            images=images,
            role=self.role,
            vpc_config=self._network.vpc_config,
            network_isolation=network_isolation,
        )
        self.config = endpoint_config(
            self,
            variants=named,
            models=self.models,
            encryption_key=encryption_key,
            data_capture=data_capture,
            detailed_observability=detailed_observability,
        )
        config_name = self.config.attr_endpoint_config_name
        if rollback_alarms is None:
            rollback_alarms = default_alarms(
                self,
                endpoint_name=endpoint_name,
                config_name=config_name,
                variants=named,
                model_error_rate=rollback_error_rate,
            )
        deployment = deployment_config(
            update,
            alarm_names=[alarm.alarm_name for alarm in rollback_alarms],
            longest=self._longest(),
        )
        self.endpoint = endpoint(
            self,
            endpoint_name=endpoint_name,
            config_name=config_name,
            deployment=deployment,
            keep_instance_counts=keep_instance_counts,
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
                security_group_id=self._network.own_group_id,
            )
            before.append(guard)
        self.endpoint.node.add_dependency(*before)
        node = self.node
        node.default_child = self.endpoint
        node.add_validation(self)

    @property
    def problems(self) -> list[Problem]:
        """Everything that cannot be deployed."""
        scaling = (problem for count in self._scalings for problem in count.problems())
        return [*self._problems, *scaling]

    @jsii.member(jsii_name="validate")
    def validate(self) -> list[str]:
        """Return the messages with which the synthesis fails."""
        return [str(problem) for problem in self.problems]

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """The instances' security groups. Raises `ValueError` where there is no VPC."""
        if self._network.connections is None:
            raise ValueError("connections: the instances are in no VPC: write vpc")
        return self._network.connections

    @property
    @jsii.member(jsii_name="grantPrincipal")
    def grant_principal(self) -> iam.IPrincipal:
        """The instances' role."""
        return self.role.grant_principal

    @property
    def instance_production_variants(self) -> list[EndpointVariant]:
        """The variants, as parts of this endpoint."""
        return [self.find_instance_production_variant(name) for name in self._variants]

    def find_instance_production_variant(self, name: str) -> EndpointVariant:
        """Return the variant of a name. Raises `ValueError`."""
        if name not in self._variants:
            raise self._unknown_variant(name)
        return EndpointVariant(
            endpoint_name=self.endpoint_name,
            variant_name=name,
            endpoint=self,
            updated=self.updated,
            variant=self._variants[name],
            scalings=self._scalings,
        )

    def auto_scale_instance_count(
        self, *, max_capacity: int, min_capacity: int = 1
    ) -> ScalableInstanceCount:
        """Scale the only variant. Raises `ValueError` where there are several."""
        if len(self._variants) > 1:
            raise ValueError(
                f"{len(self._variants)} variants: call find_instance_production_variant(...)."
                f"auto_scale_instance_count, of {', '.join(self._variants)}"
            )
        (variant,) = self.instance_production_variants
        return variant.auto_scale_instance_count(
            min_capacity=min_capacity, max_capacity=max_capacity
        )

    def monitor(
        self, thresholds: AlarmThresholds | None = None, *, topics: Sequence[sns.ITopic] = ()
    ) -> EndpointMonitoring:
        """Add a dashboard and alarms, which notify `topics`, or one that is made."""
        self._problems += topic_problems(topics, self._region)
        self._problems += threshold_problems(thresholds or AlarmThresholds())
        return EndpointMonitoring(
            self,
            "Monitoring",
            endpoint_name=self.endpoint_name,
            variants=list(self._variants.values()),
            thresholds=thresholds,
            topics=topics,
        )

    def _longest(self) -> int:
        """Return how many seconds an update of any number of instances may take."""
        if self._problems:  # such as a percent of 0
            return LONGEST_SECONDS
        start = longest_start(list(self._variants.values()))
        return min(LONGEST_SECONDS, self._update.longest(start=start))

    def _dimensions(self, variant: str | None) -> dict[str, str]:
        if variant is None:
            variant = next(iter(self._variants), None)
        elif variant not in self._variants:
            raise self._unknown_variant(variant)
        return super()._dimensions(variant)

    def _unknown_variant(self, name: str) -> ValueError:
        return ValueError(f'variant: no "{name}": write one of {", ".join(self._variants)}')

    def _target_model(self, archive: str) -> str:
        hosting = next(iter(self._variants.values())).hosting  # the others' is of the same mode
        target_model = hosting.target_model(archive)
        if target_model is None:
            raise ValueError(
                f"models: {type(hosting).__name__} is invoked without naming a model: leave it out"
            )
        return target_model
