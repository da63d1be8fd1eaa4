"""The schema of a stage's YAML file, with everything that can be checked in it alone.

Checks that need only the facts about AWS and Triton are here, so that an error stands at the line
that causes it. What the constructs can see of themselves they check again for their other users.
"""

import re
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    field_validator,
    model_validator,
)

import checked_yaml
import platform_facts

STACKS = frozenset({"delivery", "models", "network"})
"""What the stacks of a stage are called that are not an endpoint's: `prod-models`."""

NAME = r"[a-z][a-z0-9-]{0,30}[a-z0-9]"
VARIANT_NAME = r"[a-zA-Z0-9](-*[a-zA-Z0-9])*"
ACCOUNT_ID = r"\d{12}"


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


def _written_as(pattern: str, wanted: str) -> AfterValidator:
    """Return a validator of text, whose errors say in words what `pattern` wants."""

    def check(text: str) -> str:
        if re.fullmatch(pattern, text):
            return text
        close = re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")
        suggested = f", such as {close}" if re.fullmatch(pattern, close) else ""
        raise ValueError(f"{text!r} cannot stand here: write {wanted}{suggested}")

    return AfterValidator(check)


def _pattern(pattern: str) -> Any:
    """Tell editors the pattern, too."""
    return Field(json_schema_extra={"pattern": f"^{pattern}$"})


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


Name = Annotated[
    str,
    _written_as(
        NAME, "2 to 32 lowercase letters, digits and hyphens, a letter first and no hyphen last"
    ),
    _pattern(NAME),
]
EndpointName = Annotated[Name, AfterValidator(_no_stack)]
VariantName = Annotated[
    str,
    _written_as(VARIANT_NAME, "letters, digits, and hyphens between them"),
    _pattern(VARIANT_NAME),
    Field(max_length=63),
]
AccountId = Annotated[
    str,
    _written_as(ACCOUNT_ID, "the 12 digits of an AWS account, in quotes"),
    _pattern(ACCOUNT_ID),
]
ReleaseName = Annotated[str, _known(platform_facts.release)]
RegionName = Annotated[str, _known(platform_facts.region)]
InstanceTypeName = Annotated[str, _known(platform_facts.instance_type)]
Hosting = Literal["multi-model", "single-model"]


MAX_VARIANTS = 10
"""SageMaker API reference, CreateEndpointConfig: ProductionVariants."""


MAX_ALARM_ACTIONS = 5
"""CloudWatch user guide, cloudwatch_limits: actions of an alarm; the quota cannot be changed."""


_Found = Iterator[tuple[checked_yaml.Keys, str]]
"""What does not fit together: the keys of where it is written, and what to write."""


def _refuse(found: list[tuple[checked_yaml.Keys, str]]) -> None:
    if found:
        raise checked_yaml.Misfits(found)


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
        _refuse([*_HOSTING_RULES[self.hosting](self), *self._misfits()])
        return self

    def _misfits(self) -> _Found:
        if len(self.variants) > MAX_VARIANTS:
            yield (
                ("variants",),
                f"{len(self.variants)} variants given: write one to {MAX_VARIANTS}",
            )
        if not any(it.weight for it in self.variants.values()):
            yield (
                ("variants",),
                "no variant gets traffic: write a weight above 0 for one of the variants",
            )
        if self.update.strategy == "rolling" and len(self.variants) > 1:
            yield (
                ("update", "strategy"),
                "a rolling update takes one variant: write canary or linear",
            )
        if self.scaling:
            yield from self._wrong_scaling(self.scaling)

    def _wrong_scaling(self, scaling: ScalingStage) -> _Found:
        if scaling.gpu_percent is not None:
            for name in self.variants:
                instance_type = self.variant_instance_type(name)
                if platform_facts.instance_type(instance_type).gpu is None:
                    yield (
                        ("scaling", "gpu_percent"),
                        f"{instance_type} has no GPU: remove gpu_percent",
                    )
        if not scaling.min_count <= self.instance_count <= scaling.max_count:
            yield (
                ("instance_count",),
                f"{self.instance_count} is outside the scaling limits: write "
                f"{scaling.min_count} to {scaling.max_count}",
            )

    def place_of_type(self, variant: str) -> checked_yaml.Keys:
        """Return the keys under which a variant's instance type is written."""
        own = self.variants[variant].instance_type is not None
        return ("variants", variant, "instance_type") if own else ("instance_type",)


def _one_gpu(endpoint: EndpointStage) -> _Found:
    places = {endpoint.place_of_type(it): endpoint.variant_instance_type(it)
              for it in endpoint.variants}  # fmt: skip
    for place, name in places.items():
        instance = platform_facts.instance_type(name)
        if instance.multi_model is platform_facts.Support.NO:
            fit = [
                other.name
                for other in platform_facts.instance_types()
                if other.gpu == instance.gpu and other.multi_model is platform_facts.Support.YES
            ]
            yield (
                place,
                f"{name} cannot host a GPU multi-model endpoint, which takes one GPU: write "
                f"{', '.join(fit) or 'a single-GPU type such as ml.g5.xlarge'}",
            )


def _one_model(endpoint: EndpointStage) -> _Found:
    if len(endpoint.models) != 1:
        yield ("models",), f"single-model hosting takes one model, not {len(endpoint.models)}"


_HOSTING_RULES: dict[Hosting, Callable[[EndpointStage], _Found]] = {
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

    account: AccountId | None = None
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
    zones: Annotated[list[str], Field(min_length=2, max_length=6)] | None = None
    """Availability zones of the private network, each with the endpoints' instance types. Left out:
    CloudFormation chooses two."""
    delivery: DeliveryStage | None = None
    """Roles for GitHub's workflows. Left out: people deploy, with credentials of their own."""
    endpoints: Annotated[dict[EndpointName, EndpointStage], Field(min_length=1)]
    """The endpoints, by their short names: `text` of stage `prod` is the endpoint `prod-text`."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        try:
            platform_facts.image_uri(
                release=platform_facts.release(self.release),
                region=platform_facts.region(self.region),
                processor=platform_facts.Processor.GPU,
            )
        except platform_facts.UnsupportedCombination as error:
            raise checked_yaml.Misfits([(("release",), str(error))]) from None
        found = [
            it for name, endpoint in self.endpoints.items() for it in self._wrong(name, endpoint)
        ]
        _refuse([*found, *self._wrong_region(), *self._wrong_zones(), *self._wrong_notify()])
        return self

    def _wrong_region(self) -> _Found:
        if missing := platform_facts.region(self.region).missing:
            yield (
                ("region",),
                f"CloudFormation has no {missing} in {self.region}: write another region",
            )

    def _wrong_zones(self) -> _Found:
        zones = self.zones or []
        if zones and not self.private_network:
            yield ("zones",), "only a private network has subnets: write private_network: true"
        if twice := sorted({it for it in zones if zones.count(it) > 1}):
            yield ("zones",), f"{', '.join(twice)} listed twice: remove one"
        for zone in zones:
            # Local Zones (us-west-2-lax-1a) have longer names, and no SageMaker endpoints.
            if not re.fullmatch(rf"{self.region}[a-z]", zone):
                yield (
                    ("zones",),
                    f"{zone!r} is no zone of {self.region}: write {self.region}a, for example",
                )

    def _wrong_notify(self) -> _Found:
        told = [*self.notify.email, *self.notify.topics]
        if self.production and not told:
            yield (
                ("production",),
                "nobody hears the alarms of a production stage: write notify: "
                "{ email: [team@company.com] }, or ARNs of SNS topics under notify.topics",
            )
        elif told and not self.production:
            yield ("notify",), "only production stages have alarms to hear: remove notify"
        if twice := sorted({it for it in told if told.count(it) > 1}):
            yield ("notify",), f"{', '.join(twice)} listed twice: remove one"
        if len(self.notify.topics) + bool(self.notify.email) > MAX_ALARM_ACTIONS:
            yield (
                ("notify",),
                f"an alarm tells {MAX_ALARM_ACTIONS} topics, of which all addresses need one: "
                "remove some, or subscribe them to another's topic",
            )
        # PutMetricAlarm: "Invalid region ca-central-1 specified. Only us-west-2 is supported."
        # (cds-snc/notification-terraform#128)
        for topic in self.notify.topics:
            if topic.split(":")[3] != self.region:
                yield (
                    ("notify", "topics"),
                    f"{topic} is not in {self.region}, and an alarm tells topics of its own region "
                    "alone: write another",
                )

    def _wrong(self, name: str, endpoint: EndpointStage) -> _Found:
        release = platform_facts.release(self.release)
        places = {endpoint.place_of_type(it): endpoint.variant_instance_type(it)
                  for it in endpoint.variants}  # fmt: skip
        for place, type_name in places.items():
            gpu = platform_facts.instance_type(type_name).gpu
            if gpu and (wanted := release.wants_gpu(gpu.compute_capability)):
                yield (
                    ("endpoints", name, *place),
                    f"{type_name} has a {gpu.name} of compute capability "
                    f"{gpu.compute_capability}, release {self.release} needs {wanted}: write "
                    "another instance_type or another release",
                )
        if not self.production:
            return
        scaling = endpoint.scaling
        if endpoint.instance_count < 2:
            yield ("endpoints", name), _SURVIVES.format(key="instance_count")
        elif scaling and scaling.min_count < 2:
            yield ("endpoints", name, "scaling"), _SURVIVES.format(key="min_count")


_SURVIVES = (
    "a production endpoint needs {key} 2 or more, so that it survives the loss of an availability "
    "zone"
)
