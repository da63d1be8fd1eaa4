"""The mix of models that a load test invokes."""

import argparse
from collections.abc import Sequence
from typing import NamedTuple, Self

from cli.load import cache

EXAMPLE = "local-text/minilm"


class ModelTarget(NamedTuple):
    """A model of an endpoint; `endpoint` includes the stage's name."""

    endpoint: str
    model: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the target of ENDPOINT/MODEL. Raise `argparse.ArgumentTypeError`."""
        endpoint, _, model = text.partition("/")
        if not endpoint or not model:
            message = f"{text!r} is not a model of an endpoint: write {EXAMPLE}"
            raise argparse.ArgumentTypeError(message)
        return cls(endpoint, model)


Mix = dict[ModelTarget, float]
"""Model -> its share of the requests; the sum is 1."""


def zipf(targets: Sequence[ModelTarget], exponent: float) -> Mix:
    """Return shares in proportion to rank ** -exponent; 0 is equal shares."""
    return dict(zip(targets, cache.zipf(len(targets), exponent).tolist(), strict=True))
