"""A SageMaker endpoint that serves Triton models."""

from collections.abc import Iterator, Sequence

import jsii
from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_sns as sns
from constructs import Construct

from platform_facts.rules import observed
from platform_facts.rules.updates import LONGEST_SECONDS
from triton_sagemaker.alarm_thresholds import MODEL_ERROR_RATE, AlarmThresholds
from triton_sagemaker.argument_types import typed
from triton_sagemaker.data_capture import DataCapture
from triton_sagemaker.durations import seconds
from triton_sagemaker.endpoint_checks import MAX_ROLLBACK_ALARMS, longest_start, problems
from triton_sagemaker.endpoint_interface import ITritonEndpoint
from triton_sagemaker.endpoint_log import EndpointLog
from triton_sagemaker.endpoint_metrics import MINUTE, VariantMetrics
from triton_sagemaker.endpoint_monitoring import EndpointMonitoring
from triton_sagemaker.endpoint_role import EndpointRole
from triton_sagemaker.endpoint_scaling import EndpointScaling
from triton_sagemaker.problems import InvalidEndpoint, Problem, of_rules
from triton_sagemaker.scaling_targets import ScheduledCapacity, Target
from triton_sagemaker.update_checks import CheckedUpdates
from triton_sagemaker.updates import AllAtOnce, UpdatePolicy
from triton_sagemaker.variant import Variant
from triton_sagemaker.vpc_access import VpcAccess

DEFAULT_UPDATE = AllAtOnce()
ROLLBACK_SERVER_ERROR_RATE = 0.05
"""Share of 5xx answers of new instances, over a minute, that rolls an update back."""


@jsii.implements(ec2.IConnectable, iam.IGrantable)
@typed
class TritonEndpoint(ITritonEndpoint):
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
    keeps `endpoint_name`. Raises `InvalidEndpoint` with everything that is wrong.
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
        network = VpcAccess(vpc=vpc, vpc_subnets=vpc_subnets, security_groups=security_groups)
        found = problems(
            endpoint_name=endpoint_name,
            variants=variants,
            update=update,
            rollback_alarms=rollback_alarms,
            rollback_error_rate=rollback_error_rate,
            network=network,
            data_capture=data_capture,
        )
        if found:
            raise InvalidEndpoint(endpoint_name, found)
        self.variants = tuple(variants)
        self.log = log or EndpointLog(self, "Log", endpoint_name=endpoint_name)
        self.role = role or self._own_role(
            vpc=vpc, volume_key=encryption_key, data_capture=data_capture
        )
        own_group = network.own_group(self)
        self._connections = network.connections(own_group)
        self.models = dict(self._models(network.property(own_group), network_isolation))
        self.config = self._config(encryption_key, data_capture, detailed_observability)
        if rollback_alarms is None:
            rollback_alarms = list(self._default_rollback_alarms(rollback_error_rate))
        self._update, self._rollback_alarms = update, tuple(rollback_alarms)
        self._most_instances = max(it.instances.initial_count for it in variants)
        self.endpoint = self._endpoint(keep_instance_counts)
        self.node.default_child = self.endpoint
        self.updated: Construct = self.endpoint
        if checked:
            self.updated = self._check_updates(checked, own_group)

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """The instances' security groups. Raises `InvalidEndpoint` where there is no VPC."""
        if self._connections is None:
            raise self._invalid("connections", "the instances are in no VPC: write vpc")
        return self._connections

    @property
    @jsii.member(jsii_name="grantPrincipal")
    def grant_principal(self) -> iam.IPrincipal:
        """The instances' role."""
        return self.role.grant_principal

    @property
    def longest_update(self) -> Duration:
        """How long an update of as many instances as scaling allows may take."""
        return Duration.seconds(self._longest(instances=self._most_instances))

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
        scaled = self._variant(variant)
        scaling = EndpointScaling(
            self,
            f"Scaling-{scaled.name}",
            after=self.updated,
            endpoint_name=self.endpoint_name,
            variant=scaled,
            min_count=min_count,
            max_count=max_count,
            targets=targets,
            schedules=schedules,
        )
        ceilings = (max_count, *(it.max_count for it in schedules))
        self._most_instances = max(self._most_instances, *ceilings)
        return scaling

    def monitor(
        self, thresholds: AlarmThresholds | None = None, *, topics: Sequence[sns.ITopic] = ()
    ) -> EndpointMonitoring:
        """Add alarms and a dashboard; the alarms are told to `topics`, or to one that is made.

        Raises `InvalidEndpoint` for more topics than an alarm can notify, and for thresholds that
        no value reaches.
        """
        limits = vars(thresholds) if thresholds else {}
        values = [level for levels in limits.values() for level in levels.values()]
        problems = [
            *of_rules(observed.number_of_topics(len(topics))),
            *of_rules(observed.thresholds(limits), *values),
        ]
        if problems:
            raise InvalidEndpoint(self.endpoint_name, problems)
        return EndpointMonitoring(
            self,
            "Monitoring",
            endpoint_name=self.endpoint_name,
            variants=self.variants,
            thresholds=thresholds,
            topics=topics,
        )

    def _check_updates(
        self, checked: CheckedUpdates, own_group: ec2.ISecurityGroup | None
    ) -> Construct:
        """Return the check after an update.

        Scaling begins after it, so that an update and scaling never run side by side.
        """
        name, config = self.endpoint_name, self.config.attr_endpoint_config_name
        guard = checked.checks.guard(
            self,
            endpoint_name=name,
            config_name=config,
            deployment=self.endpoint.deployment_config,
            updates=checked,
            security_group=own_group,
        )
        self.endpoint.node.add_dependency(guard)
        check = checked.checks.check(
            self, endpoint_name=name, config_name=config, security_group=own_group
        )
        check.node.add_dependency(self.endpoint)
        return check

    def _own_role(
        self, *, vpc: ec2.IVpc | None, volume_key: kms.IKey | None, data_capture: DataCapture | None
    ) -> iam.IRole:
        return EndpointRole(
            self,
            "Role",
            endpoint_name=self.endpoint_name,
            variants=self.variants,
            vpc=vpc,
            volume_key=volume_key,
            data_capture=data_capture,
        ).role

    def _variant(self, name: str | None) -> Variant:
        variants = {it.name: it for it in self.variants}
        if name is None:
            return self.variants[0]
        if name not in variants:
            raise self._invalid("variant", f'no "{name}": write one of {", ".join(variants)}')
        return variants[name]

    def _dimensions(self, variant: str | None) -> dict[str, str]:
        return super()._dimensions(self._variant(variant).name)

    def _target_model(self, archive: str) -> str:
        hosting = self.variants[0].hosting  # the others' is of the same mode
        target_model = hosting.target_model(archive)
        if target_model is None:
            raise self._invalid(
                "models",
                f"{type(hosting).__name__} is invoked without naming a model: leave it out",
            )
        return target_model

    def _invalid(self, where: str, what: str) -> InvalidEndpoint:
        return InvalidEndpoint(self.endpoint_name, [Problem(where, what)])

    def _models(
        self, vpc_config: sagemaker.CfnModel.VpcConfigProperty | None, network_isolation: bool
    ) -> Iterator[tuple[str, sagemaker.CfnModel]]:
        for variant in self.variants:
            model = sagemaker.CfnModel(
                self,
                f"Model-{variant.name}",
                enable_network_isolation=network_isolation or None,
                execution_role_arn=self.role.role_arn,
                primary_container=variant.container_property(),
                vpc_config=vpc_config,
            )
            model.node.add_dependency(self.role)  # its policy too: CreateModel checks the rights
            yield variant.name, model

    def _config(
        self,
        encryption_key: kms.IKey | None,
        data_capture: DataCapture | None,
        detailed_observability: bool,
    ) -> sagemaker.CfnEndpointConfig:
        """Return the configuration; what metrics alarms rest on is not left to AWS's defaults."""
        return sagemaker.CfnEndpointConfig(
            self,
            "Config",
            data_capture_config=data_capture.property() if data_capture else None,
            kms_key_id=encryption_key.key_arn if encryption_key else None,
            metrics_config=sagemaker.CfnEndpointConfig.MetricsConfigProperty(
                enable_detailed_observability=detailed_observability,
                enable_enhanced_metrics=False,
                metric_publish_frequency_in_seconds=seconds(MINUTE),
            ),
            production_variants=[
                it.property(model_name=self.models[it.name].attr_model_name) for it in self.variants
            ],
        )

    def _default_rollback_alarms(self, model_error_rate: float) -> Iterator[cloudwatch.Alarm]:
        """Watch the new instances alone: old ones that fail must not stop what mends them."""
        both = 2 * len(self.variants) <= MAX_ROLLBACK_ALARMS
        for variant in self.variants:
            metrics = VariantMetrics(
                self.endpoint_name, variant.name, self.config.attr_endpoint_config_name
            )
            if both:
                yield self._rollback_alarm(
                    f"{variant.name}-ServerErrors",
                    f"variant {variant.name} answers with 5xx",
                    metrics.metric_server_error_rate(),
                    threshold=ROLLBACK_SERVER_ERROR_RATE,
                    minutes=(1, 1),
                )
            # In one minute at night, one caller's mistake may be all that is asked.
            yield self._rollback_alarm(
                f"{variant.name}-ModelErrors",
                f"containers of variant {variant.name} fail requests",
                metrics.metric_model_error_rate(),
                threshold=model_error_rate,
                minutes=(2, 3),
            )

    def _rollback_alarm(
        self,
        name: str,
        reason: str,
        metric: cloudwatch.Metric,
        *,
        threshold: float,
        minutes: tuple[int, int],
    ) -> cloudwatch.Alarm:
        """Return an alarm of this configuration alone, under a name that ends with its name.

        An alarm that is changed keeps its state ("its state is left unchanged": API reference,
        PutMetricAlarm), and one that was in ALARM would roll back the update that mends it. With
        the name CloudFormation replaces it: the new one exists before the endpoint is updated, the
        old one until the update cannot be rolled back any more.
        """
        bad, of = minutes
        return cloudwatch.Alarm(
            self,
            f"Rollback-{name}",
            alarm_name=f"{self.endpoint_name}-{name}-{self.config.attr_endpoint_config_name}",
            alarm_description=f"Rolls an update of {self.endpoint_name} back: {reason}",
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            datapoints_to_alarm=bad,
            evaluation_periods=of,
            metric=metric,
            threshold=threshold,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )

    def _longest(self, *, instances: int | None) -> int:
        """Return how many seconds an update of up to `instances`, or of any number, may take."""
        longest = self._update.longest(start=longest_start(self.variants), instances=instances)
        return min(LONGEST_SECONDS, longest)

    def _deployment(self) -> sagemaker.CfnEndpoint.DeploymentConfigProperty:
        """Return the DeploymentConfig, without regard to scaling: a change of it is an update."""
        rollback = sagemaker.CfnEndpoint.AutoRollbackConfigProperty(
            alarms=[
                sagemaker.CfnEndpoint.AlarmProperty(alarm_name=alarm.alarm_name)
                for alarm in self._rollback_alarms
            ]
        )
        return sagemaker.CfnEndpoint.DeploymentConfigProperty(
            auto_rollback_configuration=rollback if self._rollback_alarms else None,
            **self._update.policy(longest=self._longest(instances=None)),
        )

    def _endpoint(self, keep_instance_counts: bool) -> sagemaker.CfnEndpoint:
        templates = ["DesiredWeight", "DataCaptureConfig"]
        if not keep_instance_counts:
            templates.append("DesiredInstanceCount")
        endpoint = sagemaker.CfnEndpoint(
            self,
            "Endpoint",
            deployment_config=self._deployment(),
            endpoint_config_name=self.config.attr_endpoint_config_name,
            endpoint_name=self.endpoint_name,
            exclude_retained_variant_properties=[
                sagemaker.CfnEndpoint.VariantPropertyProperty(variant_property_type=it)
                for it in templates
            ],
            retain_all_variant_properties=True,
        )
        endpoint.node.add_dependency(self.log)  # else there is nowhere to write
        return endpoint
