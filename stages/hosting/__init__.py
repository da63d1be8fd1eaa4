"""The hosting modes of endpoints, by the names that a stage's file gives them."""

from stages.hosting.components import Components
from stages.hosting.mode import StageHosting as StageHosting
from stages.hosting.multi_model import MultiModel
from stages.hosting.single_model import SingleModel

MODES: dict[str, StageHosting] = {
    "multi-model": MultiModel(),
    "single-model": SingleModel(),
    "components": Components(),
}
