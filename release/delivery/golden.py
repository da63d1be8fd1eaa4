"""What a model is asked after a deploy, and must answer: `models/NAME/tests/golden.json`.

The file is in a folder that does not belong to the model: writing it rebuilds nothing.
"""

import json
import math
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from tritonclient.utils import triton_to_np_dtype

import checked_yaml
from release.delivery.errors import NotDelivered

FILE = Path("tests", "golden.json")
KEPT = 16
"""Values that are kept of an output: enough to know it by, few enough to review."""
DIGITS = 6
ALLOWED = 0.02
"""What a new file allows: FP16 on a GPU against FP32 on a CPU, with room."""

Array = npt.NDArray[Any]


def _scalar(value: Any) -> Any:
    if isinstance(value, list | dict) or value is None:
        raise ValueError(f"write a number, true, false or a text, not {value!r:.60}")
    return value


Value = Annotated[float | int | bool | str, BeforeValidator(_scalar)]


class Input(BaseModel):
    """An input: `data` is repeated until `shape` is full, so that a picture needs few values."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    datatype: str
    shape: list[int]
    data: list[Value] = Field(min_length=1)

    def array(self) -> Array:
        """Return the input as the client takes it. Raises `NotDelivered`."""
        dtype = triton_to_np_dtype(self.datatype)
        if dtype is None:
            raise NotDelivered(f"there is no datatype {self.datatype}")
        try:
            return np.resize(np.array(self.data, dtype), self.shape)
        except ValueError as error:
            raise NotDelivered(
                f"{self.data} cannot be {self.datatype} of shape {self.shape}: {error}"
            ) from None


class ExpectedOutput(BaseModel):
    """An output: its shape, and its first values in row-major order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    shape: list[int]
    data: list[Value]

    @classmethod
    def of(cls, array: Array) -> Self:
        """Return the values of an output that `difference` compares."""
        return cls(shape=list(array.shape), data=[_kept(value) for value in array.flat[:KEPT]])

    def difference(self, answer: Array, *, allowed: float) -> str | None:
        """Return how an answer differs from this one by more than `allowed`, None if it does not.

        A difference is relative to the largest value; text and infinities must be equal. The values
        that differ most are shown.
        """
        if list(answer.shape) != self.shape:
            return f"expected shape {self.shape}, got {list(answer.shape)}"
        values = [_kept(value) for value in answer.flat[: len(self.data)]]
        different = f"expected {self.data}, got {values}"
        if any(isinstance(value, str) for value in (*self.data, *values)):
            return None if values == self.data else different
        expected, actual = np.array(self.data, np.float64), np.array(values, np.float64)
        finite = np.isfinite(expected)
        if not np.array_equal(expected[~finite], actual[~finite], equal_nan=True):
            return different
        expected, actual = expected[finite], actual[finite]
        differences = np.abs(actual - expected) / (np.abs(expected).max(initial=0) or 1.0)
        if differences.max(initial=0) <= allowed:
            return None
        worst = differences.argmax()
        return (
            f"expected {expected[worst]:.6g}, got {actual[worst]:.6g}; "
            f"allowed difference {100 * allowed:g} %"
        )


class Golden(BaseModel):
    """The file. `outputs` is empty until `tritonsm golden` has written it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    inputs: dict[str, Input]
    outputs: dict[str, ExpectedOutput] = {}
    max_relative_difference: float = Field(default=ALLOWED, ge=0)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file. Raises `NotDelivered` with everything that is wrong in it."""
        shown = _shown(path)
        try:
            content = path.read_bytes()
            json.loads(content)
            return cls.model_validate_json(content)
        except OSError as error:
            raise NotDelivered(f"{shown} cannot be read: {error.strerror}") from None
        except json.JSONDecodeError as error:
            raise NotDelivered(f"{shown}:{error.lineno}: not JSON: {error.msg}") from None
        except ValidationError as error:
            raise NotDelivered(cls._located(Path(shown), content, error)) from None
        except UnicodeDecodeError:
            raise NotDelivered(f"{shown}: is not UTF-8: save the file as UTF-8") from None

    @classmethod
    def _located(cls, path: Path, content: bytes, error: ValidationError) -> str:
        """Return what is wrong in a file with its lines, as far as YAML, too, can read it."""
        try:
            checked_yaml.parse(path, content, cls)
        except checked_yaml.InvalidFile as located:
            return str(located)
        return f"{path}: {error}"

    def arrays(self) -> dict[str, Array]:
        """Return the inputs as the client takes them."""
        return {name: tensor.array() for name, tensor in self.inputs.items()}

    def with_outputs(self, answer: dict[str, Array]) -> Self:
        """Return the file with the outputs of an answer."""
        outputs = {name: ExpectedOutput.of(array) for name, array in answer.items()}
        return self.model_copy(update={"outputs": outputs})

    def written(self) -> str:
        """Return JSON with a line a tensor."""
        content = self.model_dump()
        for kind in ("inputs", "outputs"):
            lines = [
                f"    {json.dumps(name)}: {json.dumps(tensor, ensure_ascii=False)}"
                for name, tensor in content[kind].items()
            ]
            content[kind] = "{\n" + ",\n".join(lines) + "\n  }"
        fields = [f'  "{name}": {value}' for name, value in content.items()]
        return "{\n" + ",\n".join(fields) + "\n}\n"

    def differences(self, answer: dict[str, Array]) -> list[str]:
        """Return what is wrong with an answer, one sentence an output."""
        sentences = []
        for name, output in self.outputs.items():
            if name not in answer:
                sentences.append(f"{name}: missing")
            elif text := output.difference(answer[name], allowed=self.max_relative_difference):
                sentences.append(f"{name}: {text}")
        return sentences


def read_all(models: Path) -> None:
    """Read every file below `models`. Raises `NotDelivered` for one that cannot be asked with."""
    for path in sorted(models.glob(f"*/{FILE}")):
        for name, tensor in Golden.read(path).inputs.items():
            try:
                tensor.array()
            except NotDelivered as error:
                raise NotDelivered(f"{_shown(path)}: {name}: {error}") from None


def path_of(models: Path, model: str) -> Path | None:
    """Return the file for a model of the catalog, None where nobody wrote one.

    The alternatives of a recipe (`resnet50-onnx`), and copies, are compared with their folder's.
    """
    while model:
        if (models / model / FILE).is_file():
            return models / model / FILE
        model = model.rpartition("-")[0]
    return None


def _shown(path: Path) -> str:
    """Return a file's path in its repository, whose clone may be elsewhere: models/x/tests/..."""
    return "/".join(path.parts[-4:])


def _kept(value: Any) -> Value:
    """Return one value as JSON has it, floats with as many digits as FP32 means."""
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    plain: Value = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and math.isfinite(plain):
        return float(f"{plain:.{DIGITS}g}")
    return plain
