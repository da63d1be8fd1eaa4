"""Example inputs of a model and its expected outputs: `models/NAME/tests/golden.json`.

A build and a delivery invoke the model with them. The file is not part of the model's archive, so a
change of it needs no build.
"""

import json
import math
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from tritonclient.utils import triton_to_np_dtype

from platform_facts.rules import checked_yaml

FILE = Path("tests", "golden.json")
MAX_VALUES = 16
"""Maximum number of recorded values of an output: enough to compare, few enough to review."""
DIGITS = 6
"""Significant digits of recorded values."""
DEFAULT_DIFFERENCE = 0.02
"""Default relative difference: FP16 on a GPU against FP32 on a CPU, with a margin."""


Array = npt.NDArray[Any]


class InvalidGolden(Exception):
    """A golden file that cannot be read; the message names file and line."""


def _check_scalar(value: Any) -> Any:
    if isinstance(value, list | dict) or value is None:
        raise ValueError(f"write a number, true, false or a text, not {value!r:.60}")
    return value


Value = Annotated[float | int | bool | str, BeforeValidator(_check_scalar)]


class InputTensor(BaseModel):
    """An input; `data` is repeated to fill `shape`, so that a large image needs few values."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    datatype: str
    shape: list[int]
    data: list[Value] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_array(self) -> Self:
        self.array()
        return self

    def array(self) -> Array:
        """Return the input as an array. Raise `ValueError` if data, type and shape do not match."""
        dtype = triton_to_np_dtype(self.datatype)
        if dtype is None:
            raise ValueError(f"unknown datatype {self.datatype}")
        if wrong := [value for value in self.data if not _fits(value, np.dtype(dtype))]:
            raise ValueError(f"{wrong[0]!r} does not fit into {self.datatype}")
        try:
            return np.resize(np.array(self.data, dtype), self.shape)
        except ValueError as error:
            raise ValueError(
                f"{self.data} cannot be {self.datatype} of shape {self.shape}: {error}"
            ) from None


class ExpectedOutput(BaseModel):
    """The shape of an output, and its first values in row-major order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    shape: list[int]
    data: list[Value]

    @classmethod
    def of(cls, array: Array) -> Self:
        """Return the expected output for an array."""
        return cls(
            shape=list(array.shape),
            data=[_to_json_value(value) for value in array.flat[:MAX_VALUES]],
        )

    def difference(self, answer: Array, *, allowed: float) -> str | None:
        """Return the difference of an answer if it is larger than `allowed`, else None.

        Differences are relative to the largest expected value. Texts, infinities, booleans and
        whole numbers of 16 or more bits must be equal. The message has the
        pair of values with the largest difference.
        """
        if list(answer.shape) != self.shape:
            return f"expected shape {self.shape}, got {list(answer.shape)}"
        # Whole numbers are labels and indices; of 8 bits, they are pixels and quantised values.
        is_exact = answer.dtype.kind in "bOiu" and answer.dtype not in (np.int8, np.uint8)
        values = [_to_json_value(value) for value in answer.flat[: len(self.data)]]
        # All of a few values, or those that differ.
        is_short = len(values) <= MAX_VALUES
        pairs = [
            pair for pair in zip(self.data, values, strict=True) if is_short or pair[0] != pair[1]
        ]
        shown = [[pair[side] for pair in pairs[:MAX_VALUES]] for side in (0, 1)]
        message = f"expected {shown[0]}, got {shown[1]}"
        if is_exact or any(isinstance(value, str) for value in (*self.data, *values)):
            return None if values == self.data else message
        expected, actual = np.array(self.data, np.float64), np.array(values, np.float64)
        finite = np.isfinite(expected)
        if not np.array_equal(expected[~finite], actual[~finite], equal_nan=True):
            return message
        expected, actual = expected[finite], actual[finite]
        differences = np.abs(actual - expected) / (np.abs(expected).max(initial=0) or 1.0)
        if differences.max(initial=0) <= allowed:
            return None
        index = differences.argmax()
        return (
            f"expected {expected[index]:.6g}, got {actual[index]:.6g}; "
            f"allowed difference {100 * allowed:g} %"
        )


class Golden(BaseModel):
    """The content of a file. `outputs` is empty until `tritonsm golden` writes it.

    `recorded_with` names the local SageMaker's stand-ins that computed the outputs: they are not
    Triton's own backends.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    inputs: dict[str, InputTensor]
    outputs: dict[str, ExpectedOutput] = {}
    max_relative_difference: float = Field(default=DEFAULT_DIFFERENCE, ge=0)
    recorded_with: str | None = None

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the content of a file. Raise `InvalidGolden` with all errors in it."""
        # models/NAME/tests/golden.json, wherever the repository is
        short_path = "/".join(path.parts[-4:]) if path.parts[-2:] == FILE.parts else str(path)
        try:
            content = path.read_bytes()
            json.loads(content)
            return cls.model_validate_json(content)
        except OSError as error:
            raise InvalidGolden(f"{short_path} cannot be read: {error.strerror}") from None
        except json.JSONDecodeError as error:
            raise InvalidGolden(f"{short_path}:{error.lineno}: not JSON: {error.msg}") from None
        except ValidationError as error:
            raise InvalidGolden(cls._add_lines(Path(short_path), content, error)) from None
        except UnicodeDecodeError:
            raise InvalidGolden(f"{short_path}: is not UTF-8: save the file as UTF-8") from None

    @classmethod
    def _add_lines(cls, path: Path, content: bytes, error: ValidationError) -> str:
        """Return the errors of a file, with line numbers if the file can be parsed as YAML."""
        try:
            checked_yaml.parse(path, content, cls)
        except checked_yaml.InvalidFile as located:
            return str(located)
        return f"{path}: {error}"

    def arrays(self) -> dict[str, Array]:
        """Return the inputs as arrays, by name."""
        return {name: tensor.array() for name, tensor in self.inputs.items()}

    def with_outputs(self, answer: dict[str, Array], recorded_with: str | None) -> Self:
        """Return the content with the outputs of an answer."""
        outputs = {name: ExpectedOutput.of(array) for name, array in answer.items()}
        return self.model_copy(update={"outputs": outputs, "recorded_with": recorded_with})

    def to_json(self) -> str:
        """Return JSON with one line for each tensor."""
        content = self.model_dump(exclude_none=True)
        for kind in ("inputs", "outputs"):
            lines = [
                f"    {json.dumps(name)}: {json.dumps(tensor, ensure_ascii=False)}"
                for name, tensor in content[kind].items()
            ]
            content[kind] = "{\n" + ",\n".join(lines) + "\n  }" if lines else "{}"
        if "recorded_with" in content:
            content["recorded_with"] = json.dumps(content["recorded_with"])
        fields = [f'  "{name}": {value}' for name, value in content.items()]
        return "{\n" + ",\n".join(fields) + "\n}\n"

    def differences(self, answer: dict[str, Array]) -> list[str]:
        """Return one sentence for each output of an answer that differs."""
        sentences = []
        for name, output in self.outputs.items():
            if name not in answer:
                sentences.append(f"{name}: missing")
            elif text := output.difference(answer[name], allowed=self.max_relative_difference):
                sentences.append(f"{name}: {text}")
        return sentences


def check_golden_files(models: Path) -> None:
    """Raise `InvalidGolden` if a golden file below the folder `models` is invalid."""
    for path in sorted(models.glob(f"*/{FILE}")):
        Golden.read(path)


def golden_path(models: Path, model: str) -> Path | None:
    """Return the golden file of a model, None if there is none.

    An alternative (`resnet50-onnx`) or a copy of a model uses the file of the base model.
    """
    while model:
        if (models / model / FILE).is_file():
            return models / model / FILE
        model = model.rpartition("-")[0]
    return None


def _fits(value: Value, dtype: np.dtype[Any]) -> bool:
    """Return whether a value stays the same in a dtype; numpy would wrap or truncate it."""
    if dtype.kind == "O":
        return isinstance(value, str)
    if isinstance(value, str):
        return False
    if dtype.kind == "b":
        return value in (0, 1)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return math.isfinite(value) and value == int(value) and limits.min <= value <= limits.max
    is_large = dtype.kind == "f" and abs(value) > np.finfo(dtype).max
    return not is_large or not math.isfinite(value)


def _to_json_value(value: Any) -> Value:
    """Return a value for JSON; floats are rounded to the significant digits of FP32."""
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    plain: Value = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and math.isfinite(plain):
        return float(f"{plain:.{DIGITS}g}")
    return plain
