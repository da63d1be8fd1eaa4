"""What is deployed where: one YAML file per environment."""

from stages.load import UnknownStage, at_lines_of_stage, load_stage, stage_names
from stages.schema import (
    AlarmsConfig,
    DataCaptureConfig,
    DeliveryConfig,
    EndpointConfig,
    NotifyConfig,
    ScalingConfig,
    ScheduleConfig,
    ServerConfig,
    StageConfig,
    UpdateConfig,
    VariantConfig,
)

__all__ = [
    "AlarmsConfig",
    "DataCaptureConfig",
    "DeliveryConfig",
    "EndpointConfig",
    "NotifyConfig",
    "ScalingConfig",
    "ScheduleConfig",
    "ServerConfig",
    "StageConfig",
    "UnknownStage",
    "UpdateConfig",
    "VariantConfig",
    "at_lines_of_stage",
    "load_stage",
    "stage_names",
]
