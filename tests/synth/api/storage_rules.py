"""Constraints of S3 that involve several requests."""

from collections.abc import Iterator

from tests.synth.api.calls import Calls


def buckets(calls: Calls) -> Iterator[str]:
    """Yield invalid target buckets of access logs.

    Access logs need a bucket with SSE-S3 (S3 user guide, enable-server-access-logging; from
    memory).
    """
    encrypted = {
        call.parameters["Bucket"]: rule["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"]
        for call in calls.by_operation("PutBucketEncryption")
        for rule in call.parameters["ServerSideEncryptionConfiguration"]["Rules"]
    }
    for call in calls.by_operation("PutBucketLogging"):
        target = call.parameters["BucketLoggingStatus"]["LoggingEnabled"]["TargetBucket"]
        if encrypted.get(target) != "AES256":
            encryption = encrypted.get(target)
            yield f"{call.resource_id}: access logs to a bucket encrypted with {encryption}"


RULES = (buckets,)
