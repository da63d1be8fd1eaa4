"""200 archives on an instance with memory for about 20, called with Zipf's distribution.

Loading a model evicts the least recently called model. The alternative calls only the 20 most
popular models, which stay loaded.
"""

import json
from functools import partial

import numpy as np

from local_sagemaker.settings import MEMORY
from tools.bench.endpoint import boto3_call, measure_on_threads
from tools.bench.local_endpoint import echo_archive, host, local_sagemaker
from tools.bench.turns import Results, Turn

MODELS, LOADED, CALLERS = 200, 20, 8
MEMORY_MIB = 550
"""Triton takes 30 to 50 MiB, each model 16 to 25 MiB."""
TENSOR = {"name": "X", "shape": [1], "datatype": "UINT8", "data": [0]}
BODY = json.dumps({"inputs": [TENSOR]}).encode()


def run(results: Results) -> None:
    """Measure calls of all models and of the most popular models."""
    models = [f"model-{number:03}.tar.gz" for number in range(MODELS)]
    seconds = 3 if results.quick else 10
    with local_sagemaker(**{MEMORY: str(MEMORY_MIB)}):
        host(dict.fromkeys(models, echo_archive()))
        call = boto3_call(BODY, "application/json")

        def turn(number: int) -> Turn:
            if number == LOADED:
                for model in reversed(models[:LOADED]):
                    call(model)
            shares = 1 / np.arange(1, number + 1)
            sequence = np.random.default_rng(0).choice(
                models[:number], 100_000, p=shares / shares.sum()
            )
            order = iter(sequence.tolist())  # next() of a list's iterator is atomic
            return measure_on_threads(lambda: call(next(order)), callers=CALLERS, seconds=seconds)

        sides = {f"{number} models": partial(turn, number) for number in (MODELS, LOADED)}
        results.alternate(f"{CALLERS} callers", sides, 2)
