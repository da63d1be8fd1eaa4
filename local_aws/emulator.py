"""The emulator's process: ministack, whose CloudFormation knows our services too."""

import asyncio
import os
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from local_aws.clock import speed_here
from local_aws.folder import Folder
from local_aws.hosting.broker import stdin_closed

if TYPE_CHECKING:
    from local_aws.cloudwatch.evaluator import Evaluator

SERVICES = (
    "cloudformation,cloudwatch,ec2,ecr,events,iam,kms,lambda,logs,monitoring,s3,"
    "secretsmanager,sns,ssm,states,stepfunctions,sts"
)
ONE_ATTEMPT = Config(retries={"total_max_attempts": 1})
MANY_REQUESTS = 1 << 62
"""On one connection: after hypercorn's default, 1000, it would break off under a request."""


def run(folder: Folder, port: int, listener: int) -> None:
    """Serve on a listening socket until standard input is closed.

    `port` is that of the local AWS's one URL, which is what answers name.
    """
    os.environ.update(
        GATEWAY_PORT=str(port),
        IOT_MTLS_ENABLED="0",  # it would listen on a port of its own
        LOG_LEVEL="INFO",
        MINISTACK_HOST="127.0.0.1",
        S3_DATA_DIR=str(folder.objects),
        S3_PERSIST="1",  # it would hold all objects in memory
        SERVICES=SERVICES,
    )
    # Imported here: ministack reads its settings from the environment when it is imported.
    from ministack.app import app
    from ministack.services import cloudwatch, cloudwatch_logs

    from local_aws.autoscaling import cloudformation as autoscaling
    from local_aws.cloudformation import Client, register
    from local_aws.cloudwatch import log_events
    from local_aws.cloudwatch.evaluator import Evaluator
    from local_aws.codebuild import cloudformation as codebuild
    from local_aws.sagemaker import cloudformation as sagemaker

    _functions_call_as_their_roles()
    log_events.install(cloudwatch_logs)
    session: Any = boto3.Session()

    def client(service: str) -> Client:
        return Client(session.client(service, config=ONE_ATTEMPT))

    register(
        sagemaker.resource_types(client("sagemaker"))
        | autoscaling.resource_types(client("application-autoscaling"))
        | codebuild.resource_types(client("codebuild"))
    )
    asyncio.run(_evaluate_and_serve(Evaluator(cloudwatch, speed=speed_here()), app, listener))


def _functions_call_as_their_roles() -> None:
    """Give functions the ARN of their role for a session token, by which calls are recorded."""
    from ministack.core import lambda_runtime
    from ministack.services import lambda_svc

    credentials = lambda_runtime.execution_credentials

    def of_role(config: dict[str, Any]) -> dict[str, str]:
        return {**credentials(config), "AWS_SESSION_TOKEN": config["Role"]}

    lambda_runtime.execution_credentials = lambda_svc.execution_credentials = of_role


async def _evaluate_and_serve(alarms: "Evaluator", app: Any, listener: int) -> None:
    evaluating = asyncio.create_task(alarms.run())
    await _serve(app, listener)
    evaluating.cancel()


async def _serve(app: Any, listener: int) -> None:
    from hypercorn.asyncio import serve
    from hypercorn.config import Config as HypercornConfig

    config = HypercornConfig()
    config.bind = [f"fd://{listener}"]
    config.graceful_timeout = 1
    config.keep_alive_timeout = 3600
    config.keep_alive_max_requests = MANY_REQUESTS
    config.loglevel = "WARNING"  # its URL is nobody's to ask
    await serve(app, config, shutdown_trigger=stdin_closed)
