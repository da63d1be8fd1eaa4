"""The table of file kinds, which assigns a describer to each path."""

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from release.review.files import (
    app_code,
    expected_outputs,
    model_configuration,
    python_packages,
    recipe,
    workflows,
)
from release.review.files.file_change import FileChange, FileLine
from release.review.files.gitignore import describe as ignored
from release.review.files.settings import JSON_FILE, LINTER, NPM_LOCK, TOML_FILE, YAML_FILE
from release.review.files.unparsed_files import (
    changed_size,
    check_code,
    deleted,
    guard,
    lock_input,
)

Describe = Callable[[FileChange], Iterator[FileLine]]


class FileKind(NamedTuple):
    """Files whose path matches a pattern, in which `*` matches any text.

    unchecked_name: name of these files in the summary's list of files that no rule checks.
    why_omitted: why changes are not described: they affect no deployment, or the report shows them
        elsewhere. If the files affect the next change, the size of the change is described.
    """

    pattern: str
    describe: Describe | None = None
    unchecked_name: str = ""
    why_omitted: str = ""


COMPARED_AS_TEMPLATES = "its effects are compared as templates"

KINDS = (
    FileKind("models/*/tests/golden.json", expected_outputs.describe),
    FileKind("models/*/recipe.yaml", recipe.describe),
    FileKind("models/*/config.pbtxt", model_configuration.describe),
    FileKind("models/*requirements*.txt", python_packages.describe),
    FileKind("models/*/tests/*", deleted, why_omitted="tests of a model are not in its archive"),
    FileKind("models/test_*.py", deleted, why_omitted="tests"),
    FileKind("models/conftest.py", why_omitted="tests"),
    FileKind("models/*.py", changed_size, "model code"),
    FileKind("models/*", changed_size, "model files"),
    FileKind(".github/workflows/*.y*ml", workflows.describe),
    FileKind(".github/dependabot.yml", YAML_FILE.describe),
    FileKind("package-lock.json", NPM_LOCK.describe),
    FileKind("release/acknowledged.yaml", YAML_FILE.describe),
    FileKind(".gitignore", ignored),
    FileKind("requirements*.txt", python_packages.describe),
    FileKind("requirements*.in", lock_input),
    FileKind(".checkov.y*ml", LINTER.describe),
    FileKind(".cfnlintrc*", LINTER.describe),
    FileKind("cdk.json", JSON_FILE.describe),
    FileKind("package.json", JSON_FILE.describe),
    FileKind("pyproject.toml", TOML_FILE.describe),
    FileKind("constructs/triton_sagemaker/update_handler/*", guard),
    FileKind("constructs/triton_sagemaker/*_handler/*", changed_size, "code of Lambda functions"),
    FileKind("constructs/triton_sagemaker/nag.py", changed_size),
    *(
        FileKind(f"{folder}/*.py", app_code.describe, why_omitted=COMPARED_AS_TEMPLATES)
        for folder in ("constructs", "stacks", "stages")
    ),
    FileKind("stages/*", why_omitted=COMPARED_AS_TEMPLATES),
    *(FileKind(f"{folder}/*.py", check_code) for folder in ("model_build/checks", "*/rules")),
    FileKind("model_build/*", changed_size, "code that builds models"),
    FileKind("platform_facts/*", changed_size, "tables of facts"),
    FileKind("tests/*", deleted, why_omitted="tests are not deployed"),
    FileKind("docs/*", why_omitted="text for people"),
    FileKind("*.md", why_omitted="text for people"),
    FileKind("LICENSE", why_omitted="text for people"),
    FileKind("local_sagemaker/*", why_omitted="the local emulator is not deployed"),
    FileKind("bench/*", why_omitted="measurements are not deployed"),
    FileKind("account_test/*", why_omitted="tests in a separate account"),
    FileKind("*", changed_size, "other code"),
)


def find_kind(path: str) -> FileKind:
    """Return the first kind whose pattern matches a path."""
    return next(kind for kind in KINDS if fnmatchcase(path, kind.pattern))
