"""What stays: where a stage keeps its models and what builds them."""

from pathlib import Path

from aws_cdk import Environment, IgnoreMode, Stack
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from stacks.acknowledged import acknowledge_models
from triton_sagemaker import ModelBucket, ModelBuilder

ROOT = Path(__file__).parent.parent
BUILDER_SOURCE = ("model_build", "platform_facts")
PRICES = "/platform_facts/prices.toml"
BUILDER_FILES = ("checked_yaml.py", "requirements.txt", "requirements-gpu.txt")


class ModelStack(Stack):
    """Bucket, key, build project and provider. Nothing here changes with a model."""

    def __init__(self, scope: Construct, construct_id: str, *, env: Environment) -> None:
        super().__init__(scope, construct_id, env=env)
        self.bucket = ModelBucket(self, "Models")
        self.builder = ModelBuilder(
            self,
            "Builder",
            bucket=self.bucket,
            source=self._builder_source(),
            buildspec=codebuild.BuildSpec.from_object_to_yaml(BUILDSPEC),
        )
        acknowledge_models(self, env)

    def _builder_source(self) -> s3_assets.Asset:
        """The code that builds, without models and prices: their changes leave it as it is."""
        kept = [f"!/{name}/**" for name in BUILDER_SOURCE] + [f"!/{name}" for name in BUILDER_FILES]
        folders = [f"!/{name}" for name in BUILDER_SOURCE]
        return s3_assets.Asset(
            self,
            "BuilderSource",
            path=str(ROOT),
            exclude=["/*", *folders, *kept, "__pycache__", PRICES],
            ignore_mode=IgnoreMode.GIT,
        )


BUILDSPEC = {
    "version": "0.2",
    "phases": {
        "install": {
            "commands": [
                'python3 -m pip install --quiet --requirement "$BUILD_REQUIREMENTS"',
            ]
        },
        "build": {
            "commands": [
                'python3 -m model_build build "$CODEBUILD_SRC_DIR_model" --name "$MODEL_NAME"'
                ' --alternative "${MODEL_ALTERNATIVE:-}"'
                ' --target "$MODEL_TARGET" --digest "$MODEL_DIGEST"'
                ' --bucket "$MODEL_BUCKET" --key "$MODEL_KEY"',
            ]
        },
    },
}
"""How CodeBuild builds one model; `ModelBuilder` says what is in the environment."""
