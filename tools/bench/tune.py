"""Calls a second of two models on the CPU, before and after `tritonsm tune`.

"Default" is what Triton does without settings: one instance, no batching. "Tuned" is what the
search of `tritonsm tune` makes of it, with 8 callers; then both are measured in turns, each in a
Triton of its own. MiniLM is the shipped ensemble: a tokenizer in Python, an encoder in ONNX, whose
stand-in runs PyPI's ONNX Runtime, and a pooling in Python. "features" is a Python model that waits
20 ms for each batch, as one that queries a store of features does.
"""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from cli import tune
from model_build import ModelFolder
from tools.bench.turns import ROOT, Results, Turn

TURNS = 8
DEFAULT = tune.Setting(instances=1, delay=None)
MODELS = {
    ROOT / "models" / "minilm": [],
    Path(__file__).with_name("features"): ["USER=[[7]]"],
}
"""Folders -> the inputs of a call, where the model has no golden file."""


def run(results: Results) -> None:
    """Search the settings of each model, and measure them and the default in turns."""
    for folder, inputs in MODELS.items():
        options = argparse.Namespace(
            model=ModelFolder(folder).model(),
            input=inputs,
            callers=tune.CALLERS,
            seconds=0.5 if results.quick else tune.SECONDS,
            p95=None,
        )
        with tune.open_tuner(options) as tuner:
            default = dict.fromkeys(tuner.tunable, DEFAULT)
            best = tuner.search(default)
            with tuner.serve(best) as measure_best, tuner.serve(default) as measure_default:
                sides = {
                    f"tuned: {_describe(best)}": partial(_measure, measure_best),
                    "default": partial(_measure, measure_default),
                }
                results.alternate(folder.name, sides, TURNS)


def _describe(settings: tune.Settings) -> str:
    changed = [f"{name} {each}" for name, each in settings.items() if each != DEFAULT]
    return "; ".join(changed) or "as by default"


def _measure(measure: Callable[[str], tune.MeasuredSettings]) -> Turn:
    measured = measure("in turns")
    return {"calls/s": measured.rate, "p95 ms": measured.p95_ms}
