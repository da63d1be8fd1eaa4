import sys
from pathlib import Path

import model_build
from tests.processes import run_program


def test_plan_model_imports_no_framework_and_no_aws_sdk() -> None:
    program = (
        "import sys; from model_build import plan_model; "
        "heavy = {'torch', 'transformers', 'onnx', 'onnxruntime', 'boto3', 'aws_cdk'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    root = Path(model_build.__file__).parents[1]
    process = run_program(sys.executable, "-c", program, cwd=root)
    assert process.stdout.strip() == "[]"
