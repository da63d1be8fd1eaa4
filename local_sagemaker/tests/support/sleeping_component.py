"""An inference component that scales to 0, and out after one call."""

from pathlib import Path

NAME = {"InferenceComponentName": "twice"}
TEMPLATE = Path(__file__).with_suffix(".yaml").read_text()
"""The template of its stack."""
