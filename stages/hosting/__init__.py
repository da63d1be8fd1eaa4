"""The hosting modes of endpoints, by their names in a stage file."""

from stages.hosting.components import InferenceComponents
from stages.hosting.mode import StageHosting as StageHosting
from stages.hosting.multi_model import MultiModel
from stages.hosting.single_model import SingleModel

MODES: dict[str, StageHosting] = {
    "multi-model": MultiModel(),
    "single-model": SingleModel(),
    "components": InferenceComponents(),
}
