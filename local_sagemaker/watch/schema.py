"""The state of the local SageMaker as a JSON document. Times are Unix seconds; sizes are bytes."""

from typing import TypedDict


class Event(TypedDict):
    """Something that happened; `kind` is one of `happenings.Kind`, `sequence` counts from 1.

    `model` is a target model, `name` the catalog's name of it. Members that a kind has nothing to
    do with are null.
    """

    sequence: int
    time: float
    kind: str
    endpoint: str | None
    variant: str | None
    instance: str | None
    model: str | None
    name: str | None
    message: str


class Rates(TypedDict):
    """A variant's invocations by second: the first of each list is of the second `first`.

    `calls` has those that were answered, `errors` those of them that failed. `p50` and `p95` are
    milliseconds from when SageMaker had the request to the end of its answer, null in a second
    without calls. Only seconds that have ended are in it, of the last ten minutes.
    """

    first: int
    calls: list[int]
    errors: list[int]
    p50: list[float | None]
    p95: list[float | None]


class Model(TypedDict):
    """A model of an instance; `target` is its archive, `name` the catalog's, or the archive again.

    `state` is downloading, loading, loaded or unloading, `since` a time. `calls` are under way,
    `answered` have been since it was asked for. `disk` is used of the instance's volume.
    """

    target: str
    name: str
    state: str
    since: float
    calls: int
    answered: int
    disk: int


class Instance(TypedDict):
    """An instance; `id` is also in the name of its log stream, and another when it is replaced.

    `state` is starting, serving or leaving. `calls` are under way. `memory` and `disk` are used, of
    `memory_limit` and `disk_limit`; `cpu` is percent of one processor. What was not measured yet is
    null.
    """

    id: str
    state: str
    calls: int
    memory: int | None
    memory_limit: int
    disk: int
    disk_limit: int
    cpu: float | None
    models: list[Model]


class Policy(TypedDict):
    """A target tracking policy: its metric, the target value, and the metric's latest, or null."""

    name: str
    metric: str
    target: float
    value: float | None


class Scaling(TypedDict):
    """The limits of a scalable target, and its policies."""

    min: int
    max: int
    policies: list[Policy]


class Variant(TypedDict):
    """A production variant; `container_mode` is SingleModel or MultiModel.

    `processes_at_most` is set where fewer processes stand for its instances. `scaling` is null
    unless it is registered.
    """

    name: str
    weight: float
    instance_type: str
    container_mode: str
    current_count: int
    desired_count: int
    scaling: Scaling | None
    processes_at_most: int | None
    instances: list[Instance]
    rates: Rates


class Endpoint(TypedDict):
    """An endpoint; `status` is SageMaker's, `failure` the FailureReason, or null."""

    name: str
    status: str
    configuration: str
    failure: str | None
    variants: list[Variant]


class Alarm(TypedDict):
    """An alarm of CloudWatch; `endpoint` and `variant` are those of its dimensions, or null.

    `watches` is the metric or expression, `condition` that of ALARM. `value` is the latest, in the
    metric's unit, and null without data. `state` is OK, ALARM or INSUFFICIENT_DATA, `since` a time.
    """

    name: str
    endpoint: str | None
    variant: str | None
    watches: str
    condition: str
    value: float | None
    state: str
    since: float


class State(TypedDict):
    """All of it. AWS's time passes `speed` times as fast as `now`.

    `started` is another one for another run; `gpu_trace` is the path of the trace, or null.
    """

    speed: float
    started: float
    now: float
    gpu_trace: str | None
    endpoints: list[Endpoint]
    alarms: list[Alarm]
    events: list[Event]
