"""What is deployed where: one YAML file per environment."""

from stages.load import UnknownStage, at_lines_of_stage, load_stage, stage_names
from stages.schema.alarms import AlarmsConfig, NotifyConfig
from stages.schema.capture import DataCaptureConfig
from stages.schema.delivery import DeliveryConfig
from stages.schema.endpoint import EndpointConfig, VariantConfig
from stages.schema.scaling import ScalingConfig, ScheduleConfig
from stages.schema.server import ServerConfig
from stages.schema.stage import StageConfig
from stages.schema.update import UpdateConfig

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
