import pytest

from local_sagemaker.codebuild.buildspec import Artifacts, Buildspec

BUILD = "version: 0.2\nphases: {build: {commands: [make]}}\n"


def test_buildspec_has_a_command_per_phase() -> None:
    spec = Buildspec.parse(
        "version: 0.2\nphases: {install: {commands: [make all]}, "
        "build: {commands: ['echo \"a: $?\"']}}"
    )
    assert spec.commands == {"install": "make all", "build": 'echo "a: $?"'}
    assert spec.artifacts is None


@pytest.mark.parametrize("text", ["", "version: 0.1", "phases: {}", "- version: 0.2", "make all"])
def test_other_version_is_rejected(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"^only buildspec version 0\.2 is supported: write version: 0\.2$"
    ):
        Buildspec.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version: 0.2\nphases: {build: ", "line 2, column 17"),
        ("version: 0.2", 'Missing required parameter in input: "phases"'),
        ("version: 0.2\nphases: {}", "the buildspec has no phases"),
        ("version: 0.2\nphases: {post_build: {commands: []}}", 'Unknown.* phases: "post_build"'),
        ("version: 0.2\nphases: {build: {commands: [a, b]}}", "build has 2 commands: join them"),
        ("version: 0.2\nphases: {build: {commands: make}}", "phases.build.commands, value: make"),
        ("version: 0.2\nphases: {build: {finally: [a], commands: []}}", '"finally"'),
        (f"{BUILD}env: {{shell: bash}}", 'Unknown parameter in input: "env"'),
        (f"{BUILD}cache: {{paths: [a]}}", 'Unknown parameter in input: "cache"'),
        (f"{BUILD}artifacts: {{base-directory: a}}", 'in artifacts: "files"'),
        (f"{BUILD}artifacts: {{files: [1]}}", r"artifacts.files\[0\], value: 1"),
        (f"{BUILD}artifacts: {{files: [a], discard-paths: yes}}", '"discard-paths"'),
        (f"{BUILD}artifacts: {{files: [a], base-directory: /a}}", "'/a' is not a path below"),
        (f"{BUILD}artifacts: {{files: [a, ../b]}}", r"'\.\./b' is not a path below"),
    ],
)
def test_unsupported_buildspec_is_rejected(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Buildspec.parse(text)


def test_artifacts_have_patterns_and_a_base_directory() -> None:
    spec = Buildspec.parse(f"{BUILD}artifacts: {{files: ['**/*', a/b], base-directory: result}}")
    assert spec.artifacts == Artifacts(("**/*", "a/b"), "result")
    spec = Buildspec.parse(f"{BUILD}artifacts: {{files: [a]}}")
    assert spec.artifacts == Artifacts(("a",), ".")
