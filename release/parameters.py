"""Where a stage's parameters are in SSM: its catalog."""

ROOT = "/triton/"


def entry(stage: str, endpoint: str, model: str) -> str:
    """Return the name of the parameter that is a model's entry in the catalog."""
    return f"{ROOT}{stage}/{endpoint}/{model}"
