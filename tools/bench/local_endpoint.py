"""A local SageMaker for benchmarks, with a multi-model endpoint."""

import io
import os
import shutil
import sys
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import boto3

from local_sagemaker import Folder, RunningSageMaker, client_environment, down, up

NAME = "bench"
"""Name of the bucket and of the endpoint."""
QUIET = {"SAGEMAKER_TRITON_LOG_VERBOSE": "false", "SAGEMAKER_TRITON_PING_MODE": "live"}
ECHO = Path(__file__).with_name("echo")
"""The folder of a model that returns its input."""


@contextmanager
def local_sagemaker(**settings: str) -> Iterator[tuple[Folder, RunningSageMaker]]:
    """Run a local SageMaker that this process and its children use instead of AWS."""
    with TemporaryDirectory() as scratch, patch.dict(os.environ, settings):
        folder = Folder(Path(scratch, "local_sagemaker"))
        try:
            running = up(folder)
            os.environ |= client_environment(running, folder)
            boto3.client("s3").create_bucket(Bucket=NAME)
            with logs_of_failure(folder.root):
                yield folder, running
        finally:
            down(folder)


@contextmanager
def logs_of_failure(folder: Path) -> Iterator[None]:
    """Print the ends of the logs in a folder if the statements within raise an error."""
    try:
        yield
    except Exception:
        for log in sorted(folder.rglob("*.log")):
            lines = log.read_text(errors="replace").splitlines()[-20:]
            print(log, *lines, sep="\n", file=sys.stderr)
        raise


def echo_archive(instance_count: int = 1) -> bytes:
    """Return an archive of the echo model with this number of instances."""
    packed = io.BytesIO()
    with TemporaryDirectory() as scratch, tarfile.open(fileobj=packed, mode="w:gz") as archive:
        copy = shutil.copytree(ECHO, Path(scratch, "copy"))
        config = copy / "echo" / "config.pbtxt"
        config.write_text(config.read_text().replace("count: 1", f"count: {instance_count}"))
        archive.add(copy, ".")
    return packed.getvalue()


def host(archives: Mapping[str, bytes], **environment: str) -> None:
    """Create a multi-model endpoint with these archives, and wait until it is in service.

    `environment` are further variables of the container.
    """
    for key, content in archives.items():
        boto3.client("s3").put_object(Bucket=NAME, Key=key, Body=content)
    sagemaker = boto3.client("sagemaker")
    sagemaker.create_model(
        ModelName=NAME,
        PrimaryContainer={
            "Image": "triton",
            "Mode": "MultiModel",
            "ModelDataUrl": f"s3://{NAME}/",
            "Environment": {**QUIET, **environment},
        },
    )
    sagemaker.create_endpoint_config(
        EndpointConfigName=NAME,
        ProductionVariants=[
            {
                "VariantName": "AllTraffic",
                "ModelName": NAME,
                "InstanceType": "ml.m5.xlarge",
                "InitialInstanceCount": 1,
            }
        ],
    )
    sagemaker.create_endpoint(EndpointName=NAME, EndpointConfigName=NAME)
    sagemaker.get_waiter("endpoint_in_service").wait(
        EndpointName=NAME, WaiterConfig={"Delay": 1, "MaxAttempts": 600}
    )
