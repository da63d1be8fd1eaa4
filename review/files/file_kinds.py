"""The table of file kinds, which assigns a describer to each path."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from review.files import (
    app_code,
    expected_outputs,
    model_configuration,
    python_packages,
    recipe,
    workflows,
)
from review.files.file_change import FileChange, FileLine
from review.files.gitignore import describe as describe_gitignore
from review.files.settings import JSON_FILE, LINTER, NPM_LOCK, TOML_FILE, YAML_FILE
from review.files.unparsed_files import (
    describe_check_code,
    describe_deletion,
    describe_guard,
    describe_lock_input,
    describe_size,
)

Describe = Callable[[FileChange], Iterator[FileLine]]


class FileKind(NamedTuple):
    """Files whose path matches a pattern: `*` matches any text in a name, `**` also across folders.

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
    FileKind("models/**/config.pbtxt", model_configuration.describe),
    FileKind("models/**requirements*.txt", python_packages.describe),
    FileKind("models/*/tests/**", describe_deletion, why_omitted="tests are not in the archive"),
    FileKind("models/test_*.py", describe_deletion, why_omitted="tests"),
    FileKind("models/conftest.py", why_omitted="tests"),
    FileKind("models/**.py", describe_size, "model code"),
    FileKind("models/**", describe_size, "model files"),
    FileKind(".github/workflows/*.y*ml", workflows.describe),
    FileKind(".github/dependabot.yml", YAML_FILE.describe),
    FileKind("package-lock.json", NPM_LOCK.describe),
    FileKind("review/acknowledged.yaml", YAML_FILE.describe),
    FileKind(".gitignore", describe_gitignore),
    FileKind("requirements**.txt", python_packages.describe),
    FileKind("requirements**.in", describe_lock_input),
    FileKind(".checkov.y*ml", LINTER.describe),
    FileKind(".cfnlintrc*", LINTER.describe),
    FileKind("cdk.json", JSON_FILE.describe),
    FileKind("package.json", JSON_FILE.describe),
    FileKind("pyproject.toml", TOML_FILE.describe),
    FileKind("constructs/triton_sagemaker/update_handler/**", describe_guard),
    FileKind("constructs/triton_sagemaker/*_handler/**", describe_size, "code of Lambda functions"),
    FileKind("constructs/triton_sagemaker/nag.py", describe_size),
    *(
        FileKind(f"{folder}/**.py", app_code.describe, why_omitted=COMPARED_AS_TEMPLATES)
        for folder in ("constructs", "stacks", "stages")
    ),
    FileKind("stages/**", why_omitted=COMPARED_AS_TEMPLATES),
    *(
        FileKind(f"{folder}/**.py", describe_check_code)
        for folder in ("model_build/checks", "**/rules")
    ),
    FileKind("model_build/**", describe_size, "code that builds models"),
    FileKind("platform_facts/**", describe_size, "tables of facts"),
    FileKind("tests/**", describe_deletion, why_omitted="tests are not deployed"),
    FileKind("docs/**", why_omitted="text for people"),
    FileKind("**.md", why_omitted="text for people"),
    FileKind("LICENSE", why_omitted="text for people"),
    FileKind("local_sagemaker/**", why_omitted="the local emulator is not deployed"),
    FileKind("tools/bench/**", why_omitted="measurements are not deployed"),
    FileKind("**", describe_size, "other code"),
)


def find_kind(path: str) -> FileKind:
    """Return the first kind whose pattern matches a path."""
    return next(kind for kind in KINDS if _matches(path, kind.pattern))


def _matches(path: str, pattern: str) -> bool:
    expression = re.escape(pattern).replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    return re.fullmatch(expression, path, re.DOTALL) is not None
