"""Calls a second of two models on the CPU, before and after `tritonsm tune`.

"Default" is what Triton does without settings: one instance, no batching. "Tuned" is what the
search of `tritonsm tune` makes of it, with 8 callers; then both are measured in turns, each in a
Triton of its own. MiniLM is the shipped ensemble: a tokenizer in Python, an encoder in ONNX, whose
stand-in runs PyPI's ONNX Runtime, and a pooling in Python. The forest is the model of `tritonsm new
model --kind python` with scikit-learn's random forest of 100 trees: a Python model uses one core.
"""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from cli import new_model, tune
from model_build import ModelSource
from tools.bench.turns import ROOT, Results, Turn

TURNS = 12
SECONDS = 6.0
DEFAULT = tune.Setting(instances=1, delay=None)
CLASSIFIER = "linear_model", "LogisticRegression", "LogisticRegression(max_iter=1000)"
FOREST = "ensemble", "RandomForestClassifier", "RandomForestClassifier(random_state=0)"


def run(results: Results) -> None:
    """Search the settings of each model, and measure them and the default in turns."""
    with TemporaryDirectory() as scratch:
        for folder in (ROOT / "models" / "minilm", _write_forest(Path(scratch))):
            options = argparse.Namespace(
                model=ModelSource(folder),
                input=None,
                callers=tune.CALLERS,
                seconds=0.5 if results.quick else SECONDS,
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


def _write_forest(models: Path) -> Path:
    folder = new_model.write("forest", "python", models=models)
    model = folder / "forest" / "1" / "model.py"
    text = model.read_text()
    for old, new in reversed([*zip(CLASSIFIER, FOREST, strict=True)]):
        text = text.replace(old, new)
    model.write_text(text)
    return folder


def _describe(settings: tune.Settings) -> str:
    changed = [f"{name} {each}" for name, each in settings.items() if each != DEFAULT]
    return "; ".join(changed) or "as by default"


def _measure(measure: Callable[[str], tune.MeasuredSettings]) -> Turn:
    measured = measure("in turns")
    return {"calls/s": measured.rate, "p95 ms": measured.p95_ms}
