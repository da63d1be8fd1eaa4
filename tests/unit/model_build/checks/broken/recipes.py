"""Recipes that ask for what the folder does not have."""

from tests.unit.model_build.checks.broken.bases import MODEL, PACKING, RECIPE
from tests.unit.model_build.checks.broken.case import Case, Change

YAML = "recipe.yaml"
ONNX_STEP = """\
    to: onnx
    source: export.py:twice
    opset: 18
    gate: { max_absolute_difference: 0.1 }
"""
SHA256 = "a" * 64


def _engine(profile: str) -> str:
    """The ONNX step as one that compiles an engine with one optimization profile."""
    return ONNX_STEP.replace("to: onnx", "to: tensorrt") + (
        "    engine:\n"
        "      precision: fp16\n"
        f"      profiles: [ {profile} ]\n"
        "      gate: { max_absolute_difference: 0.1 }\n"
    )


def _compiled(profile: str) -> dict[str, Change]:
    return {
        YAML: {"twice/1/model.onnx:\n" + ONNX_STEP: "twice/1/model.plan:\n" + _engine(profile)},
        "twice/config.pbtxt": {'"onnxruntime"': '"tensorrt"'},
    }


CASES = [
    # recipe_meets_files
    Case(
        "a recipe's file goes into a folder that is no model's",
        RECIPE,
        {YAML: {"twice/1/model.onnx": "double/1/model.onnx"}},
        [
            "recipe.yaml:3: double/1/model.onnx: double is not a model directory; there are: "
            "twice [recipe_meets_files]",
        ],
    ),
    Case(
        "a recipe's file is for another backend than the configuration's",
        RECIPE,
        {"twice/config.pbtxt": {'"onnxruntime"': '"python"'}},
        [
            "recipe.yaml:3: twice/1/model.onnx: `to: onnx` makes a file for the onnxruntime "
            "backend, twice/config.pbtxt names python [recipe_meets_files]",
        ],
    ),
    Case(
        "a recipe's code is not there",
        RECIPE,
        {"export.py": None},
        [
            "recipe.yaml:3: twice/1/model.onnx: source export.py does not exist: add it "
            "beside the recipe, or write another path [recipe_meets_files]",
            "recipe.yaml:10: twice/1/model.pt: source export.py does not exist: add it beside "
            "the recipe, or write another path [recipe_meets_files]",
        ],
    ),
    Case(
        "a recipe copies a file that is not there",
        RECIPE,
        {YAML: {ONNX_STEP: "    to: copy\n    weights: twice.onnx\n"}},
        [
            "recipe.yaml:3: twice/1/model.onnx: weights twice.onnx does not exist: add it "
            "beside the recipe, or write another path [recipe_meets_files]",
        ],
    ),
    Case(
        "a recipe copies none of its weights",
        RECIPE,
        {
            YAML: {
                "files:\n": f"weights: {{ from: folder, path: ., files: {{ a.onnx: {SHA256} }} }}\n"
                "files:\n",
                ONNX_STEP: "    to: copy\n    weights: twice.onnx\n",
            }
        },
        [
            "recipe.yaml:4: twice/1/model.onnx: twice.onnx is none of the recipe's weights: "
            "write one of a.onnx [recipe_meets_files]",
        ],
    ),
    Case(
        "a Python model beside a recipe imports what the recipe does not install",
        PACKING,
        {"second/1/model.py": "import sklearn\n" + MODEL},
        [
            "second/1/model.py:1:1: imports sklearn, which neither Python's standard library, nor "
            "numpy, nor this model directory has: add it with a `python-packages` step in "
            "recipe.yaml (docs/models.md), or catch ImportError [recipe_imports]",
        ],
    ),
    Case(
        "a Python model imports a package that the requirements do not name",
        PACKING,
        {"first/1/model.py": "import bs4, tokenizers, torch\n" + MODEL},
        [
            "first/1/model.py:1:1: imports torch, which neither Python's standard library, nor "
            "numpy, nor this model directory has: add it with a `python-packages` step in "
            "recipe.yaml (docs/models.md), or catch ImportError [recipe_imports]",
        ],
    ),
    Case(
        "a recipe's packages lie where nobody looks for them",
        RECIPE,
        {
            YAML: {
                "files:\n": "files:\n  twice/1/packages:\n    to: python-packages\n"
                "    requirements: requirements.txt\n"
            },
            "requirements.txt": "",
            "twice/1/__init__.py": "",
        },
        [
            "recipe.yaml:3: twice/1/packages: packages are found in twice/1/site-packages: write "
            "that [recipe_meets_files]",
            "recipe.yaml:3: twice/1/packages: twice/1/__init__.py is written by the build: "
            "move its code to model.py [recipe_meets_files]",
        ],
    ),
    Case(
        "a recipe's packages are listed nowhere",
        RECIPE,
        {
            YAML: {
                "files:\n": "files:\n  twice/1/site-packages:\n    to: python-packages\n"
                "    requirements: requirements.txt\n"
            }
        },
        [
            "recipe.yaml:3: twice/1/site-packages: requirements requirements.txt does not exist: "
            "add it beside the recipe, or write another path [recipe_meets_files]",
        ],
    ),
    Case(
        "a recipe's environment is listed nowhere",
        RECIPE,
        {
            YAML: {
                "    to: onnx\n": "    to: tensorflow-onnx\n    environment: packages.txt\n",
            }
        },
        [
            "recipe.yaml:3: twice/1/model.onnx: environment packages.txt does not exist: add "
            "it beside the recipe, or write another path [recipe_meets_files]",
        ],
    ),
    Case(
        "an alternative's code is not there",
        RECIPE,
        {YAML: {"torchscript\n      source: export.py": "torchscript\n      source: torch.py"}},
        [
            "recipe.yaml:10: twice/1/model.pt: source torch.py does not exist: add it beside "
            "the recipe, or write another path [recipe_meets_files]",
        ],
    ),
    Case(
        "what people wrote beside a recipe is wrong, whatever it makes",
        RECIPE,
        {"twice/config.pbtxt": {"max_batch_size: 8": "max_batch_size: -8"}},
        [
            "twice/config.pbtxt:2:1: is -8: write the largest batch, or 0 for a model that "
            "does not batch [batch_sizes]",
        ],
    ),
    Case(
        "a recipe's packages have no hashes",
        RECIPE,
        {
            "pins.txt": "--only-binary :all:\nnumpy==1.26.4 \\\n  --hash=sha256:00\n\n"
            "torch==2.4.1  # none\nsix==1.17.0 \\\n\nidna==3.10\n"
        },
        [
            f"pins.txt:{line}: {package}: has no hash, by which a build knows what it runs: add "
            "hashes with `uv pip compile --no-deps --generate-hashes pins.txt -o pins.txt` "
            "[hashed_packages]"
            for line, package in ((5, "torch==2.4.1"), (6, "six==1.17.0"), (8, "idna==3.10"))
        ],
    ),
    # engine_profiles
    Case(
        "a profile has not the model's inputs",
        RECIPE,
        _compiled("{ Z: { min: [1, 2], opt: [4, 2], max: [8, 2] } }"),
        [
            "recipe.yaml:10: twice/1/model.plan: a profile has Z: write the inputs x "
            "[recipe_meets_files]",
        ],
    ),
    Case(
        "a profile has other dims than the configuration",
        RECIPE,
        _compiled("{ x: { min: [1, 2], opt: [4, 2], max: [8, 3] } }"),
        [
            'recipe.yaml:10: twice/1/model.plan: profile shape [8, 3] of "x" does not fit '
            "[-1, 2] [recipe_meets_files]",
        ],
    ),
    Case(
        "no profile takes the batches that clients may send",
        RECIPE,
        _compiled("{ x: { min: [2, 2], opt: [4, 2], max: [4, 2] } }"),
        [
            "recipe.yaml:10: twice/1/model.plan: no profile takes a batch of 8, the largest "
            "that clients may send [recipe_meets_files]",
            "recipe.yaml:10: twice/1/model.plan: no profile takes a batch of 1, the smallest "
            "that clients may send [recipe_meets_files]",
        ],
    ),
]
