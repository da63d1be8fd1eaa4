"""Folders and files in wrong places, and models that cannot be told apart."""

from tests.unit.model_build.checks.broken.bases import (
    ENSEMBLE,
    MODEL,
    ONNX,
    PYTHON,
    TENSORRT,
)
from tests.unit.model_build.checks.broken.case import Case, Link

CONFIG = "twice/config.pbtxt"
OFFERED = (
    'write one of backend: "dali", backend: "fil", backend: "onnxruntime", backend: "openvino", '
    'backend: "python", backend: "pytorch", backend: "tensorflow", backend: "tensorrt"'
)
"""The backends of `model_build/formats`, as a finding offers them: a new format is added here."""

CASES = [
    # archive_root
    Case(
        "config.pbtxt lies at the archive's root, and there is no model",
        {},
        {"config.pbtxt": PYTHON[CONFIG], "1/model.py": MODEL},
        [
            "config.pbtxt: lies at the root of the archive: move it and its version folders "
            "into a folder of the model's name [archive_root]",
            ".: has no model: add a folder with a config.pbtxt [one_entry]",
        ],
    ),
    Case(
        "config.pbtxt lies at the archive's root, beside a model",
        PYTHON,
        {"config.pbtxt": 'backend: "python"'},
        [
            "config.pbtxt: lies at the root of the archive: move it and its version folders "
            "into a folder of the model's name [archive_root]",
        ],
    ),
    Case(
        "the models lie in a folder of their own",
        {},
        {"models/twice/config.pbtxt": PYTHON[CONFIG], "models/twice/1/model.py": MODEL},
        [
            "models/twice/config.pbtxt: is one folder too deep for Triton: move twice/ up, "
            "out of models/ [archive_root]",
            ".: has no model: add a folder with a config.pbtxt [one_entry]",
        ],
    ),
    # no_links
    Case(
        "a model file is a link to another",
        PYTHON,
        {"twice/1/model.py": Link("../shared.py"), "twice/shared.py": MODEL},
        [
            "twice/1/model.py: is a symbolic link: put the file itself there [no_links]",
        ],
    ),
    # one_entry
    Case(
        "there is no model",
        {},
        {"README.md": "To be done"},
        [
            ".: has no model: add a folder with a config.pbtxt [one_entry]",
        ],
    ),
    Case(
        "two models, and nothing says which is served",
        PYTHON,
        {"other/config.pbtxt": 'backend: "python"', "other/1/model.py": MODEL},
        [
            ".: 2 models and no ensemble: an archive of several models needs exactly one with "
            'platform: "ensemble", which is the one served [one_entry]',
            "other/config.pbtxt: declares no input: add input [ { name data_type dims } ] "
            "[tensor_declarations]",
            "other/config.pbtxt: declares no output: add output [ { name data_type dims } ] "
            "[tensor_declarations]",
        ],
    ),
    Case(
        "two ensembles, and nothing says which is served",
        ENSEMBLE,
        {"again/config.pbtxt": ENSEMBLE["both/config.pbtxt"]},
        [
            ".: 4 models and 2 ensembles (again, both): an archive of several models needs "
            'exactly one with platform: "ensemble", which is the one served [one_entry]',
        ],
    ),
    # model_names
    Case(
        "the name is another than the folder's",
        PYTHON,
        {CONFIG: {'name: "twice"': 'name: "double"'}},
        [
            'twice/config.pbtxt:1:1: name is "double", the directory is twice: write name: '
            '"twice" [model_names]',
        ],
    ),
    # known_backends
    Case(
        "no backend is named",
        PYTHON,
        {CONFIG: {'backend: "python"\n': ""}},
        [
            f"twice/config.pbtxt: names no backend: {OFFERED} [known_backends]",
        ],
    ),
    Case(
        "the backend is misspelt",
        ONNX,
        {CONFIG: {'"onnxruntime"': '"onnx"'}},
        [
            'twice/config.pbtxt:1:1: "onnx" is not a backend that SageMaker\'s Triton has: '
            f"{OFFERED} [known_backends]",
        ],
    ),
    Case(
        "the backend stands where the platform belongs",
        ONNX,
        {CONFIG: {"backend:": "platform:"}},
        [
            'twice/config.pbtxt:1:1: "onnxruntime" is not a platform of Triton: remove it and '
            f"{OFFERED} [known_backends]",
        ],
    ),
    Case(
        "the platform is of another backend",
        ONNX,
        {CONFIG: {"max_batch_size: 8": 'max_batch_size: 8 platform: "tensorrt_plan"'}},
        [
            'twice/config.pbtxt:2:19: platform "tensorrt_plan" is not of backend '
            '"onnxruntime": remove platform [known_backends]',
        ],
    ),
    Case(
        "an ensemble is called a backend",
        ENSEMBLE,
        {"both/config.pbtxt": {"platform:": "backend:"}},
        [
            ".: 3 models and no ensemble: an archive of several models needs exactly one with "
            'platform: "ensemble", which is the one served [one_entry]',
            'both/config.pbtxt:1:1: write platform: "ensemble" (SageMaker\'s front end looks '
            "for exactly that and does not see other spellings) [known_backends]",
        ],
    ),
    Case(
        "an ensemble does not say that it is one",
        ENSEMBLE,
        {"both/config.pbtxt": {'platform: "ensemble"\n': ""}},
        [
            ".: 3 models and no ensemble: an archive of several models needs exactly one with "
            'platform: "ensemble", which is the one served [one_entry]',
            'both/config.pbtxt:3:1: write platform: "ensemble" (SageMaker\'s front end looks '
            "for exactly that and does not see other spellings) [known_backends]",
        ],
    ),
    # version_folders
    Case(
        "a version folder has a v",
        PYTHON,
        {"twice/v2/model.py": MODEL},
        [
            "twice/v2: is not a version for Triton: call the folder 2 [version_folders]",
        ],
    ),
    Case(
        "a version folder has a leading zero",
        PYTHON,
        {"twice/02/model.py": MODEL},
        [
            "twice/02: is not a version for Triton: call the folder 2 [version_folders]",
        ],
    ),
    Case(
        "a version folder is spelt out, and is the only one",
        PYTHON,
        {"twice/1/model.py": None, "twice/Version-3.1/model.py": MODEL},
        [
            "twice/Version-3.1: is not a version for Triton: call the folder 3 [version_folders]",
            "twice: has no version: add a folder 1/ with model.py [version_files]",
        ],
    ),
    Case(
        "a version folder is called 0",
        PYTHON,
        {"twice/0/model.py": MODEL},
        [
            "twice/0: is not a version for Triton: call the folder 1 [version_folders]",
        ],
    ),
    # version_files
    Case(
        "there is no version",
        PYTHON,
        {"twice/1/model.py": None, "twice/model.py": MODEL},
        [
            "twice: has no version: add a folder 1/ with model.py [version_files]",
        ],
    ),
    Case(
        "a folder that neither git nor a deploy keeps is no version",
        PYTHON,
        {"twice/1/model.py": None, "twice/1/": ""},
        [
            "twice/1: is empty: put model.py there [version_files]",
        ],
    ),
    Case(
        "the second version has no model file",
        PYTHON,
        {"twice/2/words.txt": ""},
        [
            "twice/2/model.py: is missing: the python backend opens it [version_files]",
        ],
    ),
    Case(
        "the model file is called as no backend expects",
        TENSORRT,
        {"twice/1/model.plan": None, "twice/1/twice.plan": ""},
        [
            "twice/1/model.plan: is missing: the tensorrt backend opens it [version_files]",
        ],
    ),
    Case(
        "the file that the configuration names is not there",
        PYTHON,
        {CONFIG: {"# more": 'default_model_filename: "twice.py"'}},
        [
            "twice/1/twice.py: is missing: the python backend opens it [version_files]",
        ],
    ),
]
