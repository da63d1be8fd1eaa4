"""Environment variables that point AWS clients and the cdk CLI to the local SageMaker."""

import json
import os
import re

from local_sagemaker.folder import Folder, RunningSageMaker
from local_sagemaker.hosting import backends

ACCOUNT = "000000000000"
REGION = "us-east-1"
PYTHON_VARIABLE = "TRITON_PYTHON"
STAND_INS_VARIABLE = "TRITON_STAND_INS"
LOOPBACK = "127.0.0.1"
SERVICE_ENDPOINT = re.compile("AWS_ENDPOINT_URL_[A-Z0-9_]+")
"""A service-specific variable, which overrides AWS_ENDPOINT_URL (AWS SDKs and Tools Reference
Guide, feature-ss-endpoints)."""


def client_environment(running: RunningSageMaker, folder: Folder) -> dict[str, str]:
    """Return the variables that point any AWS SDK and the cdk CLI to a running local SageMaker.

    `TRITON_PYTHON` is the Python version for which the app's builds pack models, `TRITON_STAND_INS`
    a JSON object of the backends that Python stand-ins replace and of their frameworks. Proxies are
    disabled for loopback, because botocore and the cdk CLI would use them for 127.0.0.1 too. FIPS
    and dual-stack endpoints are disabled, because the CLI rejects them with an endpoint URL.
    """
    return {
        "AWS_ENDPOINT_URL": running.url,
        **dict.fromkeys(filter(SERVICE_ENDPOINT.fullmatch, os.environ), running.url),
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "CDK_DISABLE_CLI_TELEMETRY": "true",  # saves one process per command
        "CDK_HOME": str(folder.cdk_home),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), _no_proxy()),
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false",
        "AWS_USE_FIPS_ENDPOINT": "false",
        "AWS_USE_DUALSTACK_ENDPOINT": "false",
        PYTHON_VARIABLE: running.python,
        STAND_INS_VARIABLE: json.dumps(backends.framework_versions(folder.backends)),
    }


def _no_proxy() -> str:
    """Return the value of NO_PROXY: the hosts in the environment's value, and loopback."""
    value = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    hosts = [host for host in value.split(",") if host.strip() not in ("", LOOPBACK)]
    return ",".join([*hosts, LOOPBACK])
