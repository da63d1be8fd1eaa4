"""The metrics of endpoints: each with the namespace, the unit and the pace that it has on AWS.

Source: SageMaker's developer guide, monitoring-cloudwatch; of multi-model endpoints,
multi-model-endpoint-cloudwatch-metrics. All have the dimensions EndpointName and VariantName. What
an update's new instances answer has them with EndpointConfigName too
(deployment-guardrails-configuration); that what served before has them as well has no source.
Those of a variant with instance pools have them with InstanceType too
(realtime-endpoints-heterogeneous).
"""

from dataclasses import dataclass

REQUESTS = "AWS/SageMaker"
INSTANCES = "/aws/sagemaker/Endpoints"
MICROSECONDS, PERCENT = "Microseconds", "Percent"
MINUTE = 60


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric that is published every `period` seconds. There is one object of each."""

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
"""Its pace: "high-resolution metrics ... emitted at 10-second intervals" (developer guide,
endpoint-auto-scaling-add-code-define); its statistics: "Min, Max" (monitoring-cloudwatch). That its
unit is None has no source."""

ZERO_WITHOUT_CALLS = (INVOCATIONS, INVOCATIONS_PER_INSTANCE, CONCURRENT_REQUESTS)
"""What has data where nobody calls: "If a variant's traffic becomes zero, SageMaker AI
automatically scales in to the minimum number of instances specified. In this case, SageMaker AI
emits metrics with a value of zero" (endpoint-auto-scaling-prerequisites; older editions say the
contrary). Which metrics is not said: that it is what predefined policies follow, and Invocations,
is our choice; also that it is so whether a policy follows them or not."""

LOADING_WAIT = Metric("ModelLoadingWaitTime", REQUESTS, MICROSECONDS)
DOWNLOADING_TIME = Metric("ModelDownloadingTime", REQUESTS, MICROSECONDS)
LOADING_TIME = Metric("ModelLoadingTime", REQUESTS, MICROSECONDS)
UNLOADING_TIME = Metric("ModelUnloadingTime", REQUESTS, MICROSECONDS)
CACHE_HIT = Metric("ModelCacheHit", REQUESTS)

LOADED_MODELS = Metric("LoadedModelCount", INSTANCES)
CPU = Metric("CPUUtilization", INSTANCES, PERCENT)
MEMORY = Metric("MemoryUtilization", INSTANCES, PERCENT)
DISK = Metric("DiskUtilization", INSTANCES, PERCENT)
GPU = Metric("GPUUtilization", INSTANCES, PERCENT)
GPU_MEMORY = Metric("GPUMemoryUtilization", INSTANCES, PERCENT)
