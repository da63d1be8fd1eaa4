"""Recipes that do not match the files of their folder."""

from tests.unit.model_build.checks.cases.bases import MODEL, PACKAGES, PYTHON, RECIPE
from tests.unit.model_build.checks.cases.case import Change, case

RECIPE_FILE = "recipe.yaml"
ONNX_STEP = """\
    to: onnx
    source: export.py:twice
    opset: 18
    gate: { max_absolute_difference: 0.1 }
"""
SHA256 = "a" * 64


def _tensorrt_step(profile: str) -> str:
    """Return a TensorRT step with one optimization profile."""
    return ONNX_STEP.replace("to: onnx", "to: tensorrt") + (
        "    engine:\n"
        "      precision: fp16\n"
        f"      profiles: [ {profile} ]\n"
        "      gate: { max_absolute_difference: 0.1 }\n"
    )


def _tensorrt_changes(profile: str) -> dict[str, Change]:
    return {
        RECIPE_FILE: {
            "twice/1/model.onnx:\n" + ONNX_STEP: "twice/1/model.plan:\n" + _tensorrt_step(profile)
        },
        "twice/config.pbtxt": {'"onnxruntime"': '"tensorrt"'},
    }


# fmt: off
CASES = [
    # recipe_matches_files
    case("file in a folder without a model", RECIPE,
         {RECIPE_FILE: {"twice/1/model.onnx": "double/1/model.onnx"}},
         "recipe.yaml:3: ... double is not a model directory; ... twice [recipe_matches_files]"),
    case("file for another backend", RECIPE, {"twice/config.pbtxt": {'"onnxruntime"': '"python"'}},
         "recipe.yaml:3: twice/1/model.onnx: ... the onnxruntime backend [recipe_matches_files]"),
    case("missing source", RECIPE, {"export.py": None},
         "recipe.yaml:3: twice/1/model.onnx: source export.py does not exist: [recipe_sources]",
         "recipe.yaml:10: twice/1/model.pt: source export.py does not exist: [recipe_sources]"),
    case("missing file to copy", RECIPE,
         {RECIPE_FILE: {ONNX_STEP: "    to: copy\n    weights: twice.onnx\n"}},
         "recipe.yaml:3: ... weights twice.onnx does not exist [recipe_sources]"),
    case("copied file that is not in the weights", RECIPE,
         {RECIPE_FILE: {"files:\n": "weights:\n  from: folder\n  path: .\n"
                                 f"  files: {{ a.onnx: {SHA256} }}\nfiles:\n",
           ONNX_STEP: "    to: copy\n    weights: twice.onnx\n"}},
         "recipe.yaml:7: ... twice.onnx is not one of the recipe's weights [recipe_sources]"),
    case("import that the requirements do not have", PACKAGES,
         {"first/1/model.py": "import bs4, tokenizers, torch\n" + MODEL},
         "first/1/model.py:1:1: imports torch ... --to first --add torch` [recipe_imports]"),
    case("AOTInductor package with another platform", RECIPE,
         {RECIPE_FILE: {"1/model.pt:": "1/model.pt2:", "torchscript": "torch-aoti"}},
         'recipe.yaml:11: ... write platform: "torch_aoti" in [recipe_matches_files]'),
    case("packages outside site-packages", RECIPE,
         {RECIPE_FILE: {"files:\n": "files:\n  twice/1/packages:\n    to: python-packages\n    "
           "requirements: requirements.txt\n"}, "requirements.txt": "", "twice/1/__init__.py": ""},
         "recipe.yaml:3: ... packages are found in twice/1/site-packages [recipe_matches_files]",
         "recipe.yaml:3: ... twice/1/__init__.py is written by the build [recipe_matches_files]"),
    case("missing requirements file", RECIPE,
         {RECIPE_FILE: {"files:\n": "files:\n  twice/1/site-packages:\n    to: python-packages\n"
                                 "    requirements: requirements.txt\n"}},
         "recipe.yaml:3: ... requirements requirements.txt does not exist [recipe_sources]"),
    case("packages without hashes", RECIPE,
         {"pins.txt": "--only-binary :all:\nnumpy==1.26.4 \\\n  --hash=sha256:00\n\n"
          "torch==2.4.1  # none\nsix==1.17.0 \\\n\nidna==3.10\n"},
         "pins.txt:5: torch==2.4.1: has no hash, so its content can change: [hashed_packages]",
         "pins.txt:6: six==1.17.0: has no hash, so its content can change: [hashed_packages]",
         "pins.txt:8: idna==3.10: has no hash, so its content can change: add [hashed_packages]"),
    case("data of rows beside the recipe", PYTHON,
         {RECIPE_FILE: "description: x\nfor_each: rows.csv\nfiles:\n"
          '  twice/1/a.json: { to: copy, weights: "{name}.json" }\n'
          '  twice/1/b.json: { to: copy, weights: "data/{name}.json" }\n',
          "rows.csv": "name\nlyon\n", "lyon.json": "1", "data/lyon.json": "1"},
         "recipe.yaml:4: ... data of rows is beside the recipe [row_data_in_folders]"),
    # engine_lengths
    case("longer texts than an engine takes", RECIPE,
         {**_tensorrt_changes("{ x: { min: [1, 1], opt: [4, 2], max: [8, 4] } }"),
          "twice/config.pbtxt": {
              '"onnxruntime"': '"tensorrt"', '"x" data_type: TYPE_FP32 dims: [ 2': '"x" data_type: '
              "TYPE_FP32 dims: [ -1",
              "# FIELDS": 'parameters { key: "max_seq_len" value { string_value: "8" } }'}},
         "twice/config.pbtxt:5:1: warning: max_seq_len is 8, and the engine of this archive takes "
         "lengths up to 4: [engine_lengths]"),
    # engine_batches
    case("preferred batch for which no engine is tuned", RECIPE,
         {**_tensorrt_changes("{ x: { min: [1, 2], opt: [4, 2], max: [8, 2] } }"),
          "twice/config.pbtxt": {'"onnxruntime"': '"tensorrt"',
            "# FIELDS": "dynamic_batching { preferred_batch_size: [ 4, 8 ] }"}},
         "twice/config.pbtxt:5:47: warning: preferred batch size 8: the engine of "
         "twice/1/model.plan is tuned for batches of 4: [engine_batches]"),
    # engine_profiles
    case("profile with other inputs", RECIPE,
         _tensorrt_changes("{ Z: { min: [1, 2], opt: [4, 2], max: [8, 2] } }"),
         "recipe.yaml:10: twice/1/model.plan: a profile has Z: write the [recipe_matches_files]"),
    case("profile with other dims", RECIPE,
         _tensorrt_changes("{ x: { min: [1, 2], opt: [4, 2], max: [8, 3] } }"),
         "recipe.yaml:10: ... profile shape [8, 3] of ... not fit [-1, 2] [recipe_matches_files]"),
    case("profiles without the smallest and largest batch", RECIPE,
         _tensorrt_changes("{ x: { min: [2, 2], opt: [4, 2], max: [4, 2] } }"),
         "recipe.yaml:10: ... no profile takes a batch of 8 [recipe_matches_files]",
         "recipe.yaml:10: ... no profile takes a batch of 1 [recipe_matches_files]"),
]
# fmt: on
