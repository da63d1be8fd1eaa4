"""What a run begins with: as many lines of logs as CloudWatch keeps here.

Its memory would grow until they are there. Metrics are full after a day of AWS's: 24 minutes at 60
times the speed, of which a quarter of an hour is the warm-up of an hour; a shorter run needs a
higher `LOCAL_SAGEMAKER_SPEED`.
"""

import time
from typing import Any

import boto3

from local_sagemaker.bench.soak.scene import MANY, ONE
from local_sagemaker.cloudwatch.retention import MOST_EVENTS

LINES_AT_ONCE = 2_000
LINE = "a line as long as those that Triton writes of one call at the level that the image has"


def fill_logs() -> None:
    """Write the lines of both endpoints."""
    logs: Any = boto3.client("logs")
    for endpoint in (MANY, ONE):
        place = {"logGroupName": f"/aws/sagemaker/Endpoints/{endpoint}"}
        logs.create_log_group(**place)
        place["logStreamName"] = "before"
        logs.create_log_stream(**place)
        line = {"timestamp": int(time.time() * 1000), "message": LINE}
        for _ in range(MOST_EVENTS // LINES_AT_ONCE):
            logs.put_log_events(**place, logEvents=[line] * LINES_AT_ONCE)
