"""Invalid folders, files and names of models."""

from tests.unit.model_build.checks.cases.bases import ENSEMBLE, MODEL, ONNX, PYTHON, TORCHSCRIPT
from tests.unit.model_build.checks.cases.case import Link, case

CONFIG = "twice/config.pbtxt"

# fmt: off
CASES = [
    # archive_root
    case("config.pbtxt at the root of the archive", {},
         {"config.pbtxt": PYTHON[CONFIG], "1/model.py": MODEL},
         "config.pbtxt: config.pbtxt is at the root of the archive: move this [archive_root]",
         ".: the folder has no model: add a folder with a config.pbtxt [one_entry]"),
    case("models in a subfolder", {},
         {"models/twice/config.pbtxt": PYTHON[CONFIG], "models/twice/1/model.py": MODEL},
         "models/twice/config.pbtxt: the model is one folder too deep for [archive_root]",
         ".: the folder has no model: add a folder with a config.pbtxt [one_entry]"),
    # configurations
    case("model directories without config.pbtxt", PYTHON,
         {"other/1/model.onnx": "", "another/1/model.py": MODEL, "notes.txt": ""},
         "another/1/model.py: warning: has no config.pbtxt: write [left_out_files]",
         "other/1/model.onnx: warning: has no config.pbtxt: write it with [left_out_files]"),
    case("no config.pbtxt", {}, {"other/1/model.onnx": ""},
         "other/1/model.onnx: has no config.pbtxt: write it with `tritonsm new [configurations]"),
    # no_links
    case("symbolic link as model file", PYTHON,
         {"twice/1/model.py": Link("../shared.py"), "twice/shared.py": MODEL},
         "twice/1/model.py: the file is a symbolic link: replace the link with the [no_links]"),
    # one_entry
    case("two models without an ensemble", PYTHON,
         {"other/config.pbtxt": 'backend: "python"', "other/1/model.py": MODEL},
         ".: 2 models and no ensemble: an archive of several models needs exactly [one_entry]",
         "other/config.pbtxt: warning: declares no input: add input [ { name [tensor_lists]",
         "other/config.pbtxt: warning: declares no output: add output [ { name [tensor_lists]"),
    case("two ensembles", ENSEMBLE, {"again/config.pbtxt": ENSEMBLE['both/config.pbtxt']},
         ".: 4 models and 2 ensembles (again, both): an archive of several models [one_entry]"),
    # model_names
    case("name other than that of the directory", PYTHON,
         {CONFIG: {'name: "twice"': 'name: "double"'}},
         'twice/config.pbtxt:1:1: name is "double", the directory is twice: write [model_names]'),
    # known_backends
    case("backend of the file's name", PYTHON, {CONFIG: {'backend: "python"\n': ""}},
         "twice/config.pbtxt: warning: names no backend; Triton takes python [implied_backends]"),
    case("backend of NVIDIA's images", PYTHON,
         {CONFIG: {'backend: "python"': 'backend: "identity"'}},
         'twice/config.pbtxt:2:1: warning: "identity" is in images of [implied_backends]'),
    case("no backend", PYTHON,
         {CONFIG: {'backend: "python"\n': 'default_model_filename: "twice.py"\n'},
          "twice/1/twice.py": MODEL},
         'twice/config.pbtxt: the configuration names no backend: write one of [known_backends]'),
    case("misspelled backend", ONNX, {CONFIG: {'"onnxruntime"': '"onnx"'}},
         'twice/config.pbtxt:1:1: warning: "onnx" is not a backend of AWS\'s image: write one '
         "of ... give the endpoint an image that has it (docs/stages.md) [implied_backends]"),
    case("backend as platform", ONNX, {CONFIG: {"backend:": "platform:"}},
         'twice/config.pbtxt:1:1: "onnxruntime" is not a platform ... write [known_backends]'),
    case("platform of another backend", ONNX,
         {CONFIG: {"max_batch_size: 8": 'max_batch_size: 8 platform: "tensorrt_plan"'}},
         'twice/config.pbtxt:2:19: platform "tensorrt_plan" is not of backend [known_backends]'),
    case("ensemble as backend", ENSEMBLE, {"both/config.pbtxt": {"platform:": "backend:"}},
         ".: 3 models and no ensemble: an archive of several models needs exactly [one_entry]",
         'both/config.pbtxt:1:1: write platform: "ensemble" (SageMaker\'s [known_backends]'),
    case("ensemble without a platform", ENSEMBLE,
         {"both/config.pbtxt": {'platform: "ensemble"\n': ""}},
         ".: 3 models and no ensemble: an archive of several models needs exactly [one_entry]",
         'both/config.pbtxt:3:1: write platform: "ensemble" (SageMaker\'s [known_backends]'),
    # version_folders
    case("version folder with a name, without another version", PYTHON,
         {"twice/1/model.py": None, "twice/Version-3.1/model.py": MODEL},
         "twice/Version-3.1: warning: the folder's name is no version for [version_folders]",
         "twice: the model has no version: add a folder 1/ with model.py [version_files]"),
    case("version folder 0", PYTHON, {"twice/0/model.py": MODEL},
         "twice/0: warning: the folder's name is no version for Triton: [version_folders]"),
    # version_files
    case("empty version folder", PYTHON, {"twice/1/model.py": None, "twice/1/": ""},
         "twice/1: the folder is empty: add model.py [version_files]"),
    case("version 2 without a model file", PYTHON, {"twice/2/words.txt": ""},
         "twice/2/model.py: the file is missing: the python backend opens it [version_files]"),
    case("AOTInductor package without its platform", TORCHSCRIPT,
         {"twice/1/model.pt": None, "twice/1/model.pt2": ""},
         "twice/1/model.pt: the file is missing: the pytorch backend opens it, and model.pt2 with "
         'platform: "torch_aoti" [version_files]'),
    # label_files
    case("missing labels", PYTHON,
         {CONFIG: {'output [ { name: "Y" ': 'output [ { label_filename: "labels.txt" name: "Y" '}},
         "twice/config.pbtxt:5:12: twice/labels.txt is missing: add the file, or [label_files]"),
    # version_policies
    case("version policy with an absent version", PYTHON,
         {CONFIG: {"# FIELDS": "version_policy { specific { versions: [ 2 ] } }"}},
         "twice/config.pbtxt:6:1: names version 2, but the model has 1: [version_policies]"),
    case("version policy without versions", PYTHON,
         {CONFIG: {"# FIELDS": "version_policy { latest { num_versions: 0 } }"}},
         "twice/config.pbtxt:6:1: serves the latest 0 versions: write [version_policies]"),
    # execution_environments
    case("environment relative to Triton's folder", PYTHON,
         {CONFIG: {"# FIELDS": 'parameters { key: "EXECUTION_ENV_PATH" value { string_value: '
           '"env.tar.gz" } }'}, "twice/env.tar.gz": ""},
         'twice/config.pbtxt:6:1: EXECUTION_ENV_PATH "env.tar.gz" is [execution_environments]'),
    case("environment that the archive does not have", PYTHON,
         {CONFIG: {"# FIELDS": 'parameters { key: "EXECUTION_ENV_PATH" value { string_value: '
           '"$$TRITON_MODEL_DIRECTORY/env.tar.gz" } }'}},
         "twice/config.pbtxt:6:1: EXECUTION_ENV_PATH: twice/env.tar.gz [execution_environments]"),
    case("environment of the image", PYTHON,
         {CONFIG: {"# FIELDS": 'parameters { key: "EXECUTION_ENV_PATH" value { string_value: '
           '"/opt/env.tar.gz" } }'}},
         "twice/config.pbtxt:6:1: warning: EXECUTION_ENV_PATH [foreign_environments]"),
]
# fmt: on
