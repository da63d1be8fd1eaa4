"""Attacks on a review of files: each ends in a line with file and package, or in a danger."""

from pathlib import Path

import pytest

from release.checkout import Checkout
from review.files.changed_code import CodeOwners
from review.files.file_review import FileReview, compare_files

OWNERS = {".github/CODEOWNERS": b"* @acme/reviewers\n/stages/*.yaml\n/models/ @acme/models\n"}
PLACEHOLDER = {".github/CODEOWNERS": b"* @octo-org/on-call\n"}
HASH = "--hash=sha256:" + "0a" * 32
LOCK = f"six==1.17.0 \\\n    {HASH}\n"
LOCK_PATH = "requirements/cdk.txt"


def review(path: str, before: str, after: str, owners: dict[str, bytes] = OWNERS) -> FileReview:
    old = {path: before.encode()} if before else {}
    return compare_files({**owners, **old}, {**owners, path: after.encode()})


LOCKS = {
    "comment with a backslash": (f"# text \\\nevil==6.6.6 {HASH}\n{LOCK}", "new_packages", "evil"),
    "indented comment with a backslash": (f" # \\\nevil==6 {HASH}\n{LOCK}", "new_packages", "evil"),
    "comment inside an entry": (f"six==1.17.0 # \\\n    {HASH}\n", "lost_pins", "six"),
    "form feed as a line": (f"{LOCK}# x\x0cevil==6.6.6 {HASH}\n", "new_packages", "evil"),
    "no hash": (f"{LOCK}evil==6.6.6\n", "lost_pins", "evil"),
    "URL": (f"{LOCK}evil @ https://example.com/evil.whl {HASH}\n", "lost_pins", "evil"),
    "another index": (f"--index-url https://example.com\n{LOCK}", "lost_pins", "example.com"),
    "another file": (f"-r other.txt\n{LOCK}", "lost_pins", "other.txt"),
    "environment variable": (f"{LOCK}${{EVIL}}==1 {HASH}\n", "unreadable_files", "EVIL"),
    "unknown option": (f"--evil\n{LOCK}", "lost_pins", "--evil"),
    "option of a package": (
        f"{LOCK}evil==6 --config-settings a=b {HASH}\n",
        "unreadable_files",
        "--config-settings",
    ),
    "short option of a package": (f"{LOCK}evil==6 -e . {HASH}\n", "unreadable_files", "-e"),
    "file": (f"{LOCK}./evil.whl {HASH}\n", "lost_pins", "evil.whl"),
    "open continuation": (f"{LOCK}evil==6.6.6 \\", "lost_pins", "evil"),
    "other environment": (
        f"{LOCK}six==1.16.0 ; python_version > '3' {HASH}\n",
        "new_packages",
        "six",
    ),
    "tab before an option": (f"{LOCK}evil==6\t{HASH}\n", "unreadable_files", "evil"),
    "mark of an encoding": (f"\ufeff{LOCK}", "unreadable_files", "encoding"),
    "encoding": (f"# -*- coding: utf-7 -*-\n+AGU-vil==6 {HASH}\n", "unreadable_files", "encoding"),
    "the same package twice": (f"{LOCK}Six==1.16.0 {HASH}\n", "unreadable_files", "six"),
    "other hash": (LOCK.replace("0a0a", "0b0b", 1), "lost_pins", "six"),
}


@pytest.mark.parametrize("title", LOCKS)
def test_package_of_a_lock_is_not_hidden(title: str) -> None:
    content, rule, name = LOCKS[title]
    result = review(LOCK_PATH, LOCK, content)
    (danger,) = [danger for danger in result.dangers if danger.rule == rule]
    assert danger.message.startswith(f"{LOCK_PATH}: ")
    assert name in " ".join((danger.message, *danger.details))
    assert result.code == (result.code[0],)
    assert result.code[0].startswith("**requirements** (")


CODE = {
    "a .pth": ("stacks/evil.pth", "import evil", "stacks"),
    "make expands a comment": ("Makefile", "all:\n\t# $(shell evil)\n", "the root"),
    "an import in facts": (
        "platform_facts/_tables.py",
        "open('/proc/self/environ')",
        "platform_facts",
    ),
    "only a comment": ("review/judge.py", "# nothing", "review"),
    "recipe": ("models/minilm/recipe.yaml", "files: {}", "models/minilm"),
    "packages of a model": ("models/minilm/tokenizer/requirements.txt", LOCK, "models/minilm"),
    "folder named like a stage": ("stages/prod.yaml/evil.py", "evil", "stages"),
    "model named like a test": ("models/test_x/x/1/model.py", "evil", "models/test_x"),
    "cron that never fires": (".github/workflows/drift.yml", "on: {}\njobs: {}\n", ".github"),
    "settings of pip": (".config/pip.conf", "[global]", ".config"),
    "owners": ("docs/CODEOWNERS", "* @mallory", "docs"),
    "commands that tests run": ("docs/runbook.md", "```console\n$ evil\n```\n", "docs"),
}


@pytest.mark.parametrize("title", CODE)
def test_changed_code_is_listed_and_needs_an_owner_in_the_base(title: str) -> None:
    path, content, package = CODE[title]
    (line,) = review(path, "before", content).code
    assert line.startswith(f"**{package}** (")
    assert path in line
    result = review(path, "before", content, PLACEHOLDER)
    (danger,) = [danger for danger in result.dangers if danger.rule == "unowned_code"]
    assert danger.message.startswith(f"{path}: package {package}: code without an owner")


def test_facts_first_then_owners() -> None:
    """A first change edits what judges, a second one frees CODEOWNERS: both are listed."""
    first = compare_files(OWNERS, {**OWNERS, "platform_facts/_tables.py": b"evil"})
    assert "platform_facts/_tables.py (new)" in first.code[0]
    freed = {".github/CODEOWNERS": b"/docs/\n"}
    assert ".github/CODEOWNERS" in compare_files(OWNERS, freed).code[0]
    third = compare_files(freed, {**freed, "review/judge.py": b"raise SystemExit(0)"})
    assert [danger.rule for danger in third.dangers] == ["unowned_code"]


@pytest.mark.parametrize("path", ["stages/prod.yaml", "models/minilm/encoder/config.pbtxt"])
def test_data_needs_no_owner(path: str) -> None:
    result = review(path, "", "# nothing", PLACEHOLDER)
    assert (result.code, result.dangers) == ((), ())


def test_codeowners_of_this_repository_owns_all_code() -> None:
    root = Path(__file__).parents[4]
    files = Checkout(root).files()
    text = files[".github/CODEOWNERS"].decode().replace("@octo-org/", "@acme/")
    owners = CodeOwners(text)
    unowned = [path for path in files if not owners.find(path)]
    assert unowned
    empty = {path: b"" if path.endswith(".py") else content for path, content in files.items()}
    changed = compare_files({".github/CODEOWNERS": text.encode()}, empty)
    assert "unowned_code" not in {danger.rule for danger in changed.dangers}
    assert all(path.startswith(("stages/", "docs/", "models/")) for path in unowned)
    assert owners.find("models/minilm/recipe.yaml") != owners.find("review/judge.py")


CONFIG_PATH = "models/a/b/config.pbtxt"
CONFIG = 'backend: "python"\nmax_batch_size: 8\n'
SELECTED_CODE = {
    "packed environment": 'parameters { key: "EXECUTION_ENV_PATH" value { string_value: "$$x" } }',
    "file": 'default_model_filename: "labels.txt"',
    "file of a capability": 'cc_model_filenames { key: "8.6" value: "x.plan" }',
    "repository agent": 'model_repository_agents { agents { name: "checksum" } }',
    "runtime": 'runtime: "libtriton_evil.so"',
    "operators": 'model_operations { op_library_filename: "libevil.so" }',
    "plugin of an accelerator": """optimization { execution_accelerators {
        gpu_execution_accelerator [ { name: "tensorrt"
          parameters { key: "trt_extra_plugin_lib_paths" value: "labels.txt" } } ] } }""",
    "extension": 'parameters { key: "CPU_EXTENSION_PATH" value { string_value: "x.so" } }',
    "path": 'parameters { key: "vocabulary" value { string_value: "/opt/ml/evil" } }',
}


@pytest.mark.parametrize("before", [CONFIG, ""], ids=["changed", "new"])
@pytest.mark.parametrize("title", SELECTED_CODE)
def test_configuration_that_selects_code_is_a_danger(title: str, before: str) -> None:
    result = review(CONFIG_PATH, before, CONFIG + SELECTED_CODE[title])
    (danger,) = result.dangers
    assert danger.rule == "selected_code"
    assert danger.message.startswith((f"{CONFIG_PATH}: Triton runs ", f"{CONFIG_PATH}: a param"))


def test_only_a_changed_backend_is_a_danger() -> None:
    assert review(CONFIG_PATH, "", CONFIG).dangers == ()
    assert review(CONFIG_PATH, CONFIG, CONFIG.replace("8", "16")).dangers == ()
    (danger,) = review(CONFIG_PATH, CONFIG, CONFIG.replace("python", "onnxruntime")).dangers
    assert danger.rule == "selected_code"


def test_labels_that_are_an_archive_are_a_danger() -> None:
    path = "models/a/b/labels.txt"
    result = compare_files(OWNERS, {**OWNERS, path: b"\x1f\x8b\x08\x00 packed"})
    (danger,) = result.dangers
    assert (danger.rule, danger.message) == (
        "unreadable_files",
        f"{path}: not compared: is not UTF-8",
    )


def test_removed_owner_is_a_danger() -> None:
    path = ".github/CODEOWNERS"
    files = {"models/a/model.py": b"", "stacks/x.py": b""}
    before = {**files, path: b"* @acme/reviewers\n/models/ @acme/models @acme/security\n"}
    after = {**files, path: b"* @acme/reviewers\n/models/ @acme/models\n/stacks/\n"}
    (danger,) = compare_files(before, after).dangers
    assert danger.rule == "lost_owners"
    assert danger.message == (
        f"{path}: @acme/reviewers no longer has to approve /stacks/: stacks/x.py; nobody has "
        "to; @acme/security no longer has to approve /models/: models/a/model.py"
    )
    assert compare_files(after, before).dangers == ()


def test_workflows_without_an_owner_are_named_first() -> None:
    workflow = ".github/workflows/deploy.yml"
    files = {workflow: b"on: push", **{f"{number}.yml": b"" for number in range(9)}}
    owners = {".github/CODEOWNERS": b"* @acme/ml\n"}
    lost = {".github/CODEOWNERS": b"* @acme/ml\n*.yml\n"}
    (danger,) = compare_files({**files, **owners}, {**files, **lost}).dangers
    assert f"approve *.yml: {workflow}, 0.yml" in danger.message


def test_times_are_told_in_seconds() -> None:
    wait = 'parameters {{ key: "max_wait_ms" value {{ string_value: "{}" }} }}'
    before, after = (CONFIG + wait.format(number) for number in ("250", "500"))
    result = review(CONFIG_PATH, before, after)
    assert "max_wait_ms.string_value: 250 (0.25 s) -> 500 (0.5 s)" in result.dangers[0].message
    delay = "dynamic_batching {{ max_queue_delay_microseconds: {} }}"
    (note,) = review(CONFIG_PATH, CONFIG, CONFIG + delay.format(50_000)).notes
    assert note.endswith("max_queue_delay_microseconds: none -> 50000 (0.05 s)")
    (danger,) = review(CONFIG_PATH, CONFIG, CONFIG + delay.format(500_000)).dangers
    assert "max_queue_delay_microseconds: none -> 500000 (0.5 s)" in danger.message


@pytest.mark.parametrize(("before", "after"), [("", "max_queue_size: 64"),
    ("default_timeout_microseconds: 500", "default_timeout_microseconds: 100")])  # fmt: skip
def test_queue_that_refuses_more_is_a_danger(before: str, after: str) -> None:
    sides = (CONFIG + f"dynamic_batching {{ default_queue_policy {{ {side} }} }}"
             for side in (before, after))  # fmt: skip
    less, more = sides
    (danger,) = review(CONFIG_PATH, less, more).dangers
    assert danger.rule == "changed_limits"
    assert "so that Triton refuses requests" in danger.message
    assert review(CONFIG_PATH, more, less).dangers == ()


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (CONFIG_PATH, CONFIG, f"# why\n{CONFIG}".replace('"', "'")),
        ("models/a/recipe.yaml", "files: {x: {to: copy}}", "# why\nfiles:\n  x: { to: copy }\n"),
        ("models/a/table.csv", "name,weights\nx,a.npz\n", 'name,weights\n"x",a.npz\n'),
        ("package.json", '{"a": 1}', '{ "a": 1 }'),
    ],
)
def test_file_of_equal_values_is_only_formatted(path: str, before: str, after: str) -> None:
    (note,) = review(path, before, after).notes
    assert note.endswith(
        f"{path.rpartition('/')[2]}: only comments or formatting: all values are equal"
    )


def test_int8_needs_ranges_of_real_inputs() -> None:
    recipe = "files: {{ x.plan: {{ to: tensorrt, engine: {{ precision: {} }} }} }}"
    sides = recipe.format("fp16"), recipe.format("int8")
    (note,) = review("models/a/recipe.yaml", sides[0], sides[1]).notes
    assert "precision: fp16 -> int8, with the ranges of the inputs that TorchModel.sample" in note
    assert "ranges" not in review("models/a/recipe.yaml", sides[1], sides[0]).notes[0]


def test_rows_of_a_table() -> None:
    path, folder = "models/ferries/ferries.csv", "models/ferries"
    head = "name,weights,label\noslo,w/oslo.npz,1\nkiel,w/kiel.npz,1\n"
    files = {**OWNERS, f"{folder}/w/oslo.npz": b"", f"{folder}/w/kiel.npz": b""}

    def compared(before: str, after: str) -> FileReview:
        return compare_files({**files, path: before.encode()}, {**files, path: after.encode()})

    (danger,) = compared(head, head.replace("w/kiel", "w/oslo")).dangers
    assert danger.rule == "changed_weights_source"
    assert "row kiel.weights: w/kiel.npz -> w/oslo.npz, the file of oslo, so" in danger.message
    result = compared(head, head.replace("kiel.npz,1", "kiel.npz,2") + "bari,w/bari.npz,1\n")
    assert result.dangers == ()
    assert "row kiel.label: 1 -> 2; row bari.weights: none -> w/bari.npz" in result.notes[0]
    shared = f"{head}bonn,w/kiel.npz,1\n"
    assert compared(shared, f"{shared}bern,w/oslo.npz,1\n").dangers == ()
    rules = [danger.rule for danger in compared(head, f"{head}oslo,w/oslo.npz,1\n").dangers]
    assert rules == ["unreadable_files"]


def test_hash_that_only_one_of_two_locks_replaces() -> None:
    paths = "requirements/a.txt", "requirements/b.txt"
    old = {**OWNERS, **dict.fromkeys(paths, LOCK.encode())}
    new = {**old, paths[1]: LOCK.replace("0a0a", "0b0b", 1).encode()}
    (danger,) = compare_files(old, new).dangers
    assert danger.message.endswith("0a0a0a0a -> 0b0b0a0a: only this lock has 0b0b0a0a")


def test_renamed_model_has_no_new_packages() -> None:
    old = {**OWNERS, "models/a/t/requirements.txt": LOCK.encode()}
    for extra, rules in (("", []), (f"evil==6.6.6 {HASH}\n", ["new_packages"])):
        new = {**OWNERS, "models/b/t/requirements.txt": (LOCK + extra).encode()}
        assert [danger.rule for danger in compare_files(old, new).dangers] == rules


def test_all_changed_files_are_listed() -> None:
    head = {f"review/f{number}.py": b"x" for number in range(30)}
    result = compare_files(OWNERS, {**OWNERS, **head})
    assert len(result.code_files) == 30
    assert "and 22 more below" in result.code[0]


def test_longer_inputs_than_an_engine_takes_are_a_danger() -> None:
    recipe = (
        "files: { encoder/1/model.plan: { to: tensorrt, engine: { profiles: [ "
        "{ ids: { min: [1, 2], opt: [4, 64], max: [8, 128] } } ] } } }"
    )
    tokenizer = 'parameters {{ key: "max_length" value {{ string_value: "{}" }} }}'
    base, head = (
        {**OWNERS, "models/a/recipe.yaml": recipe.encode(), CONFIG_PATH: text.encode()}
        for text in (tokenizer.format(128), tokenizer.format(512))
    )
    dangers = compare_files(base, head).dangers
    (danger,) = (danger for danger in dangers if danger.rule == "broken_clients")
    assert "max_length is 512, and the engine takes lengths up to 128" in danger.message
    assert compare_files(head, {**head, "models/a/b/labels.txt": b"x"}).dangers == ()


def test_labels_that_move_to_another_class_are_a_danger() -> None:
    path = "models/a/b/labels.txt"
    base = {**OWNERS, path: b"tench\nshark\nray\n"}
    (danger,) = compare_files(base, {**base, path: b"tench\nray\nother\n"}).dangers
    assert danger.rule == "broken_clients"
    assert danger.message == f"{path}: 2 of 3 classes have other labels, class 1: shark -> ray"
    reworded = compare_files(base, {**base, path: b"tench\nshark (fish)\nray"})
    assert reworded.dangers == ()
    assert "1 of 3 classes have other labels, class 1: shark -> shark (fish)" in reworded.notes[0]


def test_options_of_the_cdk_cli_are_those_of_each_deploy() -> None:
    before = '{"app": "python3 app.py", "progress": "bar", "context": {"old": true}}'
    head = before.replace('"bar"', '"events"').replace("true", "false")
    assert review("cdk.json", before, head).dangers == ()
    (danger,) = review("cdk.json", before, f'{before[:-1]}, "rollback": false}}').dangers
    assert danger.rule == "changed_stack_settings"
    assert "rollback: none -> false" in danger.message


CDK = '{"app": "python3 app.py"}'
UNSAFE_CDK = '{"app": "python3 app.py", "rollback": false'


@pytest.mark.parametrize(
    "content",
    [
        f'{UNSAFE_CDK}, "app": "python3 app.py"}}',
        f"\ufeff{UNSAFE_CDK}}}",
        f'{UNSAFE_CDK}, "context": {{"a": [{", ".join("0" * 1001)}]}}}}',
        f'{UNSAFE_CDK}, "context": {"[" * 50}{"]" * 50}}}',
        f"{UNSAFE_CDK}}}{' ' * 1024 * 1024}",
        f"[{UNSAFE_CDK}}}]",
        f'{UNSAFE_CDK}, "Ref": ""}}',
        "",
    ],
    ids=["twice", "mark", "long list", "levels", "spaces", "list", "Ref", "empty"],
)
def test_options_of_the_cdk_cli_are_not_hidden(content: str) -> None:
    before = CDK.replace("}", ', "context": {"a": [0]}}')
    (danger,) = review("cdk.json", before, content).dangers
    assert danger.rule in ("changed_stack_settings", "unreadable_files")
    (danger,) = compare_files({**OWNERS, "cdk.json": b"\xff"}, OWNERS).dangers
    assert danger.rule == "unreadable_files"
    settings = review("pyproject.toml", "[a]", f"a = {'[' * 5000}")
    assert "not compared: " in settings.notes[0]
    assert settings.dangers == ()


def test_job_with_the_name_of_a_function_hides_no_lost_guard() -> None:
    """In templates, the value of {"Ref": NAME} has no parts."""
    path = ".github/workflows/x.yml"
    jobs = "on: push\njobs:\n  Ref: {}\n  a: {environment: prod}\n"
    assert review(path, jobs, jobs.replace("environment: prod", "")).dangers
    long = f"{jobs}env: {{x: [{', '.join('0' * 1001)}]}}\n"
    rules = {danger.rule for danger in review(path, jobs, long).dangers}
    assert "unreadable_files" in rules


def test_name_of_a_setting_is_not_bold() -> None:
    (danger,) = review("cdk.json", CDK, CDK.replace("}", ', "**No danger**": 1}')).dangers
    assert "**" not in danger.message
