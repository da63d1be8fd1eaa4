"""The documentation site, built from these pages and the packages' docstrings: `make docs`."""

import os
import re
from pathlib import Path
from typing import Any

project = "Triton on SageMaker"
extensions = ["autoapi.extension", "myst_parser", "sphinxcontrib.mermaid"]
exclude_patterns = ["examples", "requirements.txt"]
html_theme = "furo"
html_title = project

# The pages have no owners (CODEOWNERS): they can insert neither HTML nor files of the machine, also
# not by the directives that docutils.conf refuses.
myst_disable_syntax = ["html_block", "html_inline"]
COMMENT = re.compile(r"^<!-- .* -->$", re.MULTILINE)

myst_enable_extensions = ["linkify"]
myst_fence_as_directive = ["mermaid"]
myst_heading_anchors = 4
myst_linkify_fuzzy_links = False

default_role = "code"  # docstrings have single backticks
autoapi_dirs = [
    "../constructs/triton_sagemaker",
    "../endpoint_client",
    "../local_sagemaker",
    "../platform_facts",
]
autoapi_add_toctree_entry = False
autoapi_ignore = ["*/tests/*", "*_handler/*"]
autoapi_options = ["imported-members", "members", "undoc-members"]
autoapi_root = "api"
suppress_warnings = ["autoapi.python_import_resolution"]  # constants of modules left out below

PUBLIC_MODULES = {
    "endpoint_client",
    "endpoint_client.metrics",
    "local_sagemaker",
    "local_sagemaker.api",
    "platform_facts",
    "triton_sagemaker",
}
OTHER_PAGES = {
    "transitions": Path("../tests/transitions/transitions.md"),
    "local-sagemaker": Path("../local_sagemaker/docs/reference.md"),
    "local-sagemaker-faults": Path("../local_sagemaker/docs/faults.md"),
}
"""Files of another folder that the site shows: an empty file here stands for each."""
for _name in OTHER_PAGES:
    Path(__file__).with_name(f"{_name}.md").touch()
REPOSITORY = "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}/tree/{GITHUB_SHA}"
"""Where files of the repository are shown; the variables are those of GitHub's workflows."""
LINK = re.compile(r"(!?)\[([^]]*)\]\((?!https?:)([^)#\s]+)((?:#[^)]*)?)\)")


def skip_private_module(
    app: object, kind: str, name: str, member: object, skip: bool, options: object
) -> bool | None:
    """Return whether autoapi leaves a module out, and None for what is not a module."""
    return name not in PUBLIC_MODULES if kind in {"package", "module"} else None


def rewrite_links(app: Any, page: str, source: list[str]) -> None:
    """Replace a page by that of another folder, and point links to where their targets are.

    Files that are not pages are shown by the repository; where its address is not known, such as
    on a laptop, the text of the link stays.
    """
    root = Path(app.srcdir)
    folder = root
    if other := OTHER_PAGES.get(page):
        source[0] = (root / other).read_text()
        folder = (root / other).parent
    pages = {(root / other).resolve(): f"{name}.md" for name, other in OTHER_PAGES.items()}

    def rewritten(link: re.Match[str]) -> str:
        image, text, path, anchor = link.groups()
        file = (folder / path).resolve()
        if image:
            return f"![{text}]({os.path.relpath(file, root)})"
        if file.suffix == ".md" and (name := pages.get(file) or _page(file, root)):
            return f"[{text}]({name}{anchor})"
        if "GITHUB_SHA" not in os.environ:
            return text
        address = REPOSITORY.format_map(os.environ)
        return f"[{text}]({address}/{file.relative_to(root.parent)}{anchor})"

    source[0] = LINK.sub(rewritten, COMMENT.sub("", source[0]))


def _page(file: Path, root: Path) -> str | None:
    return str(file.relative_to(root)) if file.is_relative_to(root) else None


def setup(app: Any) -> None:
    """Connect the functions of this file."""
    app.connect("autoapi-skip-member", skip_private_module)
    app.connect("source-read", rewrite_links)
