"""The emulator's process: ministack, with the services that it lacks."""

import asyncio
import logging
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
from botocore.config import Config

from local_aws.environment import client_environment
from local_aws.folder import Folder, Running
from local_aws.hosting import backends
from local_aws.hosting.fleet import Host
from local_aws.prerequisites import TritonInstallation, find_triton

SERVICES = (
    "cloudformation,cloudwatch,codebuild,ec2,ecr,events,iam,kms,lambda,logs,monitoring,s3,"
    "secretsmanager,sns,ssm,states,stepfunctions,sts"
)
INVOCATIONS_AT_ONCE = 256
ONE_ATTEMPT = Config(retries={"total_max_attempts": 1})
"""For what is asked of this very process, which does not serve any more when it stops."""


def run(folder: Folder, port: int) -> None:
    """Serve on loopback until SIGTERM, then end everything that was started."""
    triton = find_triton()
    running = Running(pid=os.getpid(), port=port, python=triton.model_python.version)
    os.environ.update(client_environment(running, folder))
    os.environ.update(
        BIND_HOST="127.0.0.1",
        GATEWAY_PORT=str(port),
        IOT_MTLS_ENABLED="0",  # it would listen on a port of its own
        LOG_LEVEL="INFO",
        MINISTACK_HOST="127.0.0.1",
        S3_DATA_DIR=str(folder.objects),
        S3_PERSIST="1",  # it would hold all objects in memory
        SERVICES=SERVICES,
    )
    emulated = _Emulated(folder, triton)
    try:
        asyncio.run(_serve(port))
    finally:
        emulated.stop()


class _Emulated:
    """What this project adds to ministack; made before it serves."""

    def __init__(self, folder: Folder, triton: TritonInstallation) -> None:
        # Imported here: ministack reads its settings from the environment when it is imported.
        from ministack import app

        from local_aws import autoscaling, cloudformation, sagemaker  # noqa: F401
        from local_aws.codebuild import cloudformation as codebuild_types
        from local_aws.codebuild.service import CodeBuild
        from local_aws.sagemaker import cloudformation as sagemaker_types
        from local_aws.sagemaker.hosting_api import Hosting
        from local_aws.sagemaker.service import SageMaker

        session: Any = boto3.Session()
        backends.install(triton, folder.backends)
        s3 = session.client("s3")
        self.hosting = Hosting(
            Host(triton, folder.backends, folder.instances, s3),
            scaled_variants=lambda endpoint: scaling.variants(endpoint),
            deregister=lambda endpoint: scaling.forget(endpoint),
        )
        self.codebuild = CodeBuild(
            s3=s3,
            logs=session.client("logs", config=ONE_ATTEMPT),
            folder=folder.builds,
            environment={
                name: value for name, value in os.environ.items() if name.startswith("AWS_")
            },
        )
        endpoints = SageMaker(self.hosting)
        scaling = autoscaling.AutoScaling(self.hosting)
        app.SERVICE_HANDLERS.update(
            {
                "application-autoscaling": scaling.service,
                "codebuild": self.codebuild.service,
                "sagemaker": endpoints,
            }
        )
        cloudformation.register(
            sagemaker_types.resource_types(endpoints.control_plane)
            | autoscaling.resource_types(scaling.service)
            | codebuild_types.resource_types(self.codebuild.service)
        )

    def stop(self) -> None:
        self.codebuild.stop()
        self.hosting.stop()


async def _serve(port: int) -> None:
    from hypercorn.asyncio import serve
    from hypercorn.config import Config
    from ministack.app import app

    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    # asyncio's own number, 6 on 2 cores, would all wait for cold models while a warm one is asked.
    loop.set_default_executor(ThreadPoolExecutor(INVOCATIONS_AT_ONCE))
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.graceful_timeout = 1
    config.keep_alive_timeout = 75
    logging.getLogger("hypercorn.error").setLevel(logging.WARNING)
    await serve(app, config, shutdown_trigger=stopping.wait)
