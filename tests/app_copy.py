"""A copy of the app without models, which a test may edit and deploy."""

import shutil
from pathlib import Path

APP = (
    *("app.py", "cdk.json", "requirements.txt"),
    *("constructs", "model_build", "plan", "platform_facts", "requirements", "stacks", "stages"),
)
"""The files and folders of the repository that the app needs, except models."""


def copy_app(repository: Path, destination: Path) -> None:
    """Copy the app, without models."""
    for name in APP:
        source = repository / name
        if source.is_dir():
            shutil.copytree(
                source, destination / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy2(source, destination)
    (destination / "models").mkdir()
