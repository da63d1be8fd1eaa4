"""Invalid ensembles: `first` computes M from X, `second` computes Y from M."""

from tests.unit.model_build.checks.cases.bases import ENSEMBLE, PYTHON
from tests.unit.model_build.checks.cases.case import case

BOTH, FIRST, SECOND = (f"{name}/config.pbtxt" for name in ("both", "first", "second"))

# fmt: off
CASES = [
    # ensemble_settings
    case("ensemble without steps", PYTHON,
         {"twice/config.pbtxt": {'backend: "python"': 'platform: "ensemble"'},
          "twice/1/model.py": None},
         "twice/config.pbtxt: an ensemble needs ensemble_scheduling with at [ensemble_settings]",
         'twice/config.pbtxt:5:10: output "Y" is made by no step: map a step\'s [ensemble_maps]',
         'twice/config.pbtxt:4:9: input "X" is used by no step: map it to one, [ensemble_maps]'),
    case("ensemble with larger batches than a step", ENSEMBLE,
         {BOTH: {"input [": "max_batch_size: 8\ninput ["}, FIRST: {"# FIELDS": "max_batch_size: 4"},
          SECOND: {"# FIELDS": "max_batch_size: 8"}},
         'both/config.pbtxt:7:5: "first" takes batches up to 4, the [ensemble_settings]'),
    case("ensemble with six folders", ENSEMBLE,
         {f"{name}{suffix}": ENSEMBLE[f"first{suffix}"]
          for name in ("third", "fourth", "fifth") for suffix in ("/config.pbtxt", "/1/model.py")},
         ".: warning: 6 models are loaded and unloaded together [large_ensembles]"),
    # ensemble_maps: names
    case("misspelled model of a step", ENSEMBLE,
         {BOTH: {'model_name: "first"': 'model_name: "frist"'}},
         'both/config.pbtxt:6:5: step "frist" is not another model of this [ensemble_maps]'),
    case("step whose folder has no configuration", ENSEMBLE, {FIRST: None},
         "first/1/model.py: warning: has no config.pbtxt: write [left_out_files]",
         'both/config.pbtxt:6:5: step "first" is not another model of this archive: its folder '
         "has no config.pbtxt, which archives need: write one [ensemble_maps]"),
    case("misspelled input", ENSEMBLE, {BOTH: {'key: "A"': 'key: "a"'}},
         'both/config.pbtxt:8:5: "first" has no input "a": write one of A [ensemble_maps]',
         'both/config.pbtxt:5:3: step "first" gives no tensor for its input "A" [ensemble_maps]'),
    case("step whose model has no tensors", ENSEMBLE, {FIRST: 'backend: "python"'},
         "first/config.pbtxt: warning: declares no input: add input [ { name [tensor_lists]",
         "first/config.pbtxt: warning: declares no output: add output [ { name [tensor_lists]",
         'both/config.pbtxt:9:5: "first" has no output "B": it declares none: [ensemble_maps]',
         'both/config.pbtxt:8:5: "first" has no input "A": it declares none: [ensemble_maps]',
         'both/config.pbtxt:14:5: step "second" uses tensor "M" ... no step [ensemble_maps]'),
    # ensemble_maps: producers and consumers of tensors
    case("input from an unknown tensor", ENSEMBLE,
         {BOTH: {'key: "C" value: "M"': 'key: "C" value: "N"'}},
         'both/config.pbtxt:14:5: step "second" uses tensor "N" ... no step [ensemble_maps]',
         'both/config.pbtxt:9:5: tensor "M" is not used: remove it from the map [ensemble_maps]'),
    case("tensor of two steps", ENSEMBLE, {BOTH: {'key: "D" value: "Y"': 'key: "D" value: "M"'}},
         'both/config.pbtxt:15:5: tensor "M" is made by two steps: rename one [ensemble_maps]',
         'both/config.pbtxt:3:10: output "Y" is made by no step: map a step\'s [ensemble_maps]'),
    # ensemble_maps: types and dims
    case("input type other than that of the step", ENSEMBLE,
         {BOTH: {'"X" data_type: TYPE_STRING': '"X" data_type: TYPE_UINT8'}},
         'both/config.pbtxt:8:5: first: "A" is BYTES, but its tensor is UINT8 [ensemble_maps]'),
    case("output type other than that of the step", ENSEMBLE,
         {BOTH: {'"Y" data_type: TYPE_FP32': '"Y" data_type: TYPE_FP16'}},
         'both/config.pbtxt:3:10: the ensemble\'s output: "Y" is FP16, but its [ensemble_maps]'),
    case("sizes that the next step does not accept", ENSEMBLE, {FIRST: {"[ -1, 4 ]": "[ 5, 4 ]"}},
         'both/config.pbtxt:14:5: second: "C" has dims [3, 4], but gets [5, 4] [ensemble_maps]'),
    case("step with an absent version", ENSEMBLE,
         {BOTH: {'"first"\n    model_version: -1': '"first"\n    model_version: 3'}},
         "both/config.pbtxt:7:5: first has no version 3, but 1: write [step_versions]"),
]
# fmt: on
