"""Changed data of models: `config.pbtxt`, `recipe.yaml` and its table, `tests/golden.json`."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any

from google.protobuf.json_format import MessageToJson

from model_build import model_config
from platform_facts.rules import engines
from review.amounts import rises_sharply
from review.files.changed_code import ChangedFile
from review.files.readers import read_json, read_text, read_yaml
from review.remark import NOTE, Remark
from review.values import (
    Unreadable,
    ValueDifference,
    first_names,
    format_change,
    format_value,
    value_differences,
)

QUEUE_DELAY = "max_queue_delay_microseconds"
QUEUE_LIMITS = {
    "default_timeout_microseconds": (
        ", so that Triton refuses requests that wait longer, unless timeout_action is DELAY"
    ),
    "max_queue_size": ", so that Triton refuses requests beyond it",
}
"""Limits of a model's queue -> what a lower one does (Triton's model configuration,
ModelQueuePolicy: 0 is no limit; a request that waits longer is rejected by default)."""
MAX_QUEUE = 2**63
"""Stands for no limit: more than any value of these fields."""
LONG_QUEUE_DELAY = 100_000
"""Microseconds; a queue delay that rises to this or more is a danger; chosen for this project."""

SECONDS = {
    **dict.fromkeys(("nanoseconds", "_ns"), 1e-9),
    **dict.fromkeys(("microseconds", "_us"), 1e-6),
    **dict.fromkeys(("milliseconds", "_ms"), 1e-3),
}
"""End of a name -> seconds of its unit."""
INT8_RANGES = (
    ", with the ranges of the inputs that TorchModel.sample returns: check that they are real"
)
"""What INT8 needs to be as exact as its tolerance says (docs/recipes.md)."""
ONLY_FORMATTED = "only comments or formatting: all values are equal"
TABLE = re.compile(r"models/[^/]+/[^/]+\.csv")
"""Paths of tables of recipes."""

SOURCE_FIELDS = ("from", "repository", "package", "folder", "uri", "path")
"""Fields of `weights` with the source of the weights."""

CODE_FIELDS = (
    "backend", "cc_model_filenames", "default_model_filename", "model_repository_agents",
    "model_operations", "platform", "runtime",
)  # fmt: skip
"""Fields of a configuration that select what Triton runs, as `ENVIRONMENT` does; nobody owns it
(Triton's model configuration; python_backend, "Creating Custom Execution Environments")."""
CODE_PARAMETER = re.compile(r"PATH|LIB|/", re.IGNORECASE)
"""Names or values of parameters that select a library or a file: OpenVINO's `CPU_EXTENSION_PATH`,
an accelerator's `trt_extra_plugin_lib_paths` (onnxruntime_backend, README)."""
FIELDS_OF_NEW_MODELS = {"backend", "platform"}
"""Those that every new model has."""

MODEL_DATA = re.compile(r"models/(.*/)?(config\.pbtxt|recipe\.yaml|golden\.json)")
TOLERANCES = ("max_absolute_difference", "max_relative_difference")


def describe_model_data(file: ChangedFile, *, model_exists: bool) -> Iterator[Remark]:
    """Yield every changed field of a model's data; `model_exists`: after the change.

    Raise `Unreadable`.
    """
    name = file.path.rpartition("/")[2]
    if file.path.startswith("models/") and name == "labels.txt" and file.after is not None:
        labels = read_text(file.after)
        if file.before is not None:
            yield from _changed_labels(file.before.decode(errors="replace"), labels)
    readers = {"config.pbtxt": read_config, "recipe.yaml": read_yaml, "golden.json": read_json}
    if not MODEL_DATA.fullmatch(file.path):
        return
    old, new = ({} if side is None else readers[name](side) for side in (file.before, file.after))
    outputs_differ = False
    if name == "golden.json":
        if file.after is None and model_exists:
            text = "deleted: the model's outputs are no longer compared after a deployment"
            yield Remark("weakened_checks", text)
        outputs = _pop_outputs(old), _pop_outputs(new)
        outputs_differ = outputs[0] != outputs[1]
        yield from _fewer_values(*outputs)
    if name == "config.pbtxt" and file.after is not None:
        yield from _selected_code(old, new, is_new=file.before is None)
    if None in (file.before, file.after):
        yield from _new_or_deleted(name, file, new)
        return
    differences = [*value_differences(old, new)]
    for difference in differences:
        text = _with_seconds(difference)
        rule = _rule(name, difference)
        if difference.key_path[-1:] == ("precision",) and difference.after == "int8":
            text += INT8_RANGES
        elif rule != NOTE:
            text += QUEUE_LIMITS.get(str(difference.key_path[-1]), "")
        yield Remark(rule, text)
    if file.before and not differences and not outputs_differ:
        yield Remark(NOTE, ONLY_FORMATTED)


def _changed_labels(before: str, after: str) -> Iterator[Remark]:
    """Yield how many classes get another label, and the first one that gets a neighbour's.

    "The index is used to look up the label": line N is the label of class N (Triton, model
    configuration, `label_filename`).
    """
    old, new = (text.rstrip("\n").split("\n") for text in (before, after))
    rows = [(index, *labels) for index, labels in enumerate(zip_longest(old, new))
            if labels[0] != labels[1]]  # fmt: skip
    moved = [row for row in rows if row[2] in old]
    if rows:
        index, *labels = (moved or rows)[0]
        counts = f"{len(rows)} of {max(len(old), len(new))} classes"
        text = f"{counts} have other labels, class {index}: {format_change(*map(str, labels))}"
        yield Remark("broken_clients" if moved else NOTE, text)


def describe_table(
    file: ChangedFile, before: Mapping[str, bytes], after: Mapping[str, bytes]
) -> Iterator[Remark]:
    """Yield each changed value of a recipe's table, by the name of its row.

    `before` and `after` are all files. A value that names the file of another row is a danger, as
    its model would answer like the other; unless rows of the column shared files before.
    Raise `Unreadable` or `csv.Error`.
    """
    folder = file.path.rpartition("/")[0]
    if not TABLE.fullmatch(file.path) or file.after is None:
        return
    old, new = _read_rows(file.before or b""), _read_rows(file.after)
    if file.before is None:
        yield Remark(NOTE, f"new, {len(new)} rows")
        return
    old_owners, owners = (_rows_by_file(rows, folder, side)
                          for rows, side in ((old, before), (new, after)))  # fmt: skip
    shared = {column for (column, _), rows in old_owners.items() if len(rows) > 1}
    for difference in value_differences(old, new):
        row, column = (*difference.key_path, "")[:2]
        others = [other for other in owners.get((str(column), str(difference.after)), ())
                  if other != row]  # fmt: skip
        text = f"row {difference}"
        if others and column not in shared:
            text += f", the file of {first_names(others)}, so that both models answer alike"
            yield Remark("changed_weights_source", text)
        else:
            yield Remark(NOTE, text)
    if old == new:
        yield Remark(NOTE, ONLY_FORMATTED)


def _read_rows(content: bytes) -> dict[str, dict[str, str]]:
    """Return the rows of a table by the column `name`, or the first one. Raise `Unreadable`."""
    reader = csv.DictReader(io.StringIO(read_text(content)), strict=True)
    columns = reader.fieldnames or [""]
    key = "name" if "name" in columns else columns[0]
    rows: dict[str, dict[str, str]] = {}
    for row in reader:
        title = row.pop(key)
        if title is None or title in rows or None in row or None in row.values():
            raise Unreadable(f"line {reader.line_num} has another row's name, or other columns")
        rows[title] = row
    return rows


def _rows_by_file(
    rows: Mapping[str, Mapping[str, str]], folder: str, files: Mapping[str, bytes]
) -> dict[tuple[str, str], list[str]]:
    """Return the rows that name each file of the folder, by column and path of the file."""
    owners: dict[tuple[str, str], list[str]] = {}
    for title, row in rows.items():
        for column, value in row.items():
            if f"{folder}/{value}" in files:
                owners.setdefault((column, value), []).append(title)
    return owners


def _with_seconds(difference: ValueDifference) -> str:
    """Return a change as text, with times in seconds, whose unit is the end of their name."""
    names = [key for key in difference.key_path if isinstance(key, str)]
    name = next((key for key in reversed(names) if key not in ("[]", "string_value")), "")
    factors = (factor for end, factor in SECONDS.items() if name.lower().endswith(end))
    factor = next(factors, None)

    def text(value: Any) -> str:
        is_time = factor and str(value).replace(".", "", 1).isdigit()
        return f"{value} ({float(value) * (factor or 1):g} s)" if is_time else format_value(value)

    path = ".".join(map(str, difference.key_path))
    return f"{path}: {format_change(text(difference.before), text(difference.after))}"


def _selected_code(old: dict[str, Any], new: dict[str, Any], *, is_new: bool) -> Iterator[Remark]:
    """Yield changed settings that select the code or the libraries that Triton runs."""
    for difference in value_differences(old, new):
        field, *_ = difference.key_path
        texts = f"{difference.key_path} {difference.before} {difference.after}"
        if field in CODE_FIELDS and not (is_new and field in FIELDS_OF_NEW_MODELS):
            text = "Triton runs other code"
        elif "parameters" not in difference.key_path:
            continue
        elif model_config.ENVIRONMENT in texts:
            text = "Triton runs the programs of this archive"
        elif CODE_PARAMETER.search(texts):
            text = "a parameter can select a library or a file"
        else:
            continue
        yield Remark("selected_code", f"{text}: {difference}")


def lengths_above_engines(
    changed: Iterable[ChangedFile], base: Mapping[str, bytes], head: Mapping[str, bytes]
) -> Iterator[tuple[str, Remark]]:
    """Yield file and danger of each maximum length that is newly above that of a model's engines.

    `changed` are the changed files.
    """
    for folder in sorted({"/".join(file.path.split("/")[:2]) for file in changed}):
        before, after = (_lengths_above_engines(folder, side) for side in (base, head))
        for path, text in sorted(after - before):
            yield path, Remark("broken_clients", text)


def _lengths_above_engines(folder: str, files: Mapping[str, bytes]) -> set[tuple[str, str]]:
    """Return file and text of each maximum length of the model in a folder."""
    lengths = set[tuple[str, str]]()
    try:
        recipe = read_yaml(files.get(f"{folder}/recipe.yaml", b"{}"))
        shapes = [*_engine_shapes(recipe)]
        for path, content in files.items() if shapes else ():
            if path.startswith(f"{folder}/") and path.endswith("/config.pbtxt"):
                parameters = {
                    name: str(value.get("string_value", ""))
                    for name, value in read_config(content).get("parameters", {}).items()
                }
                for name, value, longest in engines.lengths_above_engines(shapes, parameters):
                    text = f"{name} is {value}, and the engine takes lengths up to {longest}"
                    lengths.add((path, f"{text}, so that calls with longer inputs fail"))
    except (Unreadable, RecursionError):
        pass  # which is a danger of the file
    return lengths


def _engine_shapes(value: Any) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the smallest and the greatest shape of each input of a profile in a recipe."""
    match value:
        case {"min": [*low], "max": [*high]} if low and high:
            yield low, high
        case dict():
            for child in value.values():
                yield from _engine_shapes(child)
        case list():
            for child in value:
                yield from _engine_shapes(child)


def _new_or_deleted(name: str, file: ChangedFile, new: Any) -> Iterator[Remark]:
    weights = new.get("weights") if isinstance(new, dict) else None
    if file.before is not None:
        yield Remark(NOTE, "deleted")
    elif name == "recipe.yaml" and isinstance(weights, dict):
        origin = (weights.get(key) for key in (*SOURCE_FIELDS, "revision"))
        yield Remark(NOTE, f"new, weights: {' '.join(str(value) for value in origin if value)}")
    else:
        yield Remark(NOTE, "new")


def _rule(name: str, difference: ValueDifference) -> str:
    """Return the rule of a changed field, or `NOTE`."""
    before, after = difference.before, difference.after
    key, is_weights = difference.key_path[-1:], difference.key_path[:1] == ("weights",)
    if name == "config.pbtxt":
        return _rule_of_config(difference)
    if key and key[0] in TOLERANCES:
        numbers = _is_number(before) and _is_number(after)
        is_tighter = before is None or (numbers and after <= before)  # false for NaN
        return NOTE if is_tighter else "larger_tolerances"
    if is_weights and (len(difference.key_path) == 1 or key[0] in SOURCE_FIELDS):
        names = {str(value).partition("==")[0] for value in (before, after)}
        is_newer = key == ("package",) and len(names) == 1
        return NOTE if is_newer else "changed_weights_source"
    is_hash = is_weights and "files" in difference.key_path
    return "lost_pins" if is_hash and before is not None else NOTE


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _rule_of_config(difference: ValueDifference) -> str:
    keys, before, after = difference.key_path, difference.before, difference.after
    if keys[0] == "parameters" and _is_numeric(before) and _is_numeric(after):
        return "changed_limits"  # of the model's code, which no owner of code sees
    if keys[-1] in QUEUE_LIMITS and int(after or 0) and int(after) < int(before or MAX_QUEUE):
        return "changed_limits"
    if keys[-1] == "count" and rises_sharply(int(before or 1), int(after or 1)):
        return "multiplied_capacity"  # each instance of a model has its own memory
    is_slower = (
        (keys == ("dynamic_batching",) and after is None)
        or (keys[-1] == "kind" and (before, after) == ("KIND_GPU", "KIND_CPU"))
        or (keys[-1] == QUEUE_DELAY and LONG_QUEUE_DELAY <= int(after or 0) > int(before or 0))
    )
    return "slow_responses" if is_slower else NOTE


def _is_numeric(value: Any) -> bool:
    return isinstance(value, str) and value.replace(".", "", 1).isdigit()


def _pop_outputs(golden: Any) -> dict[str, Any]:
    outputs = golden.pop("outputs", {}) if isinstance(golden, dict) else None
    if not isinstance(outputs, dict) or not all(
        isinstance(output, dict) and isinstance(output.get("data"), list)
        for output in outputs.values()
    ):
        raise Unreadable("has no object `outputs`, whose values have lists of data")
    return outputs


def _fewer_values(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Remark]:
    """Yield changed outputs; fewer values in total are a danger, as outputs may be renamed."""
    counts = [sum(len(output["data"]) for output in side.values()) for side in (old, new)]
    if counts[1] < counts[0] and new:
        text = f"fewer expected values are compared: {counts[0]} -> {counts[1]}"
        yield Remark("weakened_checks", text)
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name) and old and new:
            yield Remark(NOTE, f"the expected values of the output {name} change")


def read_config(content: bytes) -> dict[str, Any]:
    """Return the fields of a `config.pbtxt`. Raise `Unreadable`."""
    try:
        message = model_config.parse(read_text(content))
    except model_config.NotParsed as error:
        raise Unreadable(f"line {error.line} is not valid: {error.reason}") from None
    text = MessageToJson(message, preserving_proto_field_name=True, sort_keys=True)
    fields: dict[str, Any] = json.loads(text)  # maps are unordered
    return fields
