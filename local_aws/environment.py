"""The environment in which AWS clients, and the cdk CLI, speak to the local AWS."""

from local_aws.folder import Folder, Running

ACCOUNT = "000000000000"
REGION = "us-east-1"
PYTHON_VARIABLE = "TRITON_PYTHON"


def client_environment(running: Running, folder: Folder) -> dict[str, str]:
    """Return the variables that point any AWS SDK and the cdk CLI at a running local AWS.

    The last tells the app for which Python its builds pack.
    """
    return {
        "AWS_ENDPOINT_URL": running.url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "CDK_DISABLE_CLI_TELEMETRY": "true",  # each command would start a process that sends it
        "CDK_HOME": str(folder.cdk_home),
        PYTHON_VARIABLE: running.python,
    }
