"""What is deployed where: one YAML file per environment."""

from stages.load import UnknownStage, load_stage, stage_names
from stages.schema import EndpointStage, Stage

__all__ = ["EndpointStage", "Stage", "UnknownStage", "load_stage", "stage_names"]
