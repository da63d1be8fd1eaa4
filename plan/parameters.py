"""Names of the SSM parameters of a stage's catalog."""

ROOT = "/triton/"


def entry(stage: str, endpoint: str, model: str) -> str:
    """Return the name of the parameter that is a model's entry in the catalog."""
    return f"{ROOT}{stage}/{endpoint}/{model}"
