"""`tests/golden.json`: the answers that a model must give after a deploy."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from release.review.files.file_change import FileChange, FileLine
from release.review.files.plain_values import Unreadable, arrow, differences, read_text

TOLERANCE = "max_relative_difference"


class _Output(BaseModel):
    """The values that are compared of an output."""

    shape: list[int]
    data: list[Any]


class _Answers(BaseModel):
    """As much of the file as is compared; a delivery has the whole schema."""

    inputs: dict[str, Any] = {}
    outputs: dict[str, _Output] = {}
    max_relative_difference: float | None = None


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield checks that go, larger tolerances, and other expected answers."""
    old, new = _read(change.before), _read(change.after)
    if change.after is None:
        if change.model_stays:
            yield FileLine("deleted: no answer is compared after a deploy", "weakened_checks")
        return
    was, now = old.max_relative_difference, new.max_relative_difference
    if was != now:
        is_smaller = change.before is None or (was is not None and now is not None and now <= was)
        yield FileLine(f"{TOLERANCE}: {arrow(was, now)}", "" if is_smaller else "larger_tolerances")
    yield from _outputs(old.outputs, new.outputs)
    for difference in differences(old.inputs, new.inputs, ("inputs",)):
        yield FileLine(str(difference))


def _outputs(old: dict[str, _Output], new: dict[str, _Output]) -> Iterator[FileLine]:
    for name in dict.fromkeys((*old, *new)):
        was, now = (len(side[name].data) if name in side else 0 for side in (old, new))
        if now < was:
            text = f"fewer values of the output {name} are compared: {was} -> {now}"
            yield FileLine(text, "weakened_checks")
        elif old.get(name) != new.get(name):
            yield FileLine(f"other expected values of the output {name}")


def _read(content: bytes | None) -> _Answers:
    """Return what a file says. Raises `Unreadable`."""
    try:
        return _Answers() if content is None else _Answers.model_validate_json(read_text(content))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise Unreadable(f"{place}: {first['msg']}") from None
