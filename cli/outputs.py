"""The outputs of an invocation, as a table or as JSON."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from tritonclient.utils import np_to_triton_dtype

SHOWN_VALUES = 6
"""Number of values of an output in the table."""
SHOWN_CHARACTERS = 40
"""Number of characters of a text in the table."""

Array = npt.NDArray[Any]


def show(answer: Mapping[str, Array], seconds: Mapping[str, float], *, as_json: bool) -> None:
    """Print outputs by name, and the duration of each step."""
    if as_json:
        print(json.dumps(_as_json(answer, seconds), indent=2))
        return
    console = Console(highlight=False)
    outputs = Table("output", "datatype", "shape", "first values", box=None, pad_edge=False)
    for name, array in answer.items():
        outputs.add_row(
            escape(name),
            np_to_triton_dtype(array.dtype),
            str(list(array.shape)),
            _first_values(array),
        )
    console.print(outputs)
    times = "   ".join(f"{step} {_format_duration(value)}" for step, value in seconds.items())
    console.print(f"\n{escape(times)}", soft_wrap=True)


def _as_json(answer: Mapping[str, Array], seconds: Mapping[str, float]) -> dict[str, Any]:
    return {
        "outputs": {
            name: {
                "datatype": np_to_triton_dtype(array.dtype),
                "shape": list(array.shape),
                "data": [_python_value(value) for value in array.flat],
            }
            for name, array in answer.items()
        },
        "seconds": dict(seconds),
    }


def _first_values(array: Array) -> str:
    values = ", ".join(_shorten(_python_value(value)) for value in array.flat[:SHOWN_VALUES])
    return escape(values + (", ..." if array.size > SHOWN_VALUES else ""))


def _shorten(value: Any) -> str:
    if isinstance(value, str):
        return value if len(value) <= SHOWN_CHARACTERS else f"{value[:SHOWN_CHARACTERS]}..."
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _python_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    return value.item() if isinstance(value, np.generic) else value


def _format_duration(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"
