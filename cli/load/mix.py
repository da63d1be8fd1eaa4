"""The mix of models that a load test invokes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StringConstraints

from cli.load import cache
from platform_facts.rules import checked_yaml

EXAMPLE = "local-text/minilm"
TARGET_PATTERN = r"^[^/]+/[^/]+$"


class ModelTarget(NamedTuple):
    """A model of an endpoint; `endpoint` includes the stage's name."""

    endpoint: str
    model: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the target of ENDPOINT/MODEL. Raise `ValueError`."""
        endpoint, _, model = text.partition("/")
        if not endpoint or not model:
            raise ValueError(f"{text!r} is not a model of an endpoint: write {EXAMPLE}")
        return cls(endpoint, model)


Mix = dict[ModelTarget, float]
"""Model -> its share of the requests; the sum is 1."""


class _MixFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    weights: Annotated[
        dict[
            Annotated[str, StringConstraints(pattern=TARGET_PATTERN)],
            Annotated[FiniteFloat, Field(gt=0)],
        ],
        Field(min_length=1),
    ]


def zipf(names: Sequence[str], exponent: float) -> Mix:
    """Return shares in proportion to rank ** -exponent; 0 is equal shares. Raise `ValueError`."""
    return _shares(dict(zip(names, cache.zipf(len(names), exponent).tolist(), strict=True)))


def read(path: Path) -> Mix:
    """Return the shares of a YAML or JSON file: `weights:`, then ENDPOINT/MODEL to a number.

    Raise `checked_yaml.InvalidFile`, and `OSError` for a file that cannot be read.
    """
    return _shares(checked_yaml.load(path, _MixFile).weights)


def _shares(weights: Mapping[str, float]) -> Mix:
    total = sum(weights.values())
    return {ModelTarget.parse(name): weight / total for name, weight in weights.items()}
