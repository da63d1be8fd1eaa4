"""Environment variables that point AWS clients and the cdk CLI to the local SageMaker."""

import os
import re

from local_sagemaker.folder import Folder, RunningSageMaker

ACCOUNT = "000000000000"
REGION = "us-east-1"
PYTHON_VARIABLE = "TRITON_PYTHON"
LOOPBACK = "127.0.0.1"
SERVICE_ENDPOINT = re.compile("AWS_ENDPOINT_URL_[A-Z0-9_]+")
"""A variable for one service, which precedes AWS_ENDPOINT_URL (AWS SDKs and Tools Reference Guide,
feature-ss-endpoints)."""


def client_environment(running: RunningSageMaker, folder: Folder) -> dict[str, str]:
    """Return the variables that point any AWS SDK and the cdk CLI at a running local SageMaker.

    The last tells the app for which Python its builds pack. Those before it undo what a shell may
    have set and clients would follow past the local SageMaker: a proxy, which botocore and the cdk
    CLI use for 127.0.0.1 too, and endpoints of other kinds, which the CLI refuses beside a URL.
    """
    return {
        "AWS_ENDPOINT_URL": running.url,
        **dict.fromkeys(filter(SERVICE_ENDPOINT.fullmatch, os.environ), running.url),
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "CDK_DISABLE_CLI_TELEMETRY": "true",  # each command would start a process that sends it
        "CDK_HOME": str(folder.cdk_home),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), _without_proxy()),
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false",
        "AWS_USE_FIPS_ENDPOINT": "false",
        "AWS_USE_DUALSTACK_ENDPOINT": "false",
        PYTHON_VARIABLE: running.python,
    }


def _without_proxy() -> str:
    """Return the hosts that are reached without a proxy: those of the environment, and loopback."""
    known = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    hosts = [host for host in known.split(",") if host.strip() not in ("", LOOPBACK)]
    return ",".join([*hosts, LOOPBACK])
