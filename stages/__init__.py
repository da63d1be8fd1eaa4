"""The stages: one YAML file for each environment."""

from platform_facts.rules.stage_files import UnknownStage
from stages.load import at_lines_of_stage, load_stage, stage_names
from stages.schema.stage import StageConfig

__all__ = ["StageConfig", "UnknownStage", "at_lines_of_stage", "load_stage", "stage_names"]
