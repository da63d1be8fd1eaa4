"""Python models import what is there, as far as it can be told before packages are installed."""

import re
from collections.abc import Iterator

from model_build.checks.python_imports import unmet_imports
from model_build.findings import Place
from model_build.recipe import PythonPackages
from model_build.repository import Repository
from model_build.source import ModelSource

_PACKAGES = {
    **{
        module: re.compile(rf"{module}([-_.].*)?", re.IGNORECASE)
        for module in (
            *("catboost", "lightgbm", "numba", "onnxruntime", "pandas", "polars", "requests"),
            *("safetensors", "scipy", "sentencepiece", "tensorflow", "tiktoken", "tokenizers"),
            *("torch", "torchvision", "transformers", "xgboost"),
        )
    },
    "PIL": re.compile("pillow(-simd)?", re.IGNORECASE),
    "cv2": re.compile("opencv-.*", re.IGNORECASE),
    "sklearn": re.compile("scikit-learn", re.IGNORECASE),
    "yaml": re.compile("pyyaml", re.IGNORECASE),
}
"""Module -> the packages on PyPI that have it, such as tensorflow-cpu. Other modules may be in any
package: a build, which has installed them, finds those that are missing."""


def recipe_imports(source: ModelSource, repository: Repository) -> Iterator[tuple[Place, str]]:
    """As `python_imports`; with a step that packs packages, of modules whose package is known."""
    packed: dict[str, set[str]] = {}
    for _, file, step in source.steps():
        if isinstance(step, PythonPackages):
            requirements = source.folder / step.requirements
            if requirements.is_file():
                text = requirements.read_text(encoding="utf-8")
                names = set(re.findall(r"^([A-Za-z0-9][\w.-]*)", text, re.M))
                packed.setdefault(file.partition("/")[0], set()).update(names)
    for name, model in repository.models.items():
        for imported, place, message in unmet_imports(model):
            packages = _PACKAGES.get(imported.module)
            may_be_packed = name in packed and (
                packages is None or any(map(packages.fullmatch, packed[name]))
            )
            if not may_be_packed:
                yield place, message
