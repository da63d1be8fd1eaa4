import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_sagemaker.codebuild.buildspec import PHASES, Artifacts, Buildspec

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]))
VARIABLES = st.dictionaries(st.from_regex(r"[A-Z_]{1,8}", fullmatch=True), TEXT, max_size=3)
COMMANDS = st.dictionaries(st.sampled_from(PHASES), st.lists(TEXT, max_size=3), min_size=1)
SOME_PHASE = "phases: {build: {commands: []}}"


def parse(text: str) -> Buildspec:
    """Parse what stands in a buildspec besides the version and a phase."""
    return Buildspec.parse(f"version: 0.2\n{SOME_PHASE}\n{text}")


def test_commands_are_read_phase_by_phase_and_phases_without_any_are_empty() -> None:
    spec = Buildspec.parse("""
        version: 0.2
        phases:
          build:
            commands:
              - make all
              - 'echo "done: $?"'
          post_build:
            commands: []
    """)
    assert spec.commands == {
        "install": [],
        "pre_build": [],
        "build": ["make all", 'echo "done: $?"'],
        "post_build": [],
    }
    assert spec.variables == {}
    assert spec.shell == "sh"
    assert spec.artifacts is None


def test_the_phases_run_in_codebuilds_order() -> None:
    assert PHASES == ("install", "pre_build", "build", "post_build")


def test_variables_are_text_whatever_yaml_makes_of_them() -> None:
    spec = parse("env: {variables: {COUNT: 3, NAME: minilm, EMPTY: ''}}")
    assert spec.variables == {"COUNT": "3", "NAME": "minilm", "EMPTY": ""}


@given(variables=VARIABLES, commands=COMMANDS)
def test_a_buildspec_may_be_json_as_the_cdk_writes_it(
    variables: dict[str, str], commands: dict[str, list[str]]
) -> None:
    phases = {phase: {"commands": lines} for phase, lines in commands.items()}
    content = {"version": "0.2", "env": {"variables": variables}, "phases": phases}
    spec = Buildspec.parse(json.dumps(content, indent=2, ensure_ascii=False))
    assert spec.variables == variables
    assert spec.commands == {phase: commands.get(phase, []) for phase in PHASES}


@pytest.mark.parametrize("version", ["0.2", '"0.2"'])
def test_the_version_may_be_a_number_or_text(version: str) -> None:
    assert Buildspec.parse(f"version: {version}\n{SOME_PHASE}").commands["build"] == []


@pytest.mark.parametrize(
    "text", ["", "version: 0.3", "version: 0.1", "phases: {}", "- version: 0.2", "make all"]
)
def test_what_has_no_known_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^write version: 0\.2$"):
        Buildspec.parse(text)


def test_a_buildspec_without_phases_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^there are no phases$"):
        Buildspec.parse("version: 0.2")


def test_broken_yaml_is_refused_with_its_line() -> None:
    with pytest.raises(ValueError, match=r"^(?s:.*) line 2, column 17") as refused:
        Buildspec.parse("version: 0.2\nphases: {build: ")
    assert refused.value.__suppress_context__


def test_an_unknown_phase_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown phases") as refused:
        Buildspec.parse("version: 0.2\nphases: {test: {}, deploy: {}, build: {}}")
    assert str(refused.value) == (
        "unknown phases ['deploy', 'test']; known: ['install', 'pre_build', 'build', 'post_build']"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("phases: [build]", "phases is ['build']: write a map"),
        ("phases: {1: {}}", "phases has the key 1: write it in quotes"),
        ("phases: {build: [make]}", "phases.build is ['make']: write a map"),
        ("phases: {build: {commands: make}}", "phases.build.commands is 'make': write a list"),
        ("phases: {build: {commands: }}", "phases.build.commands is None: write a list"),
        (
            "phases: {build: {commands: [echo: hi]}}",
            "phases.build.commands has {'echo': 'hi'}, which is no text: write it in quotes",
        ),
        ("phases: {build: {commands: [true]}}", "phases.build.commands has True"),
        ("phases: {build: }", "phases.build.commands is None: write a list"),
        ("phases: {build: {finally: [a]}}", "phases.build has finally, which the local SageMaker"),
        ("phases: {install: {on-failure: ABORT}}", "phases.install has on-failure, which"),
        ("cache: {paths: [a]}", "the buildspec has cache, which the local SageMaker does not know"),
        ("env: {secrets-manager: {A: b}}", "env has secrets-manager, which the local SageMaker"),
        ("env: {shell: zsh}", "env.shell is 'zsh': write one of ['/bin/sh', 'bash']"),
        ("artifacts: [a]", "artifacts is ['a']: write a map"),
        ("artifacts: {base-directory: a}", "artifacts.files is None: write a list of paths"),
        ("artifacts: {files: a}", "artifacts.files is 'a': write a list of paths and patterns"),
        ("artifacts: {files: []}", "artifacts.files is empty: name files"),
        ("artifacts: {files: [1]}", "artifacts.files has 1, which is no text"),
        ("artifacts: {files: [a], name: b}", "artifacts has name, which the local SageMaker"),
        ("artifacts: {files: [a], discard-paths: yes}", "the local SageMaker keeps the folders"),
        ("artifacts: {files: [a], base-directory: 'a*'}", "artifacts.base-directory is 'a*'"),
        ("artifacts: {files: [a], base-directory: 1}", "artifacts.base-directory is 1: name one"),
        ("artifacts: {files: [a], base-directory: /a}", "artifacts has '/a': write a path below"),
        ("artifacts: {files: [a, ../b]}", "artifacts has '../b': write a path below the primary"),
        ("artifacts: {files: ['']}", "artifacts has '': write a path below the primary source"),
        ("env: [A]", "env is ['A']: write a map"),
        ("env: {variables: [A]}", "env.variables is ['A']: write a map"),
        ("env: {variables: {A: [1]}}", "env.variables.A is [1]: write text"),
    ],
)
def test_what_stands_in_the_wrong_place_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the message is below
        Buildspec.parse(f"version: 0.2\n{'' if text.startswith('phases') else SOME_PHASE}\n{text}")
    assert str(refused.value).startswith(message)


def test_json_is_read_as_json_and_not_as_yaml() -> None:
    spec = Buildspec.parse('{\n\t"version": "0.2",\n\t"phases": {"build": {"commands": ["a"]}}\n}')
    assert spec.commands["build"] == ["a"]


def test_true_in_yaml_is_the_text_true() -> None:
    spec = parse("env: {variables: {CI: true}}")
    assert spec.variables == {"CI": "true"}


def test_bash_may_be_asked_for() -> None:
    assert parse("env: {shell: bash}").shell == "bash"
    assert parse("env: {shell: /bin/sh}").shell == "sh"


@pytest.mark.parametrize("folders", ["", ", discard-paths: no"])
def test_artifacts_are_patterns_below_a_folder(folders: str) -> None:
    spec = parse(f"artifacts: {{files: ['**/*', a/b], base-directory: result{folders}}}")
    assert spec.artifacts == Artifacts(("**/*", "a/b"), "result")
    assert parse("artifacts: {files: [a]}").artifacts == Artifacts(("a",), ".")
