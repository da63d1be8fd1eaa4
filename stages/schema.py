"""The schema of a stage's YAML file, with everything that can be checked in it alone.

Checks that need only the facts about AWS and Triton are here, so that an error stands at the line
that causes it. What the constructs can see of themselves they check again for their other users.
"""

import re
from collections.abc import Callable, Iterator
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    field_validator,
    model_validator,
)

import platform_facts

STACKS = frozenset({"delivery", "models", "network"})
"""What the stacks of a stage are called that are not an endpoint's: `prod-models`."""


def _known(lookup: Callable[[str], object]) -> AfterValidator:
    """Return a validator that asks the facts, whose errors name what there is."""

    def check(name: str) -> str:
        try:
            lookup(name)
        except LookupError as error:
            raise ValueError(str(error)) from None
        return name

    return AfterValidator(check)


def _in_subject(repository: str) -> str:
    """Return a repository as GitHub's tokens name it: with both ids, or with none."""
    owner, name = r"[A-Za-z0-9][A-Za-z0-9_-]*", r"[A-Za-z0-9._-]+"
    if not re.fullmatch(rf"{owner}/{name}|{owner}@[0-9]+/{name}@[0-9]+", repository):
        raise ValueError(
            f"{repository!r} is not a repository's name in GitHub's tokens: write owner/name, or, "
            "for one created after July 15, 2026, owner@OWNER-ID/name@REPOSITORY-ID"
        )
    return repository


def _no_stack(name: str) -> str:
    """Return the name of an endpoint, whose stack is called after it."""
    if name in STACKS:
        raise ValueError(f"a stage has a {name} stack already: write another name")
    return name


def _address(email: str) -> str:
    """Return an e-mail address, as far as a look can tell."""
    if not re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s.]+", email):
        raise ValueError(f"{email!r} is not an e-mail address: write for example team@company.com")
    return email


def _topic_arn(arn: str) -> str:
    """Return the ARN of an SNS topic."""
    if not re.fullmatch(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}", arn):
        raise ValueError(
            f"{arn!r} is not the ARN of an SNS topic: write arn:aws:sns:REGION:ACCOUNT:NAME, as "
            "the topic's page in the console has it"
        )
    return arn


Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,30}[a-z0-9]$")]
EndpointName = Annotated[Name, AfterValidator(_no_stack)]
VariantName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9](-*[a-zA-Z0-9])*$", max_length=63)]
ReleaseName = Annotated[str, _known(platform_facts.release)]
RegionName = Annotated[str, _known(platform_facts.region)]
InstanceTypeName = Annotated[str, _known(platform_facts.instance_type)]
Hosting = Literal["multi-model", "single-model"]


MAX_VARIANTS = 10
"""SageMaker API reference, CreateEndpointConfig: ProductionVariants."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class ScalingStage(_Strict):
    """Between how many instances, and by what."""

    min_count: Annotated[int, Field(ge=1)]
    """Fewest instances."""
    max_count: Annotated[int, Field(ge=1)]
    """Most instances."""
    max_rps: Annotated[FiniteFloat, Field(gt=0)] | None = None
    """Requests a second that one instance sustained in a load test; scaling aims at half of it."""
    gpu_percent: Annotated[float, Field(gt=0, le=100)] | None = None
    """Utilisation of each GPU to aim at."""
    cpu_percent: Annotated[float, Field(gt=0, le=100)] | None = None
    """Utilisation of each vCPU to aim at: for models that compute, or prepare, on the CPU."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.max_count < self.min_count:
            raise ValueError(f"max_count {self.max_count} is less than min_count: write more")
        if (self.max_rps, self.gpu_percent, self.cpu_percent) == (None, None, None):
            raise ValueError("nothing to scale by: write max_rps, gpu_percent or cpu_percent")
        return self


class UpdateStage(_Strict):
    """How the endpoint moves to a new configuration."""

    strategy: Literal["all-at-once", "canary", "linear", "rolling"]
    """all-at-once, canary and linear start a second fleet; rolling replaces in place."""
    percent: Annotated[int, Field(ge=1, le=50)] = 10
    """Share of the capacity that moves first, or at a time; not for all-at-once."""
    wait_seconds: Annotated[int, Field(ge=0, le=3600)] = 600
    """Time to watch the alarms between two moves; not for all-at-once."""
    rollback_error_rate: Annotated[FiniteFloat, Field(gt=0, le=1)] = 0.2
    """Share of requests that the new instances may fail, callers' mistakes among them, before the
    update is rolled back: more than callers get wrong, less than one broken model makes fail."""


class VariantStage(_Strict):
    """One of several variants that share the traffic."""

    weight: Annotated[FiniteFloat, Field(ge=0)] = 1.0
    """Share of the traffic, relative to the other variants'."""
    instance_type: InstanceTypeName | None = None
    """Other than the endpoint's."""


Thresholds = dict[Literal["warning", "critical"], FiniteFloat]


class AlarmsStage(_Strict):
    """Thresholds of a production endpoint's alarms; what is left out keeps its default.

    An empty mapping leaves an alarm out. What each measures: `triton_sagemaker.AlarmThresholds`.
    """

    server_error_rate: Thresholds | None = None
    client_error_rate: Thresholds | None = None
    model_error_rate: Thresholds | None = None
    model_latency_p50_ms: Thresholds | None = None
    model_latency_p99_ms: Thresholds | None = None
    gpu_memory_percent: Thresholds | None = None
    disk_percent: Thresholds | None = None
    cache_hit_rate_below: Thresholds | None = None
    loading_wait_p99_ms: Thresholds | None = None
    unloads_per_minute: Thresholds | None = None
    loaded_models_below: Thresholds | None = None


class EndpointStage(_Strict):
    """One endpoint of a stage."""

    models: Annotated[list[Name], Field(min_length=1)]
    """Folders in models/ that the endpoint serves, each as an archive of its own."""
    hosting: Hosting = "multi-model"
    """multi-model loads models when they are asked for; single-model loads one at the start."""
    instance_type: InstanceTypeName
    """SageMaker hosting instance type. A GPU type makes models build for that GPU."""
    instance_count: Annotated[int, Field(ge=1)] = 1
    """Instances that each variant starts with."""
    variants: Annotated[dict[VariantName, VariantStage], Field(min_length=1)] = {
        "AllTraffic": VariantStage()
    }
    """Variants by their names, which must never change."""
    scaling: ScalingStage | None = None
    """Left out: the number of instances stays."""
    update: UpdateStage = UpdateStage(strategy="all-at-once")
    """Every update is rolled back when the endpoint's own alarms go off."""
    alarms: AlarmsStage = AlarmsStage()
    """Thresholds of the alarms, which production stages have."""

    def variant_instance_type(self, variant: str) -> str:
        """Return the instance type of a variant."""
        return self.variants[variant].instance_type or self.instance_type

    @field_validator("models")
    @classmethod
    def _models_once(cls, models: list[str]) -> list[str]:
        twice = sorted({name for name in models if models.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} listed twice: remove one")
        return models

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        wrong = list(_HOSTING_RULES[self.hosting](self))
        if len(self.variants) > MAX_VARIANTS:
            wrong.append(f"{len(self.variants)} variants given: write one to {MAX_VARIANTS}")
        if not any(it.weight for it in self.variants.values()):
            wrong.append("no variant gets traffic: write a weight above 0 for one of the variants")
        if self.update.strategy == "rolling" and len(self.variants) > 1:
            wrong.append("a rolling update takes one variant: write canary or linear")
        wrong += self._wrong_scaling(self.scaling) if self.scaling else []
        if wrong:
            raise ValueError("; ".join(wrong))
        return self

    def _wrong_scaling(self, scaling: ScalingStage) -> list[str]:
        wrong = []
        if scaling.gpu_percent is not None:
            wrong += [
                f"{self.variant_instance_type(name)} has no GPU: remove gpu_percent"
                for name in self.variants
                if platform_facts.instance_type(self.variant_instance_type(name)).gpu is None
            ]
        if not scaling.min_count <= self.instance_count <= scaling.max_count:
            wrong.append(
                f"instance_count {self.instance_count} is outside the scaling limits: write "
                f"{scaling.min_count} to {scaling.max_count}"
            )
        return wrong


def _one_gpu(endpoint: EndpointStage) -> Iterator[str]:
    for name in sorted({endpoint.variant_instance_type(it) for it in endpoint.variants}):
        instance = platform_facts.instance_type(name)
        if instance.multi_model is platform_facts.Support.NO:
            fit = [
                other.name
                for other in platform_facts.instance_types()
                if other.gpu == instance.gpu and other.multi_model is platform_facts.Support.YES
            ]
            yield (
                f"{name} cannot host a GPU multi-model endpoint, which takes one GPU: write "
                f"{', '.join(fit) or 'a single-GPU type such as ml.g5.xlarge'}"
            )


def _one_model(endpoint: EndpointStage) -> Iterator[str]:
    if len(endpoint.models) != 1:
        yield f"single-model hosting takes one model, not {len(endpoint.models)}"


_HOSTING_RULES: dict[Hosting, Callable[[EndpointStage], Iterator[str]]] = {
    "multi-model": _one_gpu,
    "single-model": _one_model,
}


class DeliveryStage(_Strict):
    """Which GitHub repository's workflows deploy the stage."""

    repository: Annotated[str, AfterValidator(_in_subject)]
    """As the subject of GitHub's tokens names it: owner/name, or owner@OWNER-ID/name@REPOSITORY-ID
    for repositories created, renamed or transferred after July 15, 2026."""
    provider_exists: bool = False
    """The account has GitHub's identity provider already: it can have only one."""
    promotes_from: Name | None = None
    """The stage of the same account and region whose archives a deploy copies, instead of building
    them again."""


class NotifyStage(_Strict):
    """Who hears the alarms of a production stage.

    Addresses of web hooks are no choice: they hold the key to the service behind them, and this
    file is no place for it. Such a service subscribes to a topic.
    """

    email: list[Annotated[str, AfterValidator(_address)]] = []
    """E-mail addresses. SNS sends each a link first, and nothing more until it was followed."""
    topics: list[Annotated[str, AfterValidator(_topic_arn)]] = []
    """ARNs of SNS topics that you have already, in the stage's region. Their policies, and those of
    their keys, must let cloudwatch.amazonaws.com publish."""


class Stage(_Strict):
    """One environment: an AWS account and region with the endpoints in it."""

    account: Annotated[str, Field(pattern=r"^\d{12}$")] | None = None
    """AWS account id. Left out: the account of whoever deploys."""
    region: RegionName
    """AWS region."""
    release: ReleaseName
    """Triton container release of the SageMaker image, for example 25.09."""
    production: bool = False
    """Production endpoints start with at least two instances, in two availability zones, and have
    alarms that somebody hears."""
    notify: NotifyStage = NotifyStage()
    """Who hears the alarms: production stages name somebody, others have no alarms."""
    private_network: bool = False
    """Put the instances into a VPC of the stage's own that reaches S3 and nothing else."""
    delivery: DeliveryStage | None = None
    """Roles for GitHub's workflows. Left out: people deploy, with credentials of their own."""
    endpoints: Annotated[dict[EndpointName, EndpointStage], Field(min_length=1)]
    """The endpoints, by their short names: `text` of stage `prod` is the endpoint `prod-text`."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        release = platform_facts.release(self.release)
        platform_facts.image_uri(
            release=release,
            region=platform_facts.region(self.region),
            processor=platform_facts.Processor.GPU,
        )
        wrong = [line for name, it in self.endpoints.items() for line in self._wrong(name, it)]
        if missing := platform_facts.region(self.region).missing:
            wrong.append(
                f"region: CloudFormation has no {missing} in {self.region}: write another region"
            )
        wrong += self._wrong_notify()
        if wrong:
            raise ValueError("; ".join(wrong))
        return self

    def _wrong_notify(self) -> list[str]:
        told = [*self.notify.email, *self.notify.topics]
        if self.production and not told:
            return [
                "nobody hears the alarms of a production stage: write notify: "
                "{ email: [team@company.com] }, or ARNs of SNS topics under notify.topics"
            ]
        if told and not self.production:
            return ["only production stages have alarms to hear: remove notify"]
        # PutMetricAlarm: "Invalid region ca-central-1 specified. Only us-west-2 is supported."
        # (cds-snc/notification-terraform#128)
        return [
            f"notify.topics: {it} is not in {self.region}, and an alarm tells topics of its own "
            "region alone: write another"
            for it in self.notify.topics
            if it.split(":")[3] != self.region
        ]

    def _wrong(self, name: str, endpoint: EndpointStage) -> list[str]:
        wrong = []
        release = platform_facts.release(self.release)
        for type_name in sorted({endpoint.variant_instance_type(it) for it in endpoint.variants}):
            gpu = platform_facts.instance_type(type_name).gpu
            if gpu and (wanted := release.wants_gpu(gpu.compute_capability)):
                wrong.append(
                    f"endpoints.{name}: {type_name} has a {gpu.name} of compute capability "
                    f"{gpu.compute_capability}, release {self.release} needs {wanted}: write "
                    "another instance_type or another release"
                )
        fewest = endpoint.scaling.min_count if endpoint.scaling else endpoint.instance_count
        if self.production and min(fewest, endpoint.instance_count) < 2:
            key = "instance_count" if endpoint.instance_count < 2 else "scaling.min_count"
            wrong.append(
                f"endpoints.{name}: a production endpoint needs {key} 2 or more, so that it "
                "survives the loss of an availability zone"
            )
        return wrong
