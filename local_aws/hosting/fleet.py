"""The instances behind an endpoint: what DescribeEndpoint -> EndpointConfig -> Model say."""

import itertools
import random
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_aws.errors import ApiError, LocalAwsError
from local_aws.hosting.multi_model_container import (
    MultiModelContainer,
    S3Prefix,
    model_error,
)
from local_aws.hosting.serve import multi_model_arguments
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


@dataclass(frozen=True)
class Variant:
    """A production variant and the container that it runs; one instance stands for all of them."""

    name: str
    weight: float
    triton: Triton
    container: MultiModelContainer
    folder: Path


class Fleet:
    """The running variants of one endpoint configuration."""

    def __init__(self, variants: list[Variant]) -> None:
        self._variants = variants
        self._busy = 0
        self._quiet = threading.Condition()

    @classmethod
    def start(
        cls, host: Host, endpoint: str, config: dict[str, Any], models: dict[str, dict[str, Any]]
    ) -> "Fleet":
        """Start every variant and wait until it is healthy.

        `config` is an EndpointConfig and `models` are the Models by name, as the API describes
        them. Raises `LocalAwsError` with the reason, after stopping what was started.
        """
        fleet = cls([])
        try:
            for variant in config["ProductionVariants"]:
                model = models[variant["ModelName"]]
                fleet._variants.append(_start(host, endpoint, variant, model))
            for variant, running in zip(config["ProductionVariants"], fleet._variants, strict=True):
                seconds = variant.get("ContainerStartupHealthCheckTimeoutInSeconds", 600)
                running.triton.wait_until_healthy(seconds)
        except BaseException:
            fleet.stop()
            raise
        return fleet

    def invoke(
        self, *, target_model: str | None, body: bytes, headers: dict[str, str]
    ) -> tuple[str, Response]:
        """Return the chosen variant's name and its answer. Raises `ApiError`."""
        if not target_model:
            raise ApiError(
                "ValidationError",
                "TargetModel is a required input for inference on a multi-model endpoint.",
            )
        weights = [variant.weight for variant in self._variants]
        (variant,) = random.choices(self._variants, weights)
        with self._quiet:
            self._busy += 1
        try:
            response = variant.container.invoke(target_model, body=body, headers=headers)
        except OSError as error:
            raise ApiError(
                "ModelError", f"The container did not answer: {error}", status=424
            ) from None
        finally:
            with self._quiet:
                self._busy -= 1
                self._quiet.notify_all()
        if response.status != 200:
            raise model_error(response)
        return variant.name, response

    def drain(self, timeout: float) -> None:
        """Return when no invocation is under way, or after `timeout` seconds."""
        with self._quiet:
            self._quiet.wait_for(lambda: self._busy == 0, timeout)

    def stop(self) -> None:
        """End every variant and delete what it downloaded."""
        for variant in self._variants:
            variant.triton.stop()
            shutil.rmtree(variant.folder / "models", ignore_errors=True)


def _start(host: Host, endpoint: str, variant: dict[str, Any], model: dict[str, Any]) -> Variant:
    container = model.get("PrimaryContainer") or model["Containers"][0]
    if container.get("Mode", "SingleModel") != "MultiModel":
        raise LocalAwsError(
            f"Model {variant['ModelName']} has Mode {container.get('Mode', 'SingleModel')}: the "
            "local AWS hosts Mode MultiModel"
        )
    name = variant["VariantName"]
    folder = host.folder / f"{endpoint}-{name}-{next(_numbers)}"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "empty").mkdir(parents=True)
    environment = {"SAGEMAKER_MULTI_MODEL": "true", **container.get("Environment", {})}
    triton = Triton(
        host.triton,
        arguments=multi_model_arguments(environment, repository=str(folder / "empty")),
        environment=environment,
        backends=host.backends,
        folder=folder,
    )
    return Variant(
        name=name,
        weight=variant.get("InitialVariantWeight", 1.0),
        triton=triton,
        container=MultiModelContainer(
            triton,
            s3=host.s3,
            prefix=S3Prefix.parse(container["ModelDataUrl"]),
            folder=folder / "models",
        ),
        folder=folder,
    )
