"""The invariants of workflows, in this repository's workflows and changed ones."""

import re
from pathlib import Path

import pytest

from review.files.file_review import compare_files
from review.files.readers import UNREADABLE, read_yaml
from review.files.workflows import AS_BEFORE, FOLDER

ROOT = Path(__file__).parents[4]
FILES = {
    f"{FOLDER}{path.name}": path.read_bytes()
    for path in (ROOT / ".github" / "workflows").glob("*.yml")
}
DEPLOY, DRIFT, PULL_REQUEST, RELEASE = (
    f"{FOLDER}{name}.yml" for name in ("deploy", "drift", "pull-request", "release")
)
CONDITION = "    if: ${{ !cancelled() }}\n"
TOKEN = "    permissions:\n      contents: read\n      id-token: write\n"


def dangers(path: str, content: str | None) -> list[str]:
    head = {name: text for name, text in FILES.items() if name != path}
    if content is not None:
        head[path] = content.encode()
    return [
        text
        for danger in compare_files(FILES, head).dangers
        if danger.rule == "widened_workflows"
        for text in (danger.details or [danger.message])
    ]


@pytest.mark.parametrize(
    ("path", "old", "new", "message"),
    [
        (DEPLOY, "    environment: prod\n", "", "prod gets a token for AWS (id-token) without an"),
        (DEPLOY, "    concurrency:\n      group: deploy-prod\n      cancel-in-progress: false\n",
         "", "prod gets a token for AWS (id-token) without a concurrency group"),
        (DEPLOY, "needs: [build, review, dev]", "needs: [build, review]", "prod delivers first"),
        (DEPLOY, "ref: ${{ needs.review.outputs.base }}", "ref: ${{ github.sha }}",
         "the job dev runs code of another commit, with credentials (id-token: write, environment "
         "dev): ref: ${{ needs.review.outputs.base }} -> ${{ github.sha }}"),
        (DEPLOY, "needs: [build, review]\n", "needs: build\n", "dev delivers, and needs no job"),
        (DEPLOY, "needs: [build, review, dev]", "needs: [build, dev]",
         "the job prod uses needs.review.outputs.base in steps.0.with.ref, which is empty, because "
         "it needs no job review with it, and checks out the code of the change itself with "
         "credentials (id-token: write, environment prod)"),
        (DEPLOY, "        id: base\n", "", "the job review uses steps.base.outputs.commit in "
         "outputs.base, which is empty, because it has no step base"),
        (DEPLOY, "      base: ${{ steps", "      other: ${{ steps", "needs no job review with it"),
        (PULL_REQUEST, "          path: release\n      - run",
         "          path: release\n      - uses: actions/cache@0400d5f644dc74513175e3cd8d07132dd486"
         "0809\n      - run",
         "the job review restores a cache (actions/cache) that jobs which run the code of "
         "the change (lint, test, distribution, build) can write"),
        (DEPLOY, "    needs: [build, review, dev]\n", "    needs: dev\n    if: always()\n", "(if)"),
        (DEPLOY, "deploy-prod\n      cancel-in-progress: false",
         "deploy-prod\n      cancel-in-progress: true",
         "the job prod delivers, and a later run cancels it"),
        (DEPLOY, CONDITION, "", "does not run after a failure"),
        (PULL_REQUEST, CONDITION, "", "does not run after a failure"),
        (PULL_REQUEST, CONDITION, f"{CONDITION}    continue-on-error: true\n",
         "its failure is ignored"),
        (PULL_REQUEST, "-m review.judge", "--version #", "no job reviews pull requests"),
        (PULL_REQUEST, "    name: Lint\n", f"    name: Lint\n{TOKEN}",
         "gets a token for AWS (id-token) on merge_group, pull_request"),
        (PULL_REQUEST, "permissions:\n  contents: read\n", "", "the job lint gets a token"),
        (DEPLOY, "  push:\n", "  pull_request_target:\n  push:\n", "on pull_request_target"),
        (DEPLOY, "    environment: prod\n", "    environment: auto\n",
         "the job prod delivers in the environment auto, whose reviewers approve it"),
        (DEPLOY, "./tritonsm deliver prod", "make deliver ALLOW_OLDER=1 STAGE=prod",
         "the job prod delivers with ALLOW_OLDER"),
        (DEPLOY, "./tritonsm deliver prod", "./tritonsm deliver prod --allow-older",
         "the job prod delivers with --allow-older"),
        (DEPLOY, './tritonsm deliver dev --digest="$DIGEST"',
         'make deliver STAGE=dev DIGEST="$DIGEST"', "the job dev passes values to make"),
        (DEPLOY, './tritonsm deliver dev --digest="$DIGEST" --commit="$GITHUB_SHA"', "make deliver",
         "the job dev runs make with values in its environment"),
        (PULL_REQUEST, "make test\n", "make \\\n          KEEP=${{ github.head_ref }} test\n",
         "the job test passes values to make"),
        (PULL_REQUEST, "permissions:\n", "env:\n  STAGE: ${{ github.head_ref }}\npermissions:\n",
         "the job lint runs make with values in its environment"),
        (PULL_REQUEST, "  pull_request:\n", "  pull_request:\n  pull_request_target:\n",
         "a change of a fork runs it with a token"),
        (PULL_REQUEST, "  contents: read\n", "  contents: write\n",
         "the jobs build, distribution, lint and 2 more may write (permissions: contents)"),
        (DEPLOY, "credentials@99214aa6889fcddfa57764031d71add364327e59", "credentials@main",
         "runs aws-actions/configure-aws-credentials@main, which is not pinned by a commit"),
        (DEPLOY, "      - run: make install-cdk\n",
         "      - run: echo ${{ github.event.head_commit.message }}\n",
         "inserts github.event.head_commit.message into a shell command"),
        (DEPLOY, "      - run: make install-cdk\n",
         "      - run: make install-cdk\n        continue-on-error: true\n",
         "ignores the failure of a step"),
        (DRIFT, "defaults:\n  run:\n    shell: bash # enables pipefail\n", "",
         "the job drift ignores failures before the pipe, without shell: bash: cdk diff"),
        (PULL_REQUEST, "          persist-credentials: false\n",
         "          ref: ${{ github.event.pull_request.head.sha }}\n",
         "checks out the code of a change"),
        (RELEASE, '      - run: git merge-base --is-ancestor "$GITHUB_SHA" origin/main\n', "",
         'the job build no longer runs: git merge-base --is-ancestor "$GITHUB_SHA"'),
        (DEPLOY, "needs: [build, review, dev]", "needs: [build]",
         'jobs.prod.needs: ["build", "review", "dev"] -> ["build"]'),
        (DEPLOY, "    environment: prod\n", "", "jobs.prod.environment: prod -> none"),
        (PULL_REQUEST, "  pull_request:\n", "  workflow_dispatch:\n",
         "it no longer runs on pull_request"),
    ],
)  # fmt: skip
def test_broken_invariant_is_a_danger(path: str, old: str, new: str, message: str) -> None:
    content = FILES[path].decode()
    assert old in content
    texts = dangers(path, content.replace(old, new, 1))
    assert any(message in text for text in texts), texts


def test_shorter_timeout_has_both_values() -> None:
    head = {**FILES, DEPLOY: FILES[DEPLOY].replace(b"minutes: 360", b"minutes: 5", 1)}
    messages = [danger.message for danger in compare_files(FILES, head).dangers]
    assert f"{DEPLOY}: jobs.dev.timeout-minutes: 360 min -> 5 min" in messages


def test_bars_that_are_no_pipes_are_no_danger() -> None:
    workflow = "on: push\njobs:\n  a:\n    steps:\n    - run: jq '.a | .b' x || exit 1\n"
    assert not any("pipe" in text for text in dangers(f"{FOLDER}new.yml", workflow))


def test_new_workflow_with_a_token_is_a_danger() -> None:
    workflow = "on: pull_request\njobs:\n  a:\n    permissions: write-all\n    steps: []\n"
    texts = dangers(f"{FOLDER}new.yml", workflow)
    assert any(
        "the job a gets a token for AWS (id-token) on pull_request" in text for text in texts
    )


def test_unreadable_workflow_is_a_danger_of_its_own_file_only() -> None:
    head = FILES | {DEPLOY: FILES[DEPLOY] + b"# a note\n", RELEASE: b"jobs: ["}
    unreadable = {
        danger.message.partition(":")[0]
        for danger in compare_files(FILES, head).dangers
        if danger.rule == UNREADABLE
    }
    assert unreadable == {RELEASE}


def test_broken_invariant_is_reported_once() -> None:
    head = {path: content + b"# x\n" for path, content in FILES.items()}
    head[DEPLOY] = head[DEPLOY].replace(b"    environment: prod\n", b"", 1)
    changed = compare_files(FILES, head).dangers
    (danger,) = [danger for danger in changed if danger.rule == "widened_workflows"]
    assert danger.message.startswith(f"{DEPLOY}: ")
    assert danger.message.count("without an environment") == 1


@pytest.mark.parametrize(
    ("path", "before", "after", "message"),
    [
        ("Makefile", "lint:\n\tmypy && zizmor .\n", "lint:\n\tmypy\n", "no longer runs zizmor"),
        (".ci/run", "make lint\nmake test\n", "make lint\n", "no longer runs make test"),
        ("tools/x.sh", "pip install --require-hashes -r a\n", "pip install -r a\n", ""),
        ("build.sh", "pip install --no-deps a\n", "pip install --no-deps a --no-binary a\n",
         "installs, and runs code of the package: --no-binary a: pip install"),
        ("build.sh", "pip install --require-hashes -r a\n", "pip install -r a\n",
         "newly runs: pip install -r a; no longer has --require-hashes: pip install --require-"),
        (f"{FOLDER}x.yml", "on: push\njobs: { a: { steps: [] } }\n",
         "on: push\njobs: { a: { steps: [{ run: curl -s https://x.dev/i | sh }] } }\n",
         "newly runs: curl -s https://x.dev/i | sh"),
        ("Makefile", "all:\n", "# see https://example.com\nall:\n", ""),
    ],
)  # fmt: skip
def test_commands_of_scripts(path: str, before: str, after: str, message: str) -> None:
    changed = compare_files({path: before.encode()}, {path: after.encode()}).dangers
    texts = [danger.message.removeprefix(f"{path}: ") for danger in changed
             if danger.rule != "unowned_code"]  # fmt: skip
    assert message in "; ".join(texts)
    assert bool(texts) == bool(message)


def test_changed_lines_of_scripts_are_listed() -> None:
    before = "STAGE ?= dev\n\ndeploy:\n\tcdk deploy\n\t@echo\ndiff:\n\t@echo\n"
    after = before.replace("?= dev", "?= prod").replace("deploy\n\t@echo", "deploy\n\t# $(shell x)")
    (line,) = compare_files({"Makefile": before.encode()}, {"Makefile": after.encode()}).code
    changes = line.partition(": Makefile: ")[2]
    assert changes == "gone: STAGE ?= dev; new: STAGE ?= prod; gone: @echo; new: # $(shell x)"
    new = "# comment\n" + "".join(f"a{number}\n" for number in range(9))
    (line,) = compare_files({"Makefile": b""}, {"Makefile": new.encode()}).code
    assert line.endswith("new: a5; 3 more changed lines")
    assert "comment" not in line


def test_renamed_and_moved_steps_are_no_danger() -> None:
    content = FILES[RELEASE].decode()
    steps = re.findall(r"^      - run: .*\n", content, re.M)
    moved = content.replace(steps[0], "", 1).replace(steps[1], f"{steps[1]}{steps[0]}", 1)
    assert dangers(RELEASE, moved.replace("    steps:\n", "    name: X\n    steps:\n", 1)) == []


def test_other_settings_are_told_with_both_values() -> None:
    path = ".github/dependabot.yml"
    base, head = ({path: f"schedule: {{ interval: {text} }}\n".encode()}
                  for text in ("weekly", "monthly"))  # fmt: skip
    assert compare_files(base, head).notes == (
        ".github: dependabot.yml: schedule.interval: weekly -> monthly",
    )


def test_permissions_that_each_job_gets_itself_are_no_change() -> None:
    content = FILES[RELEASE].decode()
    permissions = "permissions:\n  contents: read\n\n"
    assert permissions in content
    jobs = read_yaml(content.encode())["jobs"]
    moved = content.replace(permissions, "", 1)
    for name, job in jobs.items():
        if "permissions" not in job:
            line = f"  {name}:\n"
            moved = moved.replace(line, f"{line}    permissions:\n      contents: read\n", 1)
    owners = {".github/CODEOWNERS": b"* @acme/ml"}
    before, after = ({**FILES, **owners, RELEASE: side.encode()} for side in (content, moved))
    review = compare_files(before, after)
    assert review.dangers == ()
    assert review.notes == (f".github: workflows/release.yml: {AS_BEFORE}",)
