"""Changes of `config.pbtxt`, the Triton configuration of a model."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToJson

from model_build import model_config
from review.files.file_change import FileChange, FileLine
from review.files.readers import read_text
from review.values import Unreadable, ValueDifference, value_differences

FILE_NAME = "config.pbtxt"
QUEUE_DELAY = "max_queue_delay_microseconds"
LONG_QUEUE_DELAY = 1_000_000
"""Microseconds; a queue delay that rises to this or more is a danger; chosen for this project."""


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield every changed field, such as instance groups, batching and queue delays."""
    for difference in value_differences(_fields(change.before), _fields(change.after)):
        text = f"{difference}{_in_milliseconds(difference)}"
        if difference.path.endswith(QUEUE_DELAY) and _is_long_delay(difference):
            yield FileLine(
                f"{text}: requests may wait this long for a batch", rule="slow_responses"
            )
        else:
            yield FileLine(text)


def uses_sequence_batching(model_folder: Path) -> bool:
    """Return whether a configuration below a model's folder has sequence batching.

    Files that cannot be read are ignored here: `describe` reports them.
    """
    for path in sorted(model_folder.glob(f"*/{FILE_NAME}")):
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
    fields: dict[str, Any] = json.loads(text)  # maps are unordered
    return fields


def _parse(content: bytes) -> model_config.ModelConfig:
    """Return the configuration in a file. Raise `Unreadable`."""
    try:
        return model_config.parse(read_text(content))
    except model_config.NotParsed as error:
        raise Unreadable(f"line {error.line} is not valid: {error.reason}") from None


def _in_milliseconds(difference: ValueDifference) -> str:
    """Return both values of a time field in milliseconds, empty for other fields."""
    if not difference.path.endswith("_microseconds"):
        return ""
    before, after = _microseconds(difference)
    return f" ({before / 1000:g} -> {after / 1000:g} ms)"


def _is_long_delay(difference: ValueDifference) -> bool:
    before, after = _microseconds(difference)
    return after >= LONG_QUEUE_DELAY and after > before


def _microseconds(difference: ValueDifference) -> tuple[int, int]:
    return int(difference.before or 0), int(difference.after or 0)
