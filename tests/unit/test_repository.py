"""Rules of the repository that no linter checks."""

import ast
import re
import sys
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import pytest
import yaml

import platform_facts
from cli.commands import COMMANDS, NEED_ALL_PACKAGES
from delivery.permissions.markdown import render
from local_sagemaker.prerequisites import IMAGE_PYTHON
from platform_facts.rules.__main__ import page as rules_page
from tests.articles import page as articles_page
from tests.processes import run_program
from tools.bench import BENCHMARKS
from tools.bench.page import plot_path, render_page

ROOT = Path(__file__).parents[2]
LOCAL_SAGEMAKER = ROOT / "local_sagemaker"
BUILD_SOURCES = [ROOT / name for name in ("model_build", "plan", "platform_facts")]
PROVIDED_PACKAGES = {
    *("aws_croniter", "detect_secrets"),
    *("keras", "nvidia", "tensorflow", "tensorrt", "tf2onnx"),
}
"""Packages of stages and `lint`, which builds do not run, of recipe environments, or of the NVIDIA
image."""


def test_constructs_folder_is_not_a_package() -> None:
    # With an __init__.py, `from constructs import Construct` would import this folder instead of
    # the PyPI package (aws-cdk#19301).
    assert not (ROOT / "constructs" / "__init__.py").exists()
    assert "site-packages" in str(_module_file("constructs"))


def test_paths_in_contributing_exist() -> None:
    paths = re.findall(r"`([\w.*-]+/[\w./*-]*)`", (ROOT / "CONTRIBUTING.md").read_text())
    assert paths
    missing = [path for path in paths if not list(ROOT.glob(path.rstrip("/")))]
    assert missing == [], "CONTRIBUTING.md: write paths from the repository's root"


def test_construct_library_is_imported_from_this_repository() -> None:
    assert _module_file("triton_sagemaker").parent == ROOT / "constructs" / "triton_sagemaker"


@pytest.mark.parametrize("name", ["build", "cdk"])
def test_partial_locks_have_the_versions_of_the_full_lock(name: str) -> None:
    locked = _pinned_versions(ROOT / "requirements.txt")
    pins = _pinned_versions(ROOT / "requirements" / f"{name}.txt")
    assert pins
    assert {package: locked.get(package) for package in pins} == pins


IMPORT_WITHOUT = """
import importlib, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
for module in sys.argv[2:]:
    importlib.import_module(module)
"""


def test_cdk_lock_covers_imports_of_synth_and_reviews() -> None:
    installed = _pinned_versions(ROOT / "requirements/cdk.txt").keys()
    missing = [
        module
        for module, names in packages_distributions().items()
        if installed.isdisjoint(map(_normalize_name, names)) and "triton-sagemaker" not in names
    ]
    assert {"torch", "pytriton", "geventhttpclient"} <= set(missing)
    commands = [
        command.module for name, command in COMMANDS.items() if name not in NEED_ALL_PACKAGES
    ]
    pages = ["delivery.permissions.markdown", "platform_facts.rules.__main__"]
    pages += ["tests.articles", "tools.bench.page"]
    modules = ["app", "review.judge", *pages, *commands]
    program = [sys.executable, "-c", IMPORT_WITHOUT, " ".join(missing), *modules]
    run_program(*program, cwd=ROOT)


def test_build_lock_covers_imports_of_builds() -> None:
    locked, distributions = (
        _pinned_versions(ROOT / "requirements/build.txt"),
        packages_distributions(),
    )
    sources = (*BUILD_SOURCES, *ROOT.glob("models/*/*.py"))
    imported_packages = set().union(
        *(_imported_packages(file) for root in sources for file in _python_files(root))
    )
    imported_packages -= sys.stdlib_module_names | {source.stem for source in BUILD_SOURCES}
    missing = {
        package
        for package in imported_packages
        if locked.keys().isdisjoint(map(_normalize_name, distributions.get(package, ())))
    }
    assert {"torch", "yaml"} <= imported_packages
    assert missing <= PROVIDED_PACKAGES
    assert locked.keys().isdisjoint({"aws-cdk-lib", "ministack", "gevent", "pytest"})


def test_gpu_lock_has_tensorrt_version_of_the_stages() -> None:
    values = {
        platform_facts.release(yaml.safe_load(path.read_text())["release"]).tensorrt
        for path in (ROOT / "stages" / "dev.yaml", ROOT / "stages" / "prod.yaml")
    }
    ((name, version),) = _pinned_versions(ROOT / "requirements/gpu.txt").items()
    assert name == "tensorrt-cu13"
    assert {re.sub(r"\.post\d+$", "", version)} == values


def test_links_and_anchors_in_readme_and_docs_exist() -> None:
    pages = {page: page.read_text() for page in (ROOT / "README.md", LOCAL_SAGEMAKER / "README.md")}
    for folder in (ROOT / "docs", LOCAL_SAGEMAKER / "docs"):
        pages |= {page: page.read_text() for page in folder.glob("*.md")}
    # `make docs` writes these: links to them would lead nowhere on GitHub.
    texts = {"rules.md": rules_page(), "permissions.md": render(), "articles.md": articles_page()}
    texts["performance.md"] = render_page()
    pages |= {ROOT / "docs" / name: text for name, text in texts.items()}
    written = {ROOT / "docs" / name for name in texts} | set(map(plot_path, BENCHMARKS))
    for page, text in pages.items():
        for link, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", text):
            target = (page.parent / link).resolve() if link else page
            if page not in written:
                assert target not in written, f"{page.name} links to {link}, which is not in git"
            assert target in written or target.exists(), f"{page.name} links to {link}"
            if anchor and target.suffix == ".md":
                target_text = pages.get(target) or target.read_text()
                assert anchor in _anchors(target_text), f"{page.name} links to {link}#{anchor}"


def _anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and MyST name them."""
    without_code = re.sub(r"^(`{3,}).*?^\1", "", text, flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", without_code, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_rules_in_the_docs_exist_in_the_review() -> None:
    """The first column of the tables of rules; a rule is a function or a string."""
    code = "\n".join(path.read_text() for path in (ROOT / "review").rglob("*.py"))
    sections = (ROOT / "docs" / "review.md").read_text().split("| Rule | Detects |\n")[1:]
    names = [
        name
        for section in sections
        for line in section.partition("\n\n")[0].splitlines()[1:]
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    ]
    assert len(names) > 40
    assert [name for name in names if not re.search(rf'def {name}\(|"{name}"', code)] == []


def test_names_in_the_docs_exist_in_the_code() -> None:
    command = ["git", "ls-files", "*.py", "*.toml", "*.yaml", "*.json", ":!docs", ":!tests"]
    files = run_program(*command, cwd=ROOT).stdout
    code = {
        word for file in files.split() for word in re.findall(r"\w+", (ROOT / file).read_text())
    }
    for page in (ROOT / "docs").glob("*.md"):
        names = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", page.read_text()))
        assert names <= code, f"{page.name}: {names - code}"


INSERTIONS = {
    "front matter": "---\nmyst: {enable_extensions: [substitution], disable_syntax: []}\n---\n",
    "reStructuredText": "- a\n\n  > ~~~~ {eval-rst}\n  > .. literalinclude:: /etc/passwd\n",
    "diagram in a file": "```mermaid /etc/passwd\n```\n",
    "image in a caption": "```mermaid\n\n:caption: ![](/etc/passwd)\n\npie\n```\n",
    "address in a list of pages": "```{toctree}\n:hidden:\n\nx <javascript://%0aa()>\n```\n",
    "image of the machine": "![a][b]\n\n[b]: ../../secret.png\n",
    "image elsewhere": "| a |\n| - |\n| ![a](https://example.com/a.png) |\n",
    "file of the machine": '[a](/etc/passwd "title")\n',
    "download": "<path:../../secret>\n",
    "script": "[a]( javascript:a() )\n",
}


@pytest.mark.parametrize("title", INSERTIONS)
def test_pages_insert_neither_html_nor_files(title: str) -> None:
    """Nobody has to approve a page (CODEOWNERS), and the site shows it."""
    settings = run_path(str(ROOT / "docs" / "conf.py"))
    assert {"html_block", "html_inline", "myst_role"} <= {*settings["myst_disable_syntax"]}
    with pytest.raises(ValueError, match=r"docs/new.md:\d: "):
        settings["rewrite_links"](SimpleNamespace(srcdir=ROOT / "docs"), "new", [INSERTIONS[title]])


def test_no_file_contains_local_paths_or_package_indexes() -> None:
    forbidden_texts = [f"{ROOT}/", "--index-url", "--find-links", "pypi.org/simple"]
    patterns = [option for text in forbidden_texts for option in ("-e", text)]
    command = ["git", "grep", "-nF", *patterns, "--", ".", ":!tests"]
    process = run_program(*command, code=None, cwd=ROOT)
    assert process.stdout == ""


def _module_file(package: str) -> Path:
    """Return the file of a package without importing it, which would start the jsii process."""
    result = find_spec(package)
    assert result
    assert result.origin
    return Path(result.origin)


def _pinned_versions(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==([^\s;]+)", path.read_text(), re.MULTILINE))


def _normalize_name(name: str) -> str:
    """Return the normalised name of a distribution."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _python_files(root: Path) -> list[Path]:
    return [root] if root.is_file() else [*root.rglob("*.py")]


def _imported_packages(path: Path) -> set[str]:
    """Return the packages that a file imports, without those under TYPE_CHECKING."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    names = [
        name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
    ]
    names += [
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and not node.level
    ]
    return {name.partition(".")[0] for name in names}


def test_local_stage_and_local_sagemaker_have_the_same_python() -> None:
    stage = yaml.safe_load((ROOT / "stages" / "local.yaml").read_text())
    assert str(platform_facts.release(stage["release"]).python).startswith(f"{IMAGE_PYTHON}.")
