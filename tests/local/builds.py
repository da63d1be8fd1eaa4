"""What builds of the local SageMaker say, as anyone reads it."""

import boto3


def log_of_the_last_build() -> str:
    """Return the newest build's log from CloudWatch Logs."""
    codebuild = boto3.client("codebuild")
    newest = codebuild.list_builds()["ids"][0]
    (build,) = codebuild.batch_get_builds(ids=[newest])["builds"]
    events = boto3.client("logs").get_log_events(
        logGroupName=build["logs"]["groupName"], logStreamName=build["logs"]["streamName"]
    )["events"]
    return "".join(event["message"] for event in events)
