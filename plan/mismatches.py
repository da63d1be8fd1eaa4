"""Comparison of a plan with the templates of its stage.

Nothing else reads the properties of endpoints in templates. From the plan follow the properties of
each resource of an endpoint, except those of roles, networks, keys and sources of builds. Each
other property of the template must be equal, and no resource of these types may be missing or
additional.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import platform_facts
from plan.document import (
    DIGEST_OUTPUT,
    EndpointSettings,
    InvalidPlan,
    Plan,
    PlannedComponent,
    PlannedEndpoint,
    PlannedModel,
    PlannedVariant,
)
from platform_facts.rules.catalog import list_text, table_name
from platform_facts.rules.monitoring import (
    COPIES,
    ERROR_RATES,
    EVALUATION,
    INVOCATIONS,
    LATENCIES,
    MAX_ROLLBACK_ALARMS,
    MEASURES,
    ROLLBACK_EVALUATIONS,
    SERVER_ERROR_RATE,
    Evaluation,
    Measure,
    dimension_list,
)
from platform_facts.rules.scaling import (
    SCALING_TARGET_SHARE,
    UTILIZATIONS,
    concurrency_tracking,
    target_tracking,
)
from platform_facts.rules.stage import CACHE_ALARMS
from platform_facts.rules.updates import CopiesUpdate, UpdateTimes

Properties = dict[str, Any]
ANY = object()
"""A value that does not follow from the plan, or no value."""
PROVIDER = "ServiceToken", "WaitMinutes"
PRESENT = object()
"""A list that does not follow from the plan, but is not empty."""
MODEL, ALARM = "AWS::SageMaker::Model", "AWS::CloudWatch::Alarm"
CONFIG, ENDPOINT = "AWS::SageMaker::EndpointConfig", "AWS::SageMaker::Endpoint"
COMPONENT = "AWS::SageMaker::InferenceComponent"
TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
POLICY = "AWS::ApplicationAutoScaling::ScalingPolicy"
GUARD, CHECK = "Custom::TritonUpdateGuard", "Custom::TritonUpdateCheck"
BUILD, CATALOG = "Custom::TritonModels", "Custom::TritonCatalog"
KINDS = (
    *(ENDPOINT, CONFIG, MODEL, COMPONENT, TARGET, POLICY, ALARM, GUARD, CHECK, BUILD, CATALOG),
)
"""The types of the resources of which every property is compared."""


def mismatches(plan: Plan, templates: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each difference between a plan and templates, by stack name."""
    stacks = {endpoint.settings.stack: name for name, endpoint in plan.endpoints.items()}
    missing = stacks.keys() - templates
    sentences = [f"{stack}: the plan has it, and no template" for stack in missing]
    for stack, template in templates.items():
        if stack in stacks:
            try:
                differences = [*_stack_mismatches(plan, stacks[stack], template)]
            except platform_facts.UnknownFact as error:
                differences = [f"not compared with the plan: {error}"]
        else:
            differences = [
                f"{name}: {resource['Type']}, and the plan has no endpoint in this stack"
                for name, resource in template.get("Resources", {}).items()
                if resource["Type"] in KINDS and resource["Type"] != ALARM  # of something else
            ]
        sentences += [f"{stack}: {sentence}" for sentence in differences]
    return sorted(sentences)


def _stack_mismatches(plan: Plan, short_name: str, template: Mapping[str, Any]) -> Iterator[str]:
    endpoint = plan.endpoints[short_name]
    try:
        part = EndpointSettings.of_template(template)
    except InvalidPlan as error:
        yield str(error)
        part = None
    output = template.get("Outputs", {}).get(DIGEST_OUTPUT, {}).get("Value")
    digests = part and part.digest, output
    if digests != (endpoint.settings.digest, endpoint.settings.digest):
        yield "Metadata: not the endpoint's part of the plan, or not its digest in the outputs"
    expected, actual = _Expected(plan, short_name, endpoint).resources(), _Reader(template)
    for kind in KINDS:
        yield from _compare(kind, expected.get(kind, []), actual.of_kind(kind))


def _compare(
    kind: str, expected: Sequence[Properties], actual: Mapping[str, Properties]
) -> Iterator[str]:
    """Yield differences of resources of one type, each compared with the most similar one."""
    remaining, missing = dict(actual), []
    for properties in expected:
        equal = (
            name for name, other in remaining.items() if not [*_differences(properties, other)]
        )
        if name := next(equal, None):
            del remaining[name]
        else:
            missing.append(properties)
    for properties in missing:
        if not remaining:
            yield f"{kind}: the plan has one more"
            continue
        differences = {
            name: [*_differences(properties, other)] for name, other in remaining.items()
        }
        name = min(differences, key=lambda name: len(differences[name]))
        del remaining[name]
        yield from (f"{name}.{difference}" for difference in differences[name])
    if kind != ALARM:  # a further alarm changes nothing; which roll back stands in the endpoint
        yield from (f"{name}: {kind}, which the plan does not have" for name in remaining)


def _differences(expected: Any, actual: Any, path: str = "") -> Iterator[str]:
    if expected is ANY or (expected is PRESENT and actual):
        return
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in dict.fromkeys((*expected, *actual)):
            values = expected.get(key), actual.get(key)
            yield from _differences(*values, f"{path}.{key}" if path else key)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for number, values in enumerate(zip(expected, actual, strict=True)):
            yield from _differences(*values, f"{path}.{number}")
    elif expected != actual or isinstance(expected, bool) is not isinstance(actual, bool):
        has = "a value" if expected is PRESENT else json.dumps(expected, default=str)
        yield f"{path}: {json.dumps(actual)[:200]}, and the plan has {has[:200]}"


def _list(lines: Iterable[str]) -> Properties:
    """Return the location and digest of a list with one text a line."""
    return {"List": ANY, "Digest": hashlib.sha256(list_text(lines).encode()).hexdigest()}


class _Reader:
    """The resources of a template without functions: references contain what they refer to."""

    def __init__(self, template: Mapping[str, Any]) -> None:
        self._resources = template.get("Resources", {})

    def of_kind(self, kind: str) -> dict[str, Properties]:
        """Return the properties of the resources of a type, by logical ID."""
        return {
            name: self._plain(_without_tags(resource))
            for name, resource in self._resources.items()
            if resource["Type"] == kind
        }

    def _plain(self, value: Any, *, expand: bool = True) -> Any:
        match value:
            case {"Ref": str(name), **others} if not others:
                return self._reference(name, "Ref", expand=expand)
            case {"Fn::GetAtt": [str(name), str(attribute)], **others} if not others:
                return self._reference(name, attribute, expand=expand)
            case {"Fn::ImportValue": str(name), **others} if not others:
                return f"<{re.sub(r'(?<=[A-Za-z])[0-9A-F]{16}$', '', name)}>"
            case {"Fn::Join": ["", [*parts]], **others} if not others:
                texts = [self._plain(part, expand=False) for part in parts]
                return "".join(texts) if all(isinstance(text, str) for text in texts) else value
            case dict():
                return {key: self._plain(part, expand=expand) for key, part in value.items()}
            case list():
                return [self._plain(part, expand=expand) for part in value]
        return value

    def _reference(self, name: str, attribute: str, *, expand: bool) -> Any:
        resource = self._resources.get(name, {"Type": name})
        kind = f"{resource['Type']}.{attribute}"
        if expand and resource["Type"] in (MODEL, ALARM, TARGET, POLICY):
            return {kind: self._plain(_without_tags(resource), expand=False)}
        return f"<{kind}>"


class _Expected:
    """The resources of an endpoint that follow from its plan."""

    def __init__(self, plan: Plan, short_name: str, endpoint: PlannedEndpoint) -> None:
        self._plan, self._short_name, self._endpoint = plan, short_name, endpoint
        settings = endpoint.settings
        self._name = settings.name
        self._settings: dict[str, Any] = settings.settings
        self._variants, self._components = settings.variants, settings.components
        self._many = settings.hosting == "multi-model"
        self._release = platform_facts.release(plan.release)
        update: Any = self._settings["update"]
        self._times = UpdateTimes.of(update, settings.start_seconds)

    def resources(self) -> dict[str, list[Properties]]:
        """Return the properties of the resources by type."""
        config = f"<{CONFIG}.EndpointConfigName>"
        checks = {"ServiceToken": ANY, "Endpoint": self._name, "ConfigName": config}
        checks |= {"SecurityGroup": ANY, "Components": ANY}
        table = table_name(self._plan.stage)
        name = f"{table}/{self._short_name}"
        guard = {"Catalog": name, "Deployment": ANY, **self._entries()}
        scaling = [*self._scaling()]
        rollback = [alarm for alarms in self._rollback_alarms().values() for alarm in alarms]
        return {
            ENDPOINT: [self._endpoint_properties(config)],
            CONFIG: [self._config()],
            MODEL: [
                model
                for variant in self._variants.values()
                for model in self._models(variant).values()
            ],
            COMPONENT: [self._component(*item) for item in self._components.items()],
            TARGET: [target for target, _ in scaling],
            POLICY: [policy for _, policies in scaling for policy in policies],
            ALARM: [*rollback, *self._alarms(), *self._wake_alarms()],
            GUARD: [checks | guard],
            CHECK: [checks],
            BUILD: [self._builds()],
            CATALOG: [self._catalog(table)],
        }

    def _type(self, variant: PlannedVariant) -> platform_facts.InstanceType:
        return platform_facts.instance_type(variant.instance_types[0])

    def _bucket(self) -> str:
        return f"<{self._plan.stage}-models:ExportsOutputRefModelsBucket>"

    def _builds(self) -> Properties:
        """Return the resource that builds a list of archives, which must have this digest."""
        items = (item.as_json() for item in self._endpoint.build_items())
        keep = {"OnFailure": "keep"} if self._endpoint.settings.keeps_models else {}
        return {"Bucket": self._bucket(), **dict.fromkeys(PROVIDER, ANY), **_list(items), **keep}

    def _catalog(self, table: str) -> Properties:
        """Return the resource that writes a list of models, which must have this digest."""
        return {
            "Table": table,
            "Endpoint": self._short_name,
            "ServiceToken": ANY,
            **self._entries(),
        }

    def _entries(self) -> Properties:
        settings = self._endpoint.settings
        entries = _list(model.catalog.as_json() for model in self._endpoint.models.values())
        locations = [f"{self._bucket()}/{prefix}" for prefix in sorted(settings.prefixes)]
        return {**entries, **({"Archives": locations} if settings.keeps_models else {})}

    def _models(self, variant: PlannedVariant) -> dict[str, Properties]:
        """Return archive or prefix -> Model of a variant, the preferred first."""
        if self._many:
            cache = "Enabled" if self._settings["cache_models"] else "Disabled"
            mode = {"Mode": "MultiModel", "MultiModelConfig": {"ModelCacheSetting": cache}}
            return {variant.pools[0].prefix: self._model(variant, variant.pools[0].prefix, mode)}
        return {
            key: self._model(variant, key, {"Mode": "SingleModel"}, model)
            for model in self._endpoint.models.values()
            for pool in variant.pools
            for key in [model.archive_key(pool.prefix)]
        }

    def _model(
        self,
        variant: PlannedVariant,
        location: str,
        mode: Properties,
        model: PlannedModel | None = None,
    ) -> Properties:
        gpu, image = self._type(variant).gpu, self._settings.get("image")
        container = {
            "Environment": self._endpoint.settings.environment(model),
            "Image": image["uri"]
            if image
            else platform_facts.image_uri(
                release=self._release,
                region=platform_facts.region(self._plan.region),
                processor=platform_facts.Processor.GPU if gpu else platform_facts.Processor.CPU,
            ),
            "ModelDataUrl": f"s3://{self._bucket()}/{location}",
        }
        vpc = None if self._components else ANY
        return {"ExecutionRoleArn": ANY, "PrimaryContainer": container | mode, "VpcConfig": vpc}

    def _config(self) -> Properties:
        metrics = {
            "EnableDetailedObservability": self._settings["detailed_observability"],
            "EnableEnhancedMetrics": False,
            "MetricPublishFrequencyInSeconds": 60,
        }
        variants = [self._variant(*item) for item in self._variants.items()]
        config = {"ProductionVariants": variants, "MetricsConfig": metrics, "KmsKeyId": ANY}
        if capture := self._settings["data_capture"]:
            modes = {"Input": capture["requests"], "Output": capture["responses"]}
            config["DataCaptureConfig"] = {
                "CaptureOptions": [{"CaptureMode": mode} for mode in modes if modes[mode]],
                "DestinationS3Uri": ANY,
                "EnableCapture": True,
                "InitialSamplingPercentage": capture["percent"],
                "KmsKeyId": ANY,
            }
        return config | ({"ExecutionRoleArn": ANY, "VpcConfig": ANY} if self._components else {})

    def _variant(self, name: str, variant: PlannedVariant) -> Properties:
        gpu, models = self._type(variant).gpu, self._models(variant)
        properties: Properties = {
            **self._startup(),
            "InferenceAmiVersion": self._release.preferred_inference_ami if gpu else None,
            "InitialInstanceCount": variant.initial_count,
            "InitialVariantWeight": variant.weight,
            "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
            "VariantName": name,
            "VolumeSizeInGB": self._settings["volume_size_gb"],
        }
        if self._components:
            properties["ManagedInstanceScaling"] = {
                "MaxInstanceCount": variant.instances.maximum,
                "MinInstanceCount": variant.instances.minimum,
                "Status": "ENABLED",
            }
        else:
            properties["ModelName"] = _reference(MODEL, next(iter(models.values())), "ModelName")
        if len(variant.pools) == 1:
            return properties | {"InstanceType": variant.instance_types[0]}
        minutes = self._settings["provision_timeout_minutes"]
        properties["VariantInstanceProvisionTimeoutInSeconds"] = 60 * minutes if minutes else None
        (model,), first = self._endpoint.models.values(), variant.pools[0]
        properties["InstancePools"] = [
            {
                "InstanceType": pool.instance_type,
                "Priority": priority,
                "ModelNameOverride": None
                if pool.prefix == first.prefix
                else _reference(MODEL, models[model.archive_key(pool.prefix)], "ModelName"),
            }
            for priority, pool in enumerate(variant.pools, start=1)
        ]
        return properties

    def _startup(self) -> Properties:
        return {
            f"{name}TimeoutInSeconds": 60 * self._settings[f"{key}_timeout_minutes"]
            for name, key in (
                ("ContainerStartupHealthCheck", "startup"),
                ("ModelDataDownload", "download"),
            )
        }

    def _endpoint_properties(self, config: str) -> Properties:
        properties: Properties = {"EndpointName": self._name, "EndpointConfigName": config}
        if self._components:
            return properties
        excluded = "DesiredWeight", "DataCaptureConfig"
        alarms = [alarm for alarms in self._rollback_alarms().values() for alarm in alarms]
        return properties | {
            "DeploymentConfig": {**_rollback(alarms), **self._times.policies()},
            "RetainAllVariantProperties": True,
            "ExcludeRetainedVariantProperties": [
                {"VariantPropertyType": name} for name in excluded
            ],
        }

    def _component(self, model: str, component: PlannedComponent) -> Properties:
        (variant_name, variant), *_ = self._variants.items()
        key = self._endpoint.models[model].archive_key(variant.pools[0].prefix)
        resource = self._models(variant)[key]
        update = CopiesUpdate.of(self._times)
        return {
            "DeploymentConfig": {
                **_rollback(self._rollback_alarms()[model]),
                "RollingUpdatePolicy": {
                    "MaximumBatchSize": {"Type": "CAPACITY_PERCENT", "Value": update.percent},
                    "MaximumExecutionTimeoutInSeconds": update.max_seconds,
                    "WaitIntervalInSeconds": update.wait,
                },
            },
            "EndpointName": f"<{ENDPOINT}.EndpointName>",
            "InferenceComponentName": component.name,
            "RuntimeConfig": {"CopyCount": component.initial_count},
            "Specification": {
                "ComputeResourceRequirements": {
                    "MinMemoryRequiredInMb": component.memory_mb,
                    "NumberOfAcceleratorDevicesRequired": component.accelerators,
                    "NumberOfCpuCoresRequired": component.cpus,
                },
                "ModelName": _reference(MODEL, resource, "ModelName"),
                "StartupParameters": self._startup(),
            },
            "VariantName": variant_name,
        }

    def _scaling(self) -> Iterator[tuple[Properties, list[Properties]]]:
        """Yield the scalable targets, each with its policies."""
        settings = self._settings["scaling"]
        for name, variant in self._variants.items() if settings else ():
            target = _target(f"endpoint/{self._name}/variant/{name}", "variant", "Instance",
                             settings["min_count"], settings["max_count"])  # fmt: skip
            if settings["schedules"]:
                target["ScheduledActions"] = [
                    {
                        "ScheduledActionName": schedule_name,
                        "Schedule": schedule["at"],
                        "Timezone": schedule["timezone"],
                        "ScalableTargetAction": {
                            "MinCapacity": schedule["min_count"],
                            "MaxCapacity": schedule["max_count"],
                        },
                    }
                    for schedule_name, schedule in settings["schedules"].items()
                ]
            dimensions = {"EndpointName": self._name, "VariantName": name}
            yield target, [*self._policies(target, settings, self._type(variant), dimensions)]
        for component in self._components.values():
            if component.copies.minimum == component.copies.maximum:
                continue
            target = _target(f"inference-component/{component.name}", "inference-component", "Copy",
                             component.copies.minimum, component.copies.maximum)  # fmt: skip
            policies = [*self._policies(target, component.scaling)]
            yield target, policies + ([] if component.copies.minimum else [_wake_policy(target)])

    def _policies(
        self,
        target: Properties,
        settings: Mapping[str, Any],
        instance_type: platform_facts.InstanceType | None = None,
        dimensions: Mapping[str, str] | None = None,
    ) -> Iterator[Properties]:
        prefix, per, unit = "SageMakerVariant", "Instance", "Model"
        if instance_type is None:
            prefix, per, unit = "SageMakerInferenceComponent", "Copy", "Copy"
        seconds = {
            f"Scale{kind}Cooldown": settings.get(f"scale_{kind.lower()}_cooldown_seconds")
            for kind in ("In", "Out")
        }
        others = dimensions or {}, {key: item for key, item in seconds.items() if item is not None}
        if rps := settings.get("max_rps"):
            value = rps * SCALING_TARGET_SHARE * 60
            tracking = target_tracking(f"{prefix}InvocationsPer{per}", value, *others)
            yield _policy(target, "Invocations", tracking)
        concurrency = settings.get("concurrency")
        if isinstance(concurrency, Mapping):
            yield _policy(target, "Concurrency", concurrency_tracking(concurrency, *others))
        elif concurrency:
            metric = f"{prefix}ConcurrentRequestsPer{unit}HighResolution"
            yield _policy(target, "Concurrency", target_tracking(metric, concurrency, *others))
        for key, utilization in UTILIZATIONS.items():
            if (percent := settings.get(key)) and instance_type:
                total = percent * utilization.count(instance_type)
                tracking = target_tracking(utilization.metric, total, *others)
                yield _policy(target, utilization.policy, tracking)

    def _rollback_alarms(self) -> dict[str, list[Properties]]:
        """Return variant or model -> alarms that roll its update back."""
        version = f"<{CONFIG}.EndpointConfigName>"
        watched = {
            name: {"EndpointConfigName": version, "EndpointName": self._name, "VariantName": name}
            for name in self._variants
        }
        if self._components:
            version = f"<{MODEL}.ModelName>"
            watched = {
                model: {"InferenceComponentName": component.name}
                for model, component in self._components.items()
            }
        thresholds: dict[str, float] = {
            "server_error_rate": SERVER_ERROR_RATE,
            "model_error_rate": self._settings["update"]["rollback_error_rate"],
        }
        if 2 * len(watched) > MAX_ROLLBACK_ALARMS and not self._components:
            del thresholds["server_error_rate"]
        titles = {"server_error_rate": "ServerErrors", "model_error_rate": "ModelErrors"}
        return {
            name: [
                {
                    "AlarmName": f"{self._name}-{name}-{titles[rate]}-{version}",
                    **_alarm(MEASURES[rate], threshold, dimensions, ROLLBACK_EVALUATIONS[rate]),
                }
                for rate, threshold in thresholds.items()
            ]
            for name, dimensions in watched.items()
        }

    def _alarms(self) -> Iterator[Properties]:
        """Yield the alarms of a production endpoint."""
        for component in self._components.values():
            measures = {name: MEASURES[name] for name in (*ERROR_RATES, *LATENCIES)}
            for name in (
                "memory_percent",
                *(["gpu_memory_percent"] if component.accelerators else ()),
            ):
                measure = MEASURES[name]
                measures[name] = measure._replace(
                    namespace=COPIES, metric=f"{measure.metric}Normalized"
                )
            yield from self._threshold_alarms(measures, {"InferenceComponentName": component.name})
        for name, variant in () if self._components else self._variants.items():
            measures = dict(MEASURES)
            types = [platform_facts.instance_type(kind) for kind in variant.instance_types]
            counts = {kind.gpu_count for kind in types}
            if len(counts) > 1 or 0 in counts:
                del measures["gpu_memory_percent"]
            else:
                gpu = measures["gpu_memory_percent"]
                measures["gpu_memory_percent"] = gpu._replace(scale=max(counts))
            if not (self._many and self._settings["cache_models"]):
                measures = {
                    name: item for name, item in measures.items() if name not in CACHE_ALARMS
                }
            if not self._many:
                del measures["loading_wait_max_ms"]
            dimensions = {"EndpointName": self._name, "VariantName": name}
            yield from self._threshold_alarms(measures, dimensions)

    def _threshold_alarms(
        self, measures: Mapping[str, Measure], dimensions: Mapping[str, str]
    ) -> Iterator[Properties]:
        alarms = self._settings["alarms"] if self._plan.production else {}
        for name, measure in measures.items():
            for threshold in (alarms.get(name) or {}).values():
                limit = threshold * measure.scale
                alarm = _alarm(measure, limit, dimensions, below=name.endswith("_below"))
                if name == "loaded_models_below":
                    alarm = _during_requests(alarm, measure, limit, dimensions)
                yield {**alarm, "AlarmActions": PRESENT}

    def _wake_alarms(self) -> Iterator[Properties]:
        measure = Measure(INVOCATIONS, "NoCapacityInvocationFailures", "Sum")
        for target, _ in self._scaling():
            if target["MinCapacity"] == 0:
                name = target["ResourceId"].partition("/")[2]
                alarm = _alarm(measure, 1, {"InferenceComponentName": name}, Evaluation(1, 1))
                policy = _wake_policy(target) | {"ScalingTargetId": f"<{TARGET}.Ref>"}
                actions = [_reference(POLICY, policy, "Ref")]
                yield {**alarm, "DatapointsToAlarm": None, "AlarmActions": actions}


def _without_tags(resource: Mapping[str, Any]) -> Properties:
    return {name: item for name, item in resource.get("Properties", {}).items() if name != "Tags"}


def _reference(kind: str, properties: Properties, attribute: str) -> Properties:
    return {f"{kind}.{attribute}": properties}


def _rollback(alarms: Sequence[Properties]) -> Properties:
    names = [{"AlarmName": _reference(ALARM, alarm, "Ref")} for alarm in alarms]
    return {"AutoRollbackConfiguration": {"Alarms": names}}


def _alarm(
    measure: Measure,
    threshold: float,
    dimensions: Mapping[str, str],
    evaluation: Evaluation = EVALUATION,
    *,
    below: bool = False,
) -> Properties:
    statistic = "ExtendedStatistic" if measure.statistic.startswith("p") else "Statistic"
    comparison = "LessThanThreshold" if below else "GreaterThanOrEqualToThreshold"
    return {
        "AlarmDescription": ANY,
        "ComparisonOperator": comparison,
        "DatapointsToAlarm": evaluation.datapoints,
        "Dimensions": dimension_list(dimensions),
        "EvaluationPeriods": evaluation.periods,
        "MetricName": measure.metric,
        "Namespace": measure.namespace,
        "Period": 60,
        statistic: measure.statistic,
        "Threshold": threshold,
        "TreatMissingData": "notBreaching",
    }


def _query(name: str, measure: Measure, dimensions: Mapping[str, str], **period: int) -> Properties:
    """Return a query of a metric, whose values are only part of an expression."""
    metric = {
        "Dimensions": dimension_list(dimensions),
        "MetricName": measure.metric,
        "Namespace": measure.namespace,
    }
    stat = {"Metric": metric, "Stat": measure.statistic, **period}
    return {"Id": name, "MetricStat": stat, "ReturnData": False}


def _during_requests(
    alarm: Properties, measure: Measure, limit: float, dimensions: Mapping[str, str]
) -> Properties:
    """Return an alarm for low values of a metric in minutes with requests."""
    requests = Measure(INVOCATIONS, "Invocations", "Sum")
    expression = f"IF(measured < {limit:g}, requests, 0)"
    first = {"Expression": expression, "Id": "expr_1", "Label": ANY, "ReturnData": True}
    kept = "DatapointsToAlarm", "EvaluationPeriods", "TreatMissingData", "AlarmDescription"
    return {
        **{key: alarm[key] for key in kept},
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "Metrics": [
            first,
            _query("measured", measure, dimensions, Period=60),
            _query("requests", requests, dimensions, Period=60),
        ],
        "Threshold": 1,
    }


def _target(resource: str, kind: str, unit: str, minimum: int, maximum: int) -> Properties:
    return {
        "MaxCapacity": maximum,
        "MinCapacity": minimum,
        "ResourceId": resource,
        "ScalableDimension": f"sagemaker:{kind}:Desired{unit}Count",
        "ServiceNamespace": "sagemaker",
    }


def _policy_name(target: Properties, name: str) -> str:
    return f"{target['ResourceId']}-{name}".replace("/", "-")


def _policy(target: Properties, name: str, tracking: Properties) -> Properties:
    return {
        "PolicyName": _policy_name(target, name),
        "PolicyType": "TargetTrackingScaling",
        "ScalingTargetId": _reference(TARGET, target, "Ref"),
        "TargetTrackingScalingPolicyConfiguration": tracking,
    }


def _wake_policy(target: Properties) -> Properties:
    """Return the policy that adds a copy when a request found none."""
    return {
        "PolicyName": _policy_name(target, "Wake"),
        "PolicyType": "StepScaling",
        "ScalingTargetId": _reference(TARGET, target, "Ref"),
        "StepScalingPolicyConfiguration": {
            "AdjustmentType": "ChangeInCapacity",
            "Cooldown": 60,
            "MetricAggregationType": "Maximum",
            "StepAdjustments": [{"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}],
        },
    }
