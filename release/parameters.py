"""Where a stage's parameters are in SSM: its catalog, and what was delivered to it."""

ROOT = "/triton/"


def delivered(stage: str) -> str:
    """Return the name of the parameter that lists a stage's deliveries."""
    return f"{ROOT}{stage}/delivered"
