"""DeploymentConfigs."""

from typing import Any

Record = dict[str, Any]


def size(value: int, kind: str = "CAPACITY_PERCENT") -> Record:
    """Return a CapacitySize."""
    return {"Type": kind, "Value": value}


def auto_rollback(*names: str) -> Record:
    """Return an AutoRollbackConfiguration with these alarms."""
    return {"AutoRollbackConfiguration": {"Alarms": [{"AlarmName": name} for name in names]}}


def blue_green(
    kind: str,
    *,
    wait: int = 0,
    termination: int | None = None,
    timeout: int | None = None,
    **sizes: Record,
) -> Record:
    """Return a blue/green deployment."""
    policy: Record = {
        "TrafficRoutingConfiguration": {"Type": kind, "WaitIntervalInSeconds": wait, **sizes}
    }
    if termination is not None:
        policy["TerminationWaitInSeconds"] = termination
    if timeout is not None:
        policy["MaximumExecutionTimeoutInSeconds"] = timeout
    return {"BlueGreenUpdatePolicy": policy}


def rolling(batch: Record, *, wait: int = 0, **members: Any) -> Record:
    """Return a rolling deployment."""
    policy = {"MaximumBatchSize": batch, "WaitIntervalInSeconds": wait, **members}
    return {"RollingUpdatePolicy": policy}
