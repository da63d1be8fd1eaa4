"""The bucket of a stage's models."""

from typing import Any

from release.delivery.archive_bucket import stack_outputs
from release.permissions import NAMED

OUTPUT = f"ExportsOutputRef{NAMED['model_bucket'].resource}"
"""How the output begins that has the bucket's name (aws-cdk-lib, core/lib/private/refs.ts)."""


def model_bucket(cloudformation: Any, stage: str) -> str | None:
    """Return the bucket's name, None where the stage was never deployed. Raises `ClientError`."""
    outputs = stack_outputs(cloudformation, stage=stage)
    return next((it for name, it in outputs.items() if name.startswith(OUTPUT)), None)
