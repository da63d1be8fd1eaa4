"""What is deployed where: one YAML file per environment."""

from stages.load import UnknownStage, load_stage, stage_names
from stages.schema import (
    AlarmsStage,
    DeliveryStage,
    EndpointStage,
    NotifyStage,
    ScalingStage,
    Stage,
    UpdateStage,
    VariantStage,
)

__all__ = [
    "AlarmsStage",
    "DeliveryStage",
    "EndpointStage",
    "NotifyStage",
    "ScalingStage",
    "Stage",
    "UnknownStage",
    "UpdateStage",
    "VariantStage",
    "load_stage",
    "stage_names",
]
