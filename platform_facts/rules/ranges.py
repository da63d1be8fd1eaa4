"""Valid ranges of numbers, for the schema of a stage and for the constructs."""

from platform_facts.rules.rule import RULES, Rule, Violation

API = "docs.aws.amazon.com/sagemaker/latest/APIReference/API_"
SCALING_API = "docs.aws.amazon.com/autoscaling/application/APIReference/API_"
SERVE = "triton-inference-server/server, docker/sagemaker/serve"
MAX_INTEGER = 2**31 - 1
"""Maximum of `integer` in AWS service models, and of C's int, which Triton uses for options."""


class Range:
    """A range of numbers; a limit of None is absent."""

    def __init__(
        self,
        key: str,
        source: str,
        *,
        exclusive_minimum: float | None = None,
        minimum: float | None = None,
        maximum: float | None = None,
    ) -> None:
        self.exclusive_minimum, self.minimum, self.maximum = exclusive_minimum, minimum, maximum
        self._rule = Rule(tuple(key.split(".")), f"Must be {self}.", source, self._check)
        RULES.append(self._rule)

    def __call__(self, value: float | None) -> list[Violation]:
        """Return a violation if the value is out of range; None (not set) is valid."""
        return [] if value is None else self._rule(value)

    def at(self, *path: str | int) -> Rule[[float]]:
        """Return the range as a rule for the value at another path."""
        return self._rule.at(*path)

    def __str__(self) -> str:
        if self.minimum is not None:
            return (
                f"{self.minimum} or more"
                if self.maximum is None
                else f"{self.minimum} to {self.maximum}"
            )
        return f"more than {self.exclusive_minimum}" + (
            "" if self.maximum is None else f", at most {self.maximum}"
        )

    def _check(self, value: float) -> str | None:
        fits = (
            (self.exclusive_minimum is None or value > self.exclusive_minimum)
            and (self.minimum is None or value >= self.minimum)
            and (self.maximum is None or value <= self.maximum)
        )
        return None if fits else f"{value} is out of range: write {self}"


WEIGHT = Range("variants.weight", f"{API}ProductionVariant.html", minimum=0)
INSTANCE_COUNT = Range(
    "instance_count", f"{API}ProductionVariant.html", minimum=1, maximum=MAX_INTEGER
)
MIN_COUNT, MAX_COUNT = (
    Range(
        f"scaling.{name}_count",
        f"{SCALING_API}ScalableTargetAction.html; only asynchronous endpoints and endpoints with "
        "inference components scale to zero",
        minimum=1,
        maximum=MAX_INTEGER,
    )
    for name in ("min", "max")
)
MAX_RPS, CONCURRENCY = (
    Range(f"scaling.{name}", "our choice: a target of 0 cannot be reached", exclusive_minimum=0)
    for name in ("max_rps", "concurrency")
)
UTILIZATION_PERCENT = Range(
    "scaling.*_percent", "percentage of one GPU or vCPU", exclusive_minimum=0, maximum=100
)
CAPTURED_PERCENT = Range(
    "data_capture.percent",
    f"{API}DataCaptureConfig.html; with 0 %, nothing is recorded",
    minimum=1,
    maximum=100,
)
ROLLBACK_ERROR_RATE = Range(
    "update.rollback_error_rate",
    "threshold of an alarm on the share of failed requests",
    exclusive_minimum=0,
    maximum=1,
)
PROVISION_MINUTES = Range(
    "provision_timeout_minutes",
    f"{API}ProductionVariant.html, VariantInstanceProvisionTimeoutInSeconds: 300 to 3600",
    minimum=5,
    maximum=60,
)
DOWNLOAD_MINUTES, STARTUP_MINUTES = (
    Range(
        f"{name}_timeout_minutes",
        f"{API}ProductionVariant.html, {member}TimeoutInSeconds: 60 to 3600",
        minimum=1,
        maximum=60,
    )
    for name, member in (
        ("download", "ModelDataDownload"),
        ("startup", "ContainerStartupHealthCheck"),
    )
)
VOLUME_GB = Range(
    "volume_size_gb", f"{API}ProductionVariant.html, VolumeSizeInGB", minimum=1, maximum=512
)
WAIT_SECONDS = Range(
    "update.wait_seconds", f"{API}TrafficRoutingConfig.html", minimum=0, maximum=3600
)
THREAD_COUNT = Range("server.thread_count", SERVE, minimum=1, maximum=MAX_INTEGER)
SHM_DEFAULT, SHM_GROWTH = (
    Range(f"server.python_shm_{name}_mib", SERVE, minimum=1, maximum=MAX_INTEGER)
    for name in ("default", "growth")
)
GRPC_PORT, METRICS_PORT = (
    Range(f"server.{name}_port", SERVE, minimum=1024, maximum=65535) for name in ("grpc", "metrics")
)
MODEL_LOAD_GPU_LIMIT = Range("server.model_load_gpu_limit", SERVE, exclusive_minimum=0, maximum=1)
SERVER_OPTIONS = {
    "grpc_port": GRPC_PORT,
    "metrics_port": METRICS_PORT,
    "model_load_gpu_limit": MODEL_LOAD_GPU_LIMIT,
    "python_shm_default": SHM_DEFAULT,
    "python_shm_growth": SHM_GROWTH,
    "thread_count": THREAD_COUNT,
}
"""Ranges by attributes of `ServerOptions`; sizes are in MiB."""
