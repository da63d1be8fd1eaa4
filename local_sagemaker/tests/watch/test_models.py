import pytest

from local_sagemaker.dashboard_events import DashboardEvent, EventKind
from local_sagemaker.hosting.capacity import MIB
from local_sagemaker.hosting.container import ModelStep
from local_sagemaker.watch.models import model_event, model_name
from model_build import archive

A, B = "minilm-0123456789ab.tar.gz", "bert-0123456789ab.tar.gz"
ENDPOINT, VARIANT, INSTANCE = "text", "only", "i-0"


@pytest.mark.parametrize(
    ("step", "kind", "message"),
    [
        (ModelStep(EventKind.MODEL_DOWNLOADED, A, 1.25, bytes=3 * MIB), EventKind.MODEL_DOWNLOADED,
         "minilm was downloaded in 1.2 s: 3.0 MiB unpacked."),
        (ModelStep(EventKind.MODEL_UNLOADED, A, 2.0), EventKind.MODEL_UNLOADED,
         "minilm was unloaded in 2.0 s."),
        (ModelStep(EventKind.MODEL_UNLOADED, A, 2.0, room_for=B), EventKind.MODEL_EVICTED,
         "minilm was unloaded in 2.0 s to make room for bert."),
        (ModelStep(EventKind.MODEL_DELETED, A, room_for=B), EventKind.MODEL_DELETED,
         "minilm was deleted from the volume to make room for bert."),
        (ModelStep(EventKind.MODEL_FAILED, A, reason="no such file"), EventKind.MODEL_FAILED,
         "minilm is not loaded: no such file"),
    ],
)  # fmt: skip
def test_event_message_of_a_model_step(step: ModelStep, kind: EventKind, message: str) -> None:
    event = model_event(ENDPOINT, VARIANT, INSTANCE, step)
    assert event == DashboardEvent(kind, message, ENDPOINT, VARIANT, INSTANCE, A)


def test_model_name_of_an_archive() -> None:
    assert model_name(archive.file_name("mini-lm", "0123456789ab")) == "mini-lm"
    assert model_name("sub/minilm-0123456789ab.tar.gz") == "minilm"
    assert model_name("minilm-v2.tar.gz") == "minilm-v2.tar.gz"
