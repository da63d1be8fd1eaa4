"""The instances behind an endpoint: what DescribeEndpoint -> EndpointConfig -> Model say."""

import itertools
import random
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from local_aws.errors import ApiError, LocalAwsError
from local_aws.hosting import archives, stand_in_packages
from local_aws.hosting.multi_model_container import (
    MultiModelContainer,
    S3Prefix,
    model_error,
)
from local_aws.hosting.serve import (
    DEFAULT_MODEL,
    default_model,
    multi_model_arguments,
    single_model_arguments,
)
from local_aws.hosting.single_model_container import SingleModelContainer
from local_aws.hosting.triton import Response, Triton
from local_aws.prerequisites import TritonInstallation

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Host:
    """What instances are made of, the same for every endpoint."""

    triton: TritonInstallation
    backends: Path
    folder: Path
    s3: "S3Client"


class Container(Protocol):
    """What answers invocations, in one of SageMaker's modes."""

    def invoke(self, target_model: str | None, *, body: bytes, headers: dict[str, str]) -> Response:
        """Forward one invocation. Raises `ApiError`, and `OSError` when nothing answers."""


@dataclass(frozen=True)
class Variant:
    """A production variant and the container that it runs; one instance stands for all of them."""

    name: str
    triton: Triton
    container: Container
    folder: Path


class Fleet:
    """The running variants of one endpoint configuration."""

    def __init__(self, *variants: Variant) -> None:
        self._variants = list(variants)
        self._busy = 0
        self._quiet = threading.Condition()
        self._lock = threading.Lock()
        self._stopped = False

    def start(
        self, host: Host, endpoint: str, config: dict[str, Any], models: dict[str, dict[str, Any]]
    ) -> None:
        """Start every variant and wait until it is healthy.

        `config` is an EndpointConfig and `models` are the Models by name, as the API describes
        them. Raises `LocalAwsError` with the reason, also when another thread calls `stop` before
        this returns; what was started then waits for `stop`.
        """
        for variant in config["ProductionVariants"]:
            self._add(_start(host, endpoint, variant, models[variant["ModelName"]]))
        for variant, running in zip(config["ProductionVariants"], self._variants, strict=True):
            seconds = variant.get("ContainerStartupHealthCheckTimeoutInSeconds", 600)
            running.triton.wait_until_healthy(seconds)
        self._refuse_stopped()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count an invocation as under way: `drain` waits for it."""
        with self._quiet:
            self._busy += 1
        try:
            yield
        finally:
            with self._quiet:
                self._busy -= 1
                self._quiet.notify_all()

    def invoke(
        self,
        weights: Mapping[str, float],
        *,
        body: bytes,
        headers: dict[str, str],
        target_model: str | None = None,
        target_variant: str | None = None,
    ) -> tuple[str, Response]:
        """Return the chosen variant's name and its answer. Raises `ApiError`."""
        variant = self._choose(weights, target_variant)
        try:
            response = variant.container.invoke(target_model, body=body, headers=headers)
        except OSError as error:
            raise ApiError(
                "ModelError", f"The container did not answer: {error}", status=424
            ) from None
        if response.status != 200:
            raise model_error(response)
        return variant.name, response

    def drain(self, timeout: float) -> None:
        """Return when no counted invocation is under way, or after `timeout` seconds."""
        with self._quiet:
            self._quiet.wait_for(lambda: self._busy == 0, timeout)

    def stop(self) -> None:
        """End every variant, also of a fleet that is starting, and delete what it downloaded."""
        with self._lock:
            self._stopped = True
            variants = list(self._variants)
        for variant in variants:
            variant.triton.stop()
            for name in ("models", "model"):
                shutil.rmtree(variant.folder / name, ignore_errors=True)

    def _add(self, variant: Variant) -> None:
        """Take a variant in before anything else can go wrong: `stop` ends it from now on."""
        with self._lock:
            self._variants.append(variant)
        self._refuse_stopped()

    def _refuse_stopped(self) -> None:
        with self._lock:
            if self._stopped:
                raise LocalAwsError("the instances were stopped while they started")

    def _choose(self, weights: Mapping[str, float], target: str | None) -> Variant:
        if target is None:
            shares = [weights[variant.name] for variant in self._variants]
            if not any(shares):
                raise ApiError(
                    "ValidationError",
                    "Every variant has weight 0: name one as TargetVariant or give one a weight.",
                )
            return random.choices(self._variants, shares)[0]
        for variant in self._variants:
            if variant.name == target:
                return variant
        known = ", ".join(variant.name for variant in self._variants)
        raise ApiError("ValidationError", f"Variant {target} not found; the endpoint has {known}.")


def _start(host: Host, endpoint: str, variant: dict[str, Any], model: dict[str, Any]) -> Variant:
    described = model.get("PrimaryContainer") or model["Containers"][0]
    name = variant["VariantName"]
    folder = host.folder / f"{endpoint}-{name}-{next(_numbers)}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if described.get("Mode", "SingleModel") == "MultiModel":
        triton, container = _start_multi_model(host, folder, described)
    else:
        triton, container = _start_single_model(host, folder, described)
    return Variant(name=name, triton=triton, container=container, folder=folder)


def _start_multi_model(
    host: Host, folder: Path, described: dict[str, Any]
) -> tuple[Triton, Container]:
    prefix = S3Prefix.parse(described["ModelDataUrl"])
    empty = folder / "empty"
    empty.mkdir()
    environment = {**described.get("Environment", {}), "SAGEMAKER_MULTI_MODEL": "true"}
    arguments = multi_model_arguments(environment, repository=str(empty))
    triton = _triton(host, folder, arguments, environment)
    return triton, MultiModelContainer(
        triton,
        s3=host.s3,
        prefix=prefix,
        folder=folder / "models",
        backends=host.backends,
    )


def _start_single_model(
    host: Host, folder: Path, described: dict[str, Any]
) -> tuple[Triton, Container]:
    archive, repository = S3Prefix.parse(described["ModelDataUrl"]), folder / "model"
    try:
        archives.fetch(host.s3, bucket=archive.bucket, key=archive.key, to=repository)
        stand_in_packages.provide(repository, host.backends)
    except ApiError as error:
        raise LocalAwsError(error.message) from None
    environment = dict(described.get("Environment", {}))
    arguments = single_model_arguments(environment, repository=repository)
    environment[DEFAULT_MODEL] = default_model(environment, repository)
    triton = _triton(host, folder, arguments, environment)
    return triton, SingleModelContainer(triton)


def _triton(host: Host, folder: Path, arguments: list[str], environment: dict[str, str]) -> Triton:
    return Triton(
        host.triton,
        arguments=arguments,
        environment=environment,
        backends=host.backends,
        folder=folder,
    )
