"""Tests of a tree with a minimal app."""

from pathlib import Path

import pytest

from release.checkout import Checkout, CheckoutError, NotSynthesised
from release.templates import templates

APP = """
import json, os, pathlib
import triton_sagemaker
template = {
    "context": json.loads(os.environ["CDK_CONTEXT_JSON"]), "from": triton_sagemaker.__file__
}
path = pathlib.Path(os.environ["CDK_OUTDIR"], "prod-text.template.json")
path.write_text(json.dumps(template))
"""


@pytest.fixture
def tree(tmp_path: Path) -> Checkout:
    (tmp_path / "stages").mkdir()
    for name in ("prod", "dev"):
        (tmp_path / "stages" / f"{name}.yaml").write_text("region: us-east-1\n")
    (tmp_path / "cdk.json").write_text('{"context": {"flag": true}}')
    (tmp_path / "constructs" / "triton_sagemaker").mkdir(parents=True)
    (tmp_path / "constructs" / "triton_sagemaker" / "__init__.py").touch()
    return Checkout(tmp_path)


def test_unknown_stage_is_an_error_with_a_suggestion(tree: Checkout) -> None:
    with pytest.raises(CheckoutError) as error:
        tree.stage("pord")
    assert str(error.value) == (
        "no stage 'pord': did you mean prod? stages are dev, prod (one YAML file each in stages/)"
    )


def test_app_runs_without_credentials(
    tree: Checkout, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = """
import json, os, pathlib, boto3
credentials = boto3.Session().get_credentials()
result = {"credentials": credentials is not None, "environment": dict(os.environ)}
pathlib.Path(os.environ["CDK_OUTDIR"], "a.template.json").write_text(json.dumps(result))
"""
    (tree.root / "app.py").write_text(app)
    home = tmp_path_factory.mktemp("home")
    (home / ".aws").mkdir()
    (home / ".aws" / "credentials").write_text(
        "[default]\naws_access_key_id = AKIA\naws_secret_access_key = secret\n"
    )
    monkeypatch.setenv("HOME", str(home))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "GH_TOKEN"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("TRITON_PYTHON", "3.11")
    assembly = tmp_path_factory.mktemp("out")
    tree.synthesise("prod", to=assembly)
    result = templates(assembly)["a"]
    assert not result["credentials"]
    assert "secret" not in result["environment"].values()
    assert result["environment"]["TRITON_PYTHON"] == "3.11"


def test_app_runs_with_its_own_packages_and_the_cli_context(
    tree: Checkout, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (tree.root / "app.py").write_text(APP)
    assembly = tmp_path_factory.mktemp("out")
    tree.synthesise("prod", to=assembly)
    assert templates(assembly) == {
        "prod-text": {
            "context": {
                "flag": True,
                "aws:cdk:enable-asset-metadata": True,
                "aws:cdk:enable-path-metadata": True,
                "stage": "prod",
            },
            "from": str(tree.root / "constructs" / "triton_sagemaker" / "__init__.py"),
        }
    }
    assert not list(tree.root.rglob("__pycache__"))


@pytest.mark.parametrize(
    ("app", "reason"),
    [
        ("import sys; sys.exit('error: stages/prod.yaml:3\\n  no models')",
         "stages/prod.yaml:3\n  no models"),
        ("{}['name']", "KeyError: 'name'"),
        ("import sys\nprint('ERROR no flow log', file=sys.stderr)\nraise OSError('a\\n  b')",
         "ERROR no flow log\nOSError: a\n  b"),
        ("import sys; sys.exit(4)", "exit code 4"),
    ],
    ids=["own error", "traceback", "finding and traceback", "no output"],
)  # fmt: skip
def test_error_of_the_app_is_shown_without_traceback(tree: Checkout, app: str, reason: str) -> None:
    (tree.root / "app.py").write_text(app)
    with pytest.raises(NotSynthesised) as error:
        tree.synthesise("prod", to=tree.root)
    assert str(error.value) == reason
