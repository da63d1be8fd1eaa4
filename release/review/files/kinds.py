"""Kinds of files by path, each with the describer of its changes."""

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from release.review.files import (
    app_code,
    golden_answers,
    model_configuration,
    python_packages,
    recipe,
    workflows,
)
from release.review.files.file_change import FileChange, FileLine
from release.review.files.ignored import describe as ignored
from release.review.files.settings import JSON_FILE, LINTER, NPM_LOCK, TOML_FILE, YAML_FILE
from release.review.files.unparsed_files import (
    check_code,
    deleted,
    guard,
    input_of_lock,
    unjudged,
)

Describe = Callable[[FileChange], Iterator[FileLine]]


class FileKind(NamedTuple):
    """Files whose path matches a pattern, in which `*` matches any text.

    `not_judged` is the name in the summary of files that no rule reads. `reason` says why changes
    are not described: they affect no deployment, or another part of the review shows them.
    """

    pattern: str
    describe: Describe | None = None
    not_judged: str = ""
    reason: str = ""


TEMPLATES = "what it changes is compared as templates"

KINDS = (
    FileKind("models/*/tests/golden.json", golden_answers.describe),
    FileKind("models/*/recipe.yaml", recipe.describe),
    FileKind("models/*/config.pbtxt", model_configuration.describe),
    FileKind("models/*requirements*.txt", python_packages.describe),
    FileKind("models/*/tests/*", deleted, reason="tests of a model are no part of its archive"),
    FileKind("models/test_*.py", deleted, reason="tests"),
    FileKind("models/conftest.py", reason="tests"),
    FileKind("models/*.py", unjudged, "model code"),
    FileKind("models/*", unjudged, "model files"),
    FileKind(".github/workflows/*.y*ml", workflows.describe),
    FileKind(".github/dependabot.yml", YAML_FILE.describe),
    FileKind("package-lock.json", NPM_LOCK.describe),
    FileKind("release/acknowledged.yaml", YAML_FILE.describe),
    FileKind(".gitignore", ignored),
    FileKind("requirements*.txt", python_packages.describe),
    FileKind("requirements*.in", input_of_lock),
    FileKind(".checkov.y*ml", LINTER.describe),
    FileKind(".cfnlintrc*", LINTER.describe),
    FileKind("cdk.json", JSON_FILE.describe),
    FileKind("package.json", JSON_FILE.describe),
    FileKind("pyproject.toml", TOML_FILE.describe),
    FileKind("constructs/triton_sagemaker/update_handler/*", guard),
    FileKind("constructs/triton_sagemaker/*_handler/*", unjudged, "code of Lambda functions"),
    FileKind("constructs/triton_sagemaker/nag.py", unjudged),
    *(
        FileKind(f"{folder}/*.py", app_code.describe, reason=TEMPLATES)
        for folder in ("constructs", "stacks", "stages")
    ),
    FileKind("stages/*", reason=TEMPLATES),
    *(FileKind(f"{folder}/*.py", check_code) for folder in ("model_build/checks", "*/rules")),
    FileKind("model_build/*", unjudged, "code that builds models"),
    FileKind("platform_facts/*", unjudged, "tables of facts"),
    FileKind("tests/*", deleted, reason="nothing that is deployed reads tests"),
    FileKind("docs/*", reason="text for people"),
    FileKind("*.md", reason="text for people"),
    FileKind("LICENSE", reason="text for people"),
    FileKind(
        "local_sagemaker/*", reason="the AWS of a laptop, which nothing that is deployed reads"
    ),
    FileKind("bench/*", reason="measurements, which nothing that is deployed reads"),
    FileKind("account_test/*", reason="a test in an account of its own"),
    FileKind("*", unjudged, "other code"),
)


def kind_of(path: str) -> FileKind:
    """Return the first kind whose pattern matches a path."""
    return next(kind for kind in KINDS if fnmatchcase(path, kind.pattern))
