"""Request rates that `tritonsm size` measured."""

from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ValidationError

LAPTOP = "laptop"
FOLDER = Path("tests", "sizing")
"""Folder of results below the model's folder; files in `tests` do not change the model's digest
(model_build/digest.py)."""


class Measurement(BaseModel):
    """A stored result of `tritonsm size`; `measured_on` is an instance type or `laptop`."""

    model: str
    version: str
    date: str
    measured_on: str
    max_rps: float
    latency_ms: dict[str, float]


def measurements(models: Path, model: str) -> list[Measurement]:
    """Return the measurements of a model on instance types, newest first.

    Files that are invalid, or measured on a laptop, are left out. The files of an alternative are
    in the folder of its recipe, which has another name: so the folders of all models are read.
    """
    results = []
    for path in models.glob(f"*/{FOLDER}/*.json"):
        with suppress(OSError, ValidationError):
            results.append(Measurement.model_validate_json(path.read_bytes()))
    model_results = [
        result for result in results if result.model == model and result.measured_on != LAPTOP
    ]
    return sorted(model_results, key=lambda result: result.date, reverse=True)
