"""What `tritonsm status` knows: its `--json` has these members, and times as ISO 8601 in UTC.

What is not known, or has no meaning, is None.
"""

from dataclasses import dataclass, field
from datetime import datetime

from release.delivery.live_differences import Problem


@dataclass(frozen=True)
class Policy:
    """A target tracking policy: what it follows, of each instance, and to what.

    `unit` is "a minute", "at once", "%" or nothing; `value` is the mean of the last minutes that
    have data, as alarms have them.
    """

    name: str
    measure: str
    value: float | None
    target: float
    unit: str


@dataclass(frozen=True)
class Scaling:
    """Limits of the number of instances, and what it follows between them."""

    min: int
    max: int
    policies: list[Policy]


@dataclass(frozen=True)
class Load:
    """What a variant did in the report's minutes.

    `calls_a_minute` is their mean; errors are how many there were. Latencies are milliseconds, the
    highest of a minute. `cpu_percent` and the like are means, of 100 for each vCPU or GPU;
    `disk_percent` is the highest, of the fullest instance.
    `loaded_models` is the most that an instance had.
    """

    calls_a_minute: float | None = None
    errors_4xx: int | None = None
    errors_5xx: int | None = None
    model_errors: int | None = None
    latency_p50_ms: float | None = None
    latency_p95_ms: float | None = None
    latency_p99_ms: float | None = None
    overhead_ms: float | None = None
    cpu_percent: float | None = None
    memory_percent: float | None = None
    gpu_percent: float | None = None
    gpu_memory_percent: float | None = None
    disk_percent: float | None = None
    loaded_models: int | None = None


@dataclass(frozen=True)
class Variant:
    """A production variant: `weight` is its share of calls among the others' weights."""

    name: str
    weight: float | None
    instances: int
    desired_instances: int
    scaling: Scaling | None
    load: Load


@dataclass(frozen=True)
class Endpoint:
    """An endpoint; `reason` is why it failed."""

    name: str
    status: str
    reason: str | None
    variants: list[Variant]


@dataclass(frozen=True)
class Loaded:
    """A model in the memory of an instance; `memory_bytes` is what its processes hold."""

    variant: str
    instance: str
    state: str
    memory_bytes: int | None


@dataclass(frozen=True)
class Model:
    """A model of the catalog: `archive` is None on a single-model endpoint.

    `log_errors` is how many of Triton's errors name the model, in the report's minutes.
    Only the local SageMaker knows `loaded`, and models in memory that are not in the catalog.
    """

    endpoint: str
    name: str
    version: str
    archive: str | None
    loaded: list[Loaded] | None
    in_catalog: bool = True
    log_errors: int | None = None


@dataclass(frozen=True)
class Requests:
    """What Triton counts of a model in the report's minutes, where the stage publishes that.

    `label` is CloudWatch's name of the series, from whatever dimensions it has; `result` is
    "answered" or "failed".
    """

    endpoint: str
    label: str
    result: str
    count: float


@dataclass(frozen=True)
class Alarm:
    """An alarm that is not OK.

    Of an alarm of the app, `severity` is critical, warning or rollback, `section` is the runbook's,
    and `value` and `limit` are in `unit`; `value` is the newest that was evaluated.
    """

    name: str
    state: str
    since: datetime | None
    reason: str
    severity: str | None = None
    endpoint: str | None = None
    measure: str | None = None
    value: float | None = None
    limit: float | None = None
    unit: str = ""
    section: str | None = None


@dataclass(frozen=True)
class Activity:
    """What Application Auto Scaling did, in its own words."""

    time: datetime
    endpoint: str
    variant: str
    description: str
    cause: str
    status: str
    message: str | None


@dataclass(frozen=True)
class Report:
    """All of it. `since` and `until` bound the full minutes of the load.

    `not_asked` says what AWS does not let the caller know; `differences` how stacks, endpoints,
    catalog and bucket differ from the live templates; `requests` is empty where Triton's own
    counters are not published, and None where the caller may not ask.
    """

    since: datetime
    until: datetime
    endpoints: list[Endpoint]
    models: list[Model]
    alarms: list[Alarm]
    activities: list[Activity]
    not_asked: list[str]
    differences: list[Problem] = field(default_factory=list)
    requests: list[Requests] | None = None
