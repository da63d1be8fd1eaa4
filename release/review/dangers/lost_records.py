"""Records that are no longer made, or kept shorter."""

from collections.abc import Iterator
from typing import Any

from release.review.comparison import Comparison
from release.review.dangers.found import Found
from release.review.differences import Change

_RECORDERS = ("AWS::EC2::FlowLog", "AWS::CloudTrail::Trail")


def lost_records(comparison: Comparison) -> Iterator[Found]:
    """Access to a bucket is no longer logged, logs are kept shorter, or data is not captured.

    A log group without `RetentionInDays` keeps everything; a shorter retention deletes what is
    older (CloudWatch Logs API reference, PutRetentionPolicy).
    """
    for change in comparison.changes:
        if change.before and change.after:
            for said in _lost(change):
                yield Found(f"{change.stack}.{change.path}", said)
    for change in comparison.deployed_changes:
        if change.type in _RECORDERS and not change.after:
            yield Found(f"{change.stack}.{change.path}", f"{change.type} {change.path} is deleted")


def _lost(change: Change) -> Iterator[str]:
    old, new = (it.get("Properties", {}) for it in (change.before, change.after))
    match change.type:
        case "AWS::S3::Bucket":
            was, now = (_destination(it) for it in (old, new))
            if was is not None and now is None:
                yield f"access to the bucket {change.path} is no longer logged"
        case "AWS::Logs::LogGroup":
            was, now = (it.get("RetentionInDays", float("inf")) for it in (old, new))
            if now < was:
                kept = f"{was:g} days" if was != float("inf") else "for ever"
                days = "1 day" if now == 1 else f"{now:g} days"
                yield f"the log {change.path} is kept {days}, before {kept}"
        case "AWS::SageMaker::EndpointConfig":
            was, now = (it.get("DataCaptureConfig", {}).get("EnableCapture") for it in (old, new))
            if was and not now:
                yield f"requests of {change.path} are no longer captured"


def _destination(bucket: dict[str, Any]) -> Any:
    return bucket.get("LoggingConfiguration", {}).get("DestinationBucketName")
