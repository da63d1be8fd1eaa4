"""Where a stage's parameters are in SSM: its catalog, and what was delivered to it."""

ROOT = "/triton/"


def entry(stage: str, endpoint: str, model: str) -> str:
    """Return the name of the parameter that is a model's entry in the catalog."""
    return f"{ROOT}{stage}/{endpoint}/{model}"


def delivered(stage: str) -> str:
    """Return the name of the parameter that lists a stage's deliveries."""
    return f"{ROOT}{stage}/delivered"
