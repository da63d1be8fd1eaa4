"""The CloudWatch metrics of endpoints, with AWS's namespaces, units and periods.

Source: SageMaker's developer guide, monitoring-cloudwatch; for multi-model endpoints
multi-model-endpoint-cloudwatch-metrics. The dimensions are EndpointName and VariantName, or
InferenceComponentName alone. Metrics of calls are also published with EndpointConfigName, which is
documented for the new instances of an update (deployment-guardrails-configuration), and with
InstanceType for instance pools (realtime-endpoints-heterogeneous).
"""

from dataclasses import dataclass

REQUESTS = "AWS/SageMaker"
INSTANCES = "/aws/sagemaker/Endpoints"
COPIES = "/aws/sagemaker/InferenceComponents"
MICROSECONDS, PERCENT = "Microseconds", "Percent"
MINUTE = 60


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric that is published every `period` seconds; compared by identity."""

    name: str
    namespace: str
    unit: str = "None"
    period: int = MINUTE


INVOCATIONS = Metric("Invocations", REQUESTS)
INVOCATIONS_PER_INSTANCE = Metric("InvocationsPerInstance", REQUESTS)
CLIENT_ERRORS = Metric("Invocation4XXErrors", REQUESTS)
SERVER_ERRORS = Metric("Invocation5XXErrors", REQUESTS)
MODEL_ERRORS = Metric("InvocationModelErrors", REQUESTS)
MODEL_LATENCY = Metric("ModelLatency", REQUESTS, MICROSECONDS)
OVERHEAD_LATENCY = Metric("OverheadLatency", REQUESTS, MICROSECONDS)

CONCURRENT_REQUESTS = Metric("ConcurrentRequestsPerModel", REQUESTS, period=10)
"""Source of the period: "high-resolution metrics ... emitted at 10-second intervals" (developer
guide, endpoint-auto-scaling-add-code-define); of the statistics: "Min, Max"
(monitoring-cloudwatch). The unit None has no source."""

NO_CAPACITY_FAILURES = Metric("NoCapacityInvocationFailures", REQUESTS)
"""A metric of components: "when an endpoint receives an inference request, but the endpoint has no
active instances to serve the request" (developer guide, endpoint-auto-scaling-zero-instances)."""

INVOCATIONS_PER_COPY = Metric("InvocationsPerCopy", REQUESTS)
CONCURRENT_REQUESTS_PER_COPY = Metric("ConcurrentRequestsPerCopy", REQUESTS, period=10)

LOADING_WAIT = Metric("ModelLoadingWaitTime", REQUESTS, MICROSECONDS)
DOWNLOADING_TIME = Metric("ModelDownloadingTime", REQUESTS, MICROSECONDS)
LOADING_TIME = Metric("ModelLoadingTime", REQUESTS, MICROSECONDS)
UNLOADING_TIME = Metric("ModelUnloadingTime", REQUESTS, MICROSECONDS)
CACHE_HIT = Metric("ModelCacheHit", REQUESTS)

LOADED_MODELS = Metric("LoadedModelCount", INSTANCES)
CPU = Metric("CPUUtilization", INSTANCES, PERCENT)
MEMORY = Metric("MemoryUtilization", INSTANCES, PERCENT)
DISK = Metric("DiskUtilization", INSTANCES, PERCENT)

CPU_OF_COPY = Metric("CPUUtilizationNormalized", COPIES, PERCENT)
MEMORY_OF_COPY = Metric("MemoryUtilizationNormalized", COPIES, PERCENT)

CPU_RESERVATION = Metric("CPUReservation", INSTANCES, PERCENT)
MEMORY_RESERVATION = Metric("MemoryReservation", INSTANCES, PERCENT)
GPU_RESERVATION = Metric("GPUReservation", INSTANCES, PERCENT)
"""The three reservations: the percentage of an instance's resources that its copies reserve."""


@dataclass(frozen=True)
class MetricFamily:
    """The metrics of a variant's instances, or of a component's copies."""

    calls: Metric
    concurrency: Metric
    cpu: Metric
    memory: Metric

    @property
    def zero_without_calls(self) -> tuple[Metric, ...]:
        """The metrics that are published with the value 0 while there are no calls.

        "If a variant's traffic becomes zero, SageMaker AI automatically scales in to the minimum
        number of instances specified. In this case, SageMaker AI emits metrics with a value of
        zero" (endpoint-auto-scaling-prerequisites; older editions say the contrary). The guide does
        not name the metrics; our choice is Invocations and the metrics of predefined policies.
        """
        return INVOCATIONS, self.calls, self.concurrency


INSTANCE_METRICS = MetricFamily(INVOCATIONS_PER_INSTANCE, CONCURRENT_REQUESTS, CPU, MEMORY)
COPY_METRICS = MetricFamily(
    INVOCATIONS_PER_COPY, CONCURRENT_REQUESTS_PER_COPY, CPU_OF_COPY, MEMORY_OF_COPY
)
