import subprocess
import sys
import types
from pathlib import Path

import model_build


def test_all_lists_every_public_name() -> None:
    public = {
        name
        for name, value in vars(model_build).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert sorted(model_build.__all__) == sorted(public)


def test_plan_model_imports_no_framework_and_no_aws_sdk() -> None:
    program = (
        "import sys; from model_build import plan_model; "
        "heavy = {'torch', 'transformers', 'onnx', 'onnxruntime', 'boto3', 'aws_cdk'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    root = Path(model_build.__file__).parents[1]
    process = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == "[]"
