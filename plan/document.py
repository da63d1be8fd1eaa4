"""The plan of a stage: what its stacks deploy, as one JSON document in the cloud assembly.

`stages` computes a plan from files, `stacks` build from it and write it. Reviews, deliveries,
preflights and commands read it; nothing else derives these facts from a template again.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from platform_facts.rules import server, updates
from platform_facts.rules.builds import BuildItem
from platform_facts.rules.catalog import ModelEntry
from platform_facts.rules.names import metrics_log_group

FILE = "plan.json"
"""The file of a cloud assembly."""
ENDPOINT_KEY = "TritonSageMaker::Plan"
"""The key of an endpoint's part in the `Metadata` of its stack's template."""
DIGEST_OUTPUT = "PlanDigest"
"""The output of an endpoint's stack with the digest of that part. CloudFormation ignores a change
of only the metadata of a template; it does not ignore a changed output."""

HostingName = Literal["multi-model", "single-model", "components"]


class InvalidPlan(Exception):
    """A document that is not a plan of a version that this code reads."""


class Record(BaseModel):
    """An immutable part of a plan; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Limits(Record):
    """The lowest and the highest capacity that scaling and its schedules allow."""

    minimum: int
    maximum: int


class PlannedPool(Record):
    """Instances of one type, which load archives for `target` below `prefix`."""

    instance_type: str
    prefix: str
    target: str


class PlannedVariant(Record):
    """A production variant; its first pool is the preferred one.

    `instances` are the limits of its number of instances, `initial_count` the number at creation.
    `is_scaled` is whether Application Auto Scaling changes the number.
    """

    weight: float
    pools: tuple[PlannedPool, ...]
    initial_count: int
    instances: Limits
    is_scaled: bool

    @property
    def instance_types(self) -> tuple[str, ...]:
        """The instance types, the preferred one first."""
        return tuple(pool.instance_type for pool in self.pools)


class PlannedComponent(Record):
    """An inference component: its copies, and what each copy reserves of an instance.

    `scaling` are the targets and cooldowns of the number of copies.
    """

    name: str
    copies: Limits
    initial_count: int
    memory_mb: int
    scaling: dict[str, JsonValue] = {}
    cpus: float | None = None
    accelerators: int | None = None


class PlannedArchive(Record):
    """An archive of a model: its target, and the engine files that TensorRT compiles for it."""

    target: str
    engines: tuple[str, ...] = ()


class PlannedModel(Record):
    """A model of an endpoint.

    version: the first digits of `digest`, which is the SHA-256 of the model's sources.
    source: the key of the asset with the model's folder, perhaps with others.
    alternative: the alternative of the recipe, empty for the model itself.
    archives: key in the model bucket -> archive.
    catalog: the model's entry in the catalog, for clients.
    default_model: the folder of the archive that a container serves, None with many models.
    is_stateful: whether responses depend on earlier requests of a sequence.
    """

    version: str
    digest: str
    source: str
    alternative: str = ""
    archives: dict[str, PlannedArchive]
    catalog: ModelEntry
    default_model: str | None = None
    is_stateful: bool = False

    def archive_key(self, prefix: str) -> str:
        """Return the key of the archive below a prefix, empty if there is none."""
        return next((key for key in self.archives if key.startswith(prefix)), "")


class EndpointSettings(Record):
    """An endpoint without its models: the part in the template's `Metadata`.

    settings: the other settings of the endpoint in the stage's file, with their defaults, such as
        scaling, update, server and environment. `alarms` are the thresholds of all alarms.
    models_digest: the SHA-256 of the list of models.
    """

    name: str
    stack: str
    hosting: HostingName
    variants: dict[str, PlannedVariant]
    components: dict[str, PlannedComponent] = {}
    metrics_namespace: str | None = None
    settings: dict[str, JsonValue]
    models_digest: str

    @classmethod
    def of_template(cls, template: Mapping[str, Any]) -> Self | None:
        """Return the part in the template of a stack.

        None if the stack has no endpoint. Raise `InvalidPlan`.
        """
        part = template.get("Metadata", {}).get(ENDPOINT_KEY)
        try:
            return None if part is None else cls.model_validate_json(json.dumps(part))
        except ValidationError as error:
            raise InvalidPlan(f"Metadata: {ENDPOINT_KEY}: {error}") from None

    @property
    def prefixes(self) -> frozenset[str]:
        """The S3 prefixes, with a slash at the end, that a multi-model endpoint loads from."""
        if self.hosting != "multi-model":
            return frozenset()
        return frozenset(
            pool.prefix for variant in self.variants.values() for pool in variant.pools
        )

    @property
    def start_seconds(self) -> int:
        """The maximum time until an instance serves, or a copy on a new one."""
        settings: dict[str, Any] = self.settings
        minutes = (settings[f"{name}_timeout_minutes"] for name in ("download", "startup"))
        return updates.start_seconds(*minutes)

    @property
    def longer_wake_seconds(self) -> int:
        """By how much a copy may take longer to start than with the default timeouts."""
        return max(0, self.start_seconds - updates.START_SECONDS) if self.components else 0

    @property
    def keeps_models(self) -> bool:
        """Whether a deploy keeps the earlier versions of models that cannot be built."""
        return self.settings.get("on_failure") == "keep"

    def environment(self, model: PlannedModel | None) -> dict[str, str]:
        """Return the variables of a container; `model` is the one that it serves, None for many."""
        settings: dict[str, Any] = self.settings
        many = self.hosting == "multi-model"
        variables = server.variables(settings["server"], multi_model=many)
        if self.metrics_namespace:
            log_group = metrics_log_group(self.name)
            variables = server.metrics_variables(log_group, self.metrics_namespace) | variables
        if model and model.default_model:
            variables[server.DEFAULT_MODEL] = model.default_model
        return {**variables, **settings["environment"]}

    def metadata(self) -> dict[str, JsonValue]:
        """Return the value of `ENDPOINT_KEY`."""
        return dict(self.model_dump(mode="json"))

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of this part, the value of `DIGEST_OUTPUT`."""
        return _digest(self.metadata())


class PlannedEndpoint(Record):
    """An endpoint: its settings, and its models by name."""

    settings: EndpointSettings
    models: dict[str, PlannedModel]

    def build_items(self) -> list[BuildItem]:
        """Return the archives of all models."""
        return [
            BuildItem(
                source=model.source,
                model=name,
                alternative=model.alternative,
                digest=model.digest,
                target=archive.target,
                key=key,
                engines=bool(archive.engines),
            )
            for name, model in self.models.items()
            for key, archive in model.archives.items()
        ]


class TimeBudget(Record):
    """The maximum minutes of each step of a delivery, in order (`rows`).

    Independent stacks are deployed in parallel: only the slowest has rows. Builds may wait
    `build_minutes` for GPUs, the time that the other steps leave.
    """

    rows: dict[str, int]
    build_minutes: int

    @property
    def deploy_minutes(self) -> int:
        """The maximum duration of a delivery without builds."""
        return sum(self.rows.values()) - self.build_minutes


class Plan(Record):
    """The plan of a stage.

    settings: the other settings of the stage's file, with their defaults, such as delivery, notify,
        existing and tags.
    endpoints: short name in the stage's file -> endpoint.
    time_budget: the maximum durations of a delivery.
    """

    version: Literal[1] = 1
    stage: str
    account: str | None
    region: str
    release: str
    production: bool
    max_monthly_usd: float | None = None
    settings: dict[str, JsonValue]
    endpoints: dict[str, PlannedEndpoint]
    time_budget: TimeBudget

    @classmethod
    def read(cls, assembly: Path) -> Self:
        """Return the plan in the folder of a cloud assembly. Raise `InvalidPlan`."""
        try:
            return cls.model_validate_json((assembly / FILE).read_bytes())
        except (OSError, ValidationError) as error:
            raise InvalidPlan(f"{assembly / FILE}: {error}") from None

    def write(self, assembly: Path) -> None:
        """Write the plan into the folder of a cloud assembly."""
        text = self.model_dump_json(indent=1)
        (assembly / FILE).write_text(f"{text}\n", encoding="utf-8")


def models_digest(models: dict[str, PlannedModel]) -> str:
    """Return the digest of the list of models of an endpoint."""
    return _digest({name: model.model_dump(mode="json") for name, model in models.items()})


def _digest(content: JsonValue) -> str:
    text = json.dumps(_as_cdk_writes(content), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _as_cdk_writes(content: Any) -> Any:
    """Return a value as the CDK writes it into a template: without null, and 1.0 as 1."""
    match content:
        case dict():
            pairs = content.items()
            return {key: _as_cdk_writes(value) for key, value in pairs if value is not None}
        case list():
            return [_as_cdk_writes(value) for value in content]
        case float() if content.is_integer():
            return int(content)
    return content
