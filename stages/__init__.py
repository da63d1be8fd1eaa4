"""What is deployed where: one YAML file per environment."""

from stages.load import UnknownStage, load_stage, naming_lines, stage_names
from stages.schema import (
    AlarmsStage,
    DataCaptureStage,
    DeliveryStage,
    EndpointStage,
    NotifyStage,
    ScalingStage,
    ScheduleStage,
    ServerStage,
    Stage,
    UpdateStage,
    VariantStage,
)

__all__ = [
    "AlarmsStage",
    "DataCaptureStage",
    "DeliveryStage",
    "EndpointStage",
    "NotifyStage",
    "ScalingStage",
    "ScheduleStage",
    "ServerStage",
    "Stage",
    "UnknownStage",
    "UpdateStage",
    "VariantStage",
    "load_stage",
    "naming_lines",
    "stage_names",
]
