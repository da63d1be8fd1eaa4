"""The process that runs ministack, extended by the local SageMaker's CloudFormation types."""

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from local_sagemaker import settings
from local_sagemaker.folder import Folder
from local_sagemaker.front.http_server import RequestGuard, http_server
from local_sagemaker.quotas import LAMBDA_CONCURRENCY, configured_quotas

SERVICES = (
    "budgets,cloudformation,cloudwatch,dynamodb,ec2,ecr,events,iam,kms,lambda,logs,monitoring,s3,"
    "secretsmanager,sns,ssm,states,stepfunctions,sts,tagging"
)
ONE_ATTEMPT = Config(retries={"total_max_attempts": 1})
MIN_WAIT_SCALE = 1 / 15
"""Minimum scale of Step Functions waits: the CDK's provider framework polls every 15 seconds, and
each poll starts two functions; with this scale it polls at most once a second."""
STOP_SECONDS = 15
"""Time for operations in progress to end, after which all processes of the group are killed."""
KEEP_ALIVE_SECONDS = 3600
"""Idle time after which connections are closed: clients without retries must not meet a closed
connection."""


def run(folder: Folder, port: int, listener: int) -> None:
    """Serve on a listening socket until standard input is closed.

    `port` is the public port of the local SageMaker, for URLs in responses.
    """
    if LAMBDA_CONCURRENCY in (quotas := configured_quotas()):
        os.environ["LAMBDA_ACCOUNT_CONCURRENCY"] = str(quotas[LAMBDA_CONCURRENCY])
    speed = settings.speed()  # factor by which AWS's waits and periods are shortened
    os.environ.update(
        GATEWAY_PORT=str(port),
        IOT_MTLS_ENABLED="0",  # would listen on another port
        LOG_LEVEL="INFO",
        MINISTACK_HOST="127.0.0.1",
        S3_DATA_DIR=str(folder.objects),
        S3_PERSIST="1",  # store objects as files, not in memory
        SERVICES=SERVICES,
        SFN_WAIT_SCALE=str(max(1 / speed, MIN_WAIT_SCALE)),
        STATE_DIR=str(folder.kept),
    )
    # Imported here: ministack reads its settings from the environment when it is imported.
    from ministack.services import cloudwatch, cloudwatch_logs, s3
    from ministack.services.cloudformation import provisioners

    from local_sagemaker import budgets, s3_corrections
    from local_sagemaker.autoscaling import cloudformation as autoscaling
    from local_sagemaker.cloudformation import Client, register
    from local_sagemaker.cloudwatch import alarm_records, data, expressions, log_events
    from local_sagemaker.cloudwatch.evaluator import Evaluator
    from local_sagemaker.cloudwatch.retention import Retention
    from local_sagemaker.codebuild import cloudformation as codebuild
    from local_sagemaker.sagemaker import cloudformation as sagemaker
    from local_sagemaker.state_file import StateFile

    _identify_functions_by_role()
    # Corrections of ministack's modules, and what they lack.
    log_events.patch(cloudwatch_logs)
    alarm_records.patch(cloudwatch)
    data.patch(cloudwatch)
    expressions.patch(cloudwatch, provisioners)
    s3_corrections.patch(s3)
    session: Any = boto3.Session()

    def client(service: str) -> Client:
        return Client(session.client(service, config=ONE_ATTEMPT))

    register(
        sagemaker.resource_types(client("sagemaker"))
        | autoscaling.resource_types(client("application-autoscaling"))
        | codebuild.resource_types(client("codebuild"))
        | budgets.resource_types(client("budgets"))
    )
    state_file = StateFile(folder, port)
    state_file.restore()
    evaluator = Evaluator(cloudwatch, speed=speed)
    retention = Retention(cloudwatch, cloudwatch_logs, speed=speed)
    asyncio.run(_serve(state_file, listener, [evaluator.run(), retention.run()]))


def _identify_functions_by_role() -> None:
    """Make Lambda functions send the ARN of their role as session token.

    The token identifies the caller of recorded calls (`front.calls`).
    """
    from ministack.core import lambda_runtime
    from ministack.services import lambda_svc

    credentials = lambda_runtime.execution_credentials

    def credentials_of_role(config: dict[str, Any]) -> dict[str, str]:
        return {**credentials(config), "AWS_SESSION_TOKEN": config["Role"]}

    lambda_runtime.execution_credentials = lambda_svc.execution_credentials = credentials_of_role


async def _serve(
    app: Any, listener: int, background_tasks: list[Coroutine[Any, Any, None]]
) -> None:
    """Serve, and run the background tasks, until standard input is closed."""
    guarded_app = RequestGuard(app)  # rejects requests of other web sites
    server = http_server(guarded_app, keep_alive=KEEP_ALIVE_SECONDS, lifespan="on")

    async def stop_at_end_of_input() -> None:
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
        await reader.read()
        server.should_exit = True
        if os.getpgrp() == os.getpid():  # the server that started it may have been killed
            timer = threading.Timer(STOP_SECONDS, os.killpg, (0, signal.SIGKILL))
            timer.daemon = True
            timer.start()

    tasks = [asyncio.create_task(work) for work in (*background_tasks, stop_at_end_of_input())]
    with socket.socket(fileno=listener) as listening_socket:
        await server.serve(sockets=[listening_socket])
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    try:
        run(Folder(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3]))
    finally:
        # It leads a group of its own: Lambda functions that still run end with it.
        os.killpg(0, signal.SIGKILL)
