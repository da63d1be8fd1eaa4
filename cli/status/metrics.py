"""What endpoints do, by CloudWatch: one request for all of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from cli.status.report import Load
from local_sagemaker.metrics import names
from local_sagemaker.metrics.names import MINUTE, Metric

MINUTES = 5
MOST_QUERIES = 500
"""Of one request: API reference, GetMetricData."""
MICROSECONDS_PER_MS = 1000


class Query(NamedTuple):
    """A statistic of a metric; `dimensions` are names and values."""

    namespace: str
    name: str
    statistic: str
    dimensions: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Window:
    """A time whose data is asked for, in periods of so many seconds.

    `minutes` is how many minutes, as alarms have them, a period is.
    """

    since: datetime
    until: datetime
    period: int = MINUTE
    minutes: float = 1

    @classmethod
    def full_minutes(cls, now: datetime) -> "Window":
        """Return the last minutes that have ended."""
        until = now.astimezone(UTC).replace(second=0, microsecond=0)
        return cls(until - timedelta(minutes=MINUTES), until)

    @classmethod
    def of_policies(cls, now: datetime, speed: float) -> "Window":
        """Return the last full minutes as alarms have them, of which `speed` pass in one.

        A period is whole seconds: GetMetricData takes no others.
        """
        minute = MINUTE / speed
        until = now.timestamp() // minute * minute
        begin, end = (datetime.fromtimestamp(it, UTC) for it in (until - MINUTES * minute, until))
        period = max(1, int(minute))
        return cls(begin, end, period, period / minute)


def of_variant(endpoint: str, variant: str) -> tuple[tuple[str, str], ...]:
    """Return the dimensions of a variant's metrics."""
    return ("EndpointName", endpoint), ("VariantName", variant)


def values(cloudwatch: Any, queries: Iterable[Query], window: Window) -> dict[Query, list[float]]:
    """Return the values of each query by period, the oldest first. Raises `ClientError`."""
    found: dict[Query, list[float]] = {}
    asked = list(dict.fromkeys(queries))
    for start in range(0, len(asked), MOST_QUERIES):
        named = {f"q{n}": it for n, it in enumerate(asked[start : start + MOST_QUERIES])}
        pages = cloudwatch.get_paginator("get_metric_data").paginate(
            MetricDataQueries=[_request(name, it, window.period) for name, it in named.items()],
            StartTime=window.since,
            EndTime=window.until,
            ScanBy="TimestampAscending",
        )
        for page in pages:
            for it in page["MetricDataResults"]:
                found.setdefault(named[it["Id"]], []).extend(it["Values"])
    return found


def _request(name: str, query: Query, period: int) -> dict[str, Any]:
    dimensions = [{"Name": it, "Value": value} for it, value in query.dimensions]
    metric = {"Namespace": query.namespace, "MetricName": query.name, "Dimensions": dimensions}
    return {"Id": name, "MetricStat": {"Metric": metric, "Period": period, "Stat": query.statistic}}


def load_queries(endpoint: str, variant: str) -> Iterator[Query]:
    """Yield what `load` needs of a variant."""
    for namespace, name, statistic in _ASKED:
        yield Query(namespace, name, statistic, of_variant(endpoint, variant))


def load(endpoint: str, variant: str, found: Mapping[Query, Sequence[float]]) -> Load:
    """Return a variant's load; where there is no data of calls, there were 0."""

    def of(asked: tuple[str, str, str]) -> Sequence[float]:
        return found.get(Query(*asked, of_variant(endpoint, variant)), [])

    return Load(
        calls_a_minute=sum(of(_CALLS)) / MINUTES,
        errors_4xx=round(sum(of(_ERRORS_4XX))),
        errors_5xx=round(sum(of(_ERRORS_5XX))),
        model_errors=round(sum(of(_MODEL_ERRORS))),
        latency_p50_ms=_milliseconds(of(_P50)),
        latency_p95_ms=_milliseconds(of(_P95)),
        latency_p99_ms=_milliseconds(of(_P99)),
        overhead_ms=_milliseconds(of(_OVERHEAD)),
        cpu_percent=_mean(of(_CPU)),
        memory_percent=_mean(of(_MEMORY)),
        gpu_percent=_mean(of(_GPU)),
        gpu_memory_percent=_mean(of(_GPU_MEMORY)),
        disk_percent=max(of(_DISK), default=None),
        loaded_models=round(max(of(_LOADED))) if of(_LOADED) else None,
    )


def _milliseconds(microseconds: Sequence[float]) -> float | None:
    return max(microseconds) / MICROSECONDS_PER_MS if microseconds else None


def _mean(numbers: Sequence[float]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None


def _of(metric: Metric, statistic: str) -> tuple[str, str, str]:
    return metric.namespace, metric.name, statistic


_CALLS = _of(names.INVOCATIONS, "Sum")
_ERRORS_4XX = _of(names.CLIENT_ERRORS, "Sum")
_ERRORS_5XX = _of(names.SERVER_ERRORS, "Sum")
_MODEL_ERRORS = _of(names.MODEL_ERRORS, "Sum")
_P50, _P95, _P99 = (_of(names.MODEL_LATENCY, it) for it in ("p50", "p95", "p99"))
_OVERHEAD = _of(names.OVERHEAD_LATENCY, "Average")  # it has no percentiles
_CPU = _of(names.CPU, "Average")
_MEMORY = _of(names.MEMORY, "Average")
_GPU = _of(names.GPU, "Average")
_GPU_MEMORY = _of(names.GPU_MEMORY, "Average")
_DISK = _of(names.DISK, "Maximum")
_LOADED = _of(names.LOADED_MODELS, "Maximum")
_ASKED = (
    *(_CALLS, _ERRORS_4XX, _ERRORS_5XX, _MODEL_ERRORS, _P50, _P95, _P99),
    *(_OVERHEAD, _CPU, _MEMORY, _GPU, _GPU_MEMORY, _DISK, _LOADED),
)
