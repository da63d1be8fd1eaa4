"""The Triton container of an endpoint: which image, and how its server is set up."""

from dataclasses import dataclass, field

from platform_facts import Processor, Region, Release, image_uri

MAX_VARIABLES = 100
MAX_TOTAL_BYTES = 32 * 1024


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """Options of the server, by what they do; None leaves Triton's own default.

    Each sets the variable of the same meaning that the image's `serve` script reads
    (triton-inference-server/server, docker/sagemaker/serve). Sizes are in bytes.
    """

    log_verbose: bool = False
    """Log each request (serve's own default is true)."""
    thread_count: int | None = None
    """Threads of the SageMaker HTTP front end; Triton's default is 8."""
    buffer_manager_thread_count: int | None = None
    """Threads that copy tensors between buffers; Triton's default is 0."""
    python_shm_default_bytes: int | None = None
    """Shared memory that each Python-backend instance starts with; serve's default is 16 MiB."""
    python_shm_growth_bytes: int | None = None
    """How much it grows at a time; serve's default is 1 MiB."""
    model_load_gpu_limit: float | None = None
    """Fraction of each GPU's memory above which no further model is loaded."""

    def environment(self) -> dict[str, str]:
        """Return the container environment that says the same."""
        values = {
            "SAGEMAKER_TRITON_LOG_VERBOSE": str(self.log_verbose).lower(),
            "SAGEMAKER_TRITON_THREAD_COUNT": self.thread_count,
            "SAGEMAKER_TRITON_BUFFER_MANAGER_THREAD_COUNT": self.buffer_manager_thread_count,
            "SAGEMAKER_TRITON_SHM_DEFAULT_BYTE_SIZE": self.python_shm_default_bytes,
            "SAGEMAKER_TRITON_SHM_GROWTH_BYTE_SIZE": self.python_shm_growth_bytes,
            "SAGEMAKER_TRITON_MODEL_LOAD_GPU_LIMIT": self.model_load_gpu_limit,
        }
        return {name: str(value) for name, value in values.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class TritonContainer:
    """A SageMaker Triton image with the environment of its server.

    `environment` adds variables of your own. Raises `ValueError` when they would change what the
    library sets, or exceed what SageMaker takes (100 entries, 32 KiB; botocore's service model),
    and `platform_facts.UnsupportedCombination` when the region has no such image.
    """

    release: Release
    region: Region
    processor: Processor
    options: ServerOptions = field(default_factory=ServerOptions)
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def image(self) -> str:
        """The image's URI."""
        return image_uri(release=self.release, region=self.region, processor=self.processor)

    def multi_model_environment(self) -> dict[str, str]:
        """Return the container's environment for multi-model hosting.

        SAGEMAKER_TRITON_PING_MODE is set although `serve` chooses `live` by itself: it does not
        export its choice, and the server falls back to `ready`, in which one model that fails to
        load makes the whole instance unhealthy.
        """
        ours = {**self.options.environment(), "SAGEMAKER_TRITON_PING_MODE": "live"}
        clash = sorted(ours.keys() & self.environment.keys())
        if clash:
            raise ValueError(
                f"environment: {', '.join(clash)} is set through ServerOptions: remove it here"
            )
        merged = {**ours, **self.environment}
        size = sum(len(name.encode()) + len(value.encode()) for name, value in merged.items())
        if len(merged) > MAX_VARIABLES or size > MAX_TOTAL_BYTES:
            raise ValueError(
                f"environment: {len(merged)} entries of {size} bytes; SageMaker takes at most "
                f"{MAX_VARIABLES} entries and {MAX_TOTAL_BYTES} bytes: remove some"
            )
        return merged
