"""The stages: one YAML file for each environment."""

from stages.load import UnknownStage, at_lines_of_stage, load_stage, stage_names
from stages.schema.stage import StageConfig

__all__ = ["StageConfig", "UnknownStage", "at_lines_of_stage", "load_stage", "stage_names"]
