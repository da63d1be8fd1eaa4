"""The repository's own rules: what no linter knows."""

import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_constructs_folder_is_no_package_because_it_would_hide_pypis_constructs() -> None:
    # With an __init__.py there, `from constructs import Construct` finds our folder first and
    # fails (aws-cdk#19301).
    assert not (ROOT / "constructs" / "__init__.py").exists()
    assert "site-packages" in str(_origin("constructs"))


def test_construct_library_is_imported_from_this_repository() -> None:
    assert _origin("triton_sagemaker").parent == ROOT / "constructs" / "triton_sagemaker"


def test_gpu_build_step_installs_the_locked_versions() -> None:
    locked = _pins(ROOT / "requirements.txt")
    extra = _pins(ROOT / "requirements-gpu.txt")
    assert extra
    assert {name: locked.get(name) for name in extra} == extra


def test_readme_names_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "make demo" in readme
    assert "make test" in readme


def test_readme_and_docs_link_to_files_that_exist() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_no_file_in_git_names_a_machine_or_a_package_index() -> None:
    words = [f"{ROOT}/", "--index-url", "--find-links", "pypi.org/simple"]
    found = subprocess.run(
        [
            "git",
            "grep",
            "-nF",
            *(part for word in words for part in ("-e", word)),
            "--",
            ".",
            ":!tests",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout == ""


def _origin(package: str) -> Path:
    """Where a package would be imported from; importing these starts jsii's Node."""
    found = find_spec(package)
    assert found
    assert found.origin
    return Path(found.origin)


def _pins(path: Path) -> dict[str, str]:
    lines = [line.strip() for line in path.read_text().splitlines()]
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))
