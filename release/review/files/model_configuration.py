"""`config.pbtxt`: what Triton is told of a model."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToJson

from model_build import model_config
from release.review.files.file_change import FileChange, FileLine
from release.review.files.readers import read_text
from release.review.values import Unreadable, ValueDifference, differences

NAME = "config.pbtxt"
DELAY = "max_queue_delay_microseconds"
SLOW = 1_000_000
"""Microseconds that a request may wait for a batch, from which its delay is a danger: ours."""


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield every field that differs: instance groups, batching and delays among them."""
    for difference in differences(_fields(change.before), _fields(change.after)):
        slow = difference.path.endswith(DELAY) and _grows_beyond(difference, SLOW)
        text = f"{difference}{_in_milliseconds(difference)}"
        yield FileLine(f"{text}: a request may wait so long for a batch" if slow else text,
                       "slow_answers" if slow else "")  # fmt: skip


def uses_sequence_batching(model_folder: Path) -> bool:
    """Whether a configuration of a model's repository asks for sequence batching.

    Its sequences have state in one instance of Triton, which SageMaker's requests reach only where
    there is one (Triton user guide, model_execution.html#stateful-models). A file that cannot be
    read is named by the review of files.
    """
    for path in sorted(model_folder.glob(f"*/{NAME}")):
        if not path.is_symlink() and path.is_file():
            try:
                if _parse(path.read_bytes()).HasField("sequence_batching"):
                    return True
            except Unreadable:
                continue
    return False


def _fields(content: bytes | None) -> dict[str, Any]:
    if content is None:
        return {}
    text = MessageToJson(_parse(content), preserving_proto_field_name=True, sort_keys=True)
    fields: dict[str, Any] = json.loads(text)  # maps have no order of their own
    return fields


def _parse(content: bytes) -> model_config.ModelConfig:
    """Return the configuration of a file. Raises `Unreadable`."""
    try:
        return model_config.parse(read_text(content))
    except model_config.NotParsed as error:
        raise Unreadable(f"line {error.line} is no configuration: {error.reason}") from None


def _in_milliseconds(difference: ValueDifference) -> str:
    """Return both values of a time as the files of stages have them; protobuf's JSON has text."""
    if not difference.path.endswith("_microseconds"):
        return ""
    before, after = _microseconds(difference)
    return f" ({before / 1000:g} -> {after / 1000:g} ms)"


def _grows_beyond(difference: ValueDifference, limit: int) -> bool:
    before, after = _microseconds(difference)
    return after >= limit and after > before


def _microseconds(difference: ValueDifference) -> tuple[int, int]:
    return int(difference.before or 0), int(difference.after or 0)
