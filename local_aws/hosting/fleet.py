"""The instances behind an endpoint: what DescribeEndpoint -> EndpointConfig -> Model say."""

import itertools
import random
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_aws.errors import ApiError, LocalAwsError
from local_aws.hosting import archives, mounts, serve, stand_in_packages
from local_aws.hosting.capacity import Capacity
from local_aws.hosting.instance import Instance, Running
from local_aws.hosting.multi_model_container import (
    MultiModelContainer,
    S3Prefix,
    model_error,
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


class Fleet:
    """The running variants of one endpoint configuration; one instance stands for all of them."""

    def __init__(self, *instances: Instance) -> None:
        self._instances = list(instances)
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
            begin = partial(_begin, host, endpoint, variant, models[variant["ModelName"]])
            self._add(Instance(variant["VariantName"], begin))
        for variant, instance in zip(config["ProductionVariants"], self._instances, strict=True):
            seconds = variant.get("ContainerStartupHealthCheckTimeoutInSeconds", 600)
            instance.wait_until_healthy(seconds)
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
        instance = self._choose(weights, target_variant)
        try:
            response = instance.invoke(target_model, body=body, headers=headers)
        except OSError as error:
            raise ApiError(
                "ModelError", f"The container did not answer: {error}", status=424
            ) from None
        if response.status != 200:
            raise model_error(response)
        return instance.name, response

    def drain(self, timeout: float) -> None:
        """Return when no counted invocation is under way, or after `timeout` seconds."""
        with self._quiet:
            self._quiet.wait_for(lambda: self._busy == 0, timeout)

    def stop(self) -> None:
        """End every instance, also of a fleet that is starting, and delete what it downloaded."""
        with self._lock:
            self._stopped = True
            instances = list(self._instances)
        for instance in instances:
            instance.stop()

    def _add(self, instance: Instance) -> None:
        """Take an instance in before anything else can go wrong: `stop` ends it from now on."""
        self._refuse_stopped()
        with self._lock:
            self._instances.append(instance)
        instance.start()

    def _refuse_stopped(self) -> None:
        with self._lock:
            if self._stopped:
                raise LocalAwsError("the instances were stopped while they started")

    def _choose(self, weights: Mapping[str, float], target: str | None) -> Instance:
        if target is None:
            shares = [weights[instance.name] for instance in self._instances]
            if not any(shares):
                raise ApiError(
                    "ValidationError",
                    "Every variant has weight 0: name one as TargetVariant or give one a weight.",
                )
            return random.choices(self._instances, shares)[0]
        for instance in self._instances:
            if instance.name == target:
                return instance
        known = ", ".join(instance.name for instance in self._instances)
        raise ApiError("ValidationError", f"Variant {target} not found; the endpoint has {known}.")


def _begin(host: Host, endpoint: str, variant: dict[str, Any], model: dict[str, Any]) -> Running:
    described = model.get("PrimaryContainer") or model["Containers"][0]
    capacity = Capacity.of(variant)
    folder = host.folder / f"{endpoint}-{variant['VariantName']}-{next(_numbers)}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if described.get("Mode", "SingleModel") == "MultiModel":
        return _begin_multi_model(host, folder, described, capacity)
    return _begin_single_model(host, folder, described, capacity)


def _begin_multi_model(
    host: Host, folder: Path, described: dict[str, Any], capacity: Capacity
) -> Running:
    prefix = S3Prefix.parse(described["ModelDataUrl"])
    empty = folder / "empty"
    empty.mkdir()
    models = folder / "models"
    models.mkdir()
    command = serve.multi_model(
        described.get("Environment", {}), image=described.get("Image", ""), repository=str(empty)
    )
    seen_at = mounts.seen_at(models, mounts.MODELS, isolated=host.triton.isolated)
    triton = _triton(host, folder, command, (models, seen_at))
    caching = described.get("MultiModelConfig", {}).get("ModelCacheSetting", "Enabled")
    container = MultiModelContainer(
        triton,
        s3=host.s3,
        prefix=prefix,
        folder=models,
        backends=host.backends,
        capacity=capacity,
        caches=caching != "Disabled",
        seen_at=seen_at,
    )
    return Running(triton, container, folder)


def _begin_single_model(
    host: Host, folder: Path, described: dict[str, Any], capacity: Capacity
) -> Running:
    archive, repository = S3Prefix.parse(described["ModelDataUrl"]), folder / "model"
    try:
        archives.fetch(
            host.s3, bucket=archive.bucket, key=archive.key, to=repository, limit=capacity.disk
        )
        stand_in_packages.provide(repository, host.backends)
    except ApiError as error:
        raise LocalAwsError(error.message) from None
    seen_at = mounts.seen_at(repository, mounts.MODEL, isolated=host.triton.isolated)
    command = serve.single_model(
        described.get("Environment", {}),
        image=described.get("Image", ""),
        archive=repository,
        repository=str(seen_at),
    )
    triton = _triton(host, folder, command, (repository, seen_at))
    return Running(triton, SingleModelContainer(triton, invocations=command.invocations), folder)


def _triton(host: Host, folder: Path, command: serve.Command, models: tuple[Path, Path]) -> Triton:
    return Triton(
        host.triton,
        arguments=command.arguments,
        environment=command.environment,
        backends=host.backends,
        folder=folder,
        said=command.said,
        ping=command.ping,
        models=models,
    )
