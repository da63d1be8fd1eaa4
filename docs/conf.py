"""The documentation site, built from these pages and the packages' docstrings: `make docs`."""

import os
import re
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

project = "Triton on SageMaker"
extensions = ["autoapi.extension", "myst_parser", "sphinxcontrib.mermaid"]
exclude_patterns = ["examples", "requirements.txt"]
html_theme = "furo"
html_title = project

# The pages have no owners (CODEOWNERS): they have CommonMark and tables without HTML, so that
# `refuse_insertions` reads the same as MyST.
myst_disable_syntax = [
    *("html_block", "html_inline"),
    *("front_matter", "myst_block_break", "myst_line_comment", "myst_role", "myst_target"),
    *("footnote_def", "footnote_ref"),
]
COMMENT = re.compile(r"^<!-- .* -->$", re.MULTILINE)

myst_fence_as_directive = ["mermaid"]
myst_heading_anchors = 4

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

FENCES = {
    "{toctree}": re.compile(r"(:caption: [\w ]+\n)?:hidden:\n\n([\w/-]+\n)+"),
    "mermaid": re.compile(r"\s*[^\s:-].*", re.DOTALL),  # without options: captions can have images
}
"""The directives of pages, with their content."""
ADDRESSES = {
    "image": ("src", re.compile(r"images/[\w-]+\.\w+")),
    "link_open": ("href", re.compile(r"(https?:|mailto:).*|([\w/-]+\.md)?(#.*)?")),
}
"""The attribute of a token that has an address, and its form after `rewrite_links`."""


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
    if page not in OTHER_PAGES and not page.startswith(f"{autoapi_root}/"):
        refuse_insertions(page, source[0])


def refuse_insertions(page: str, text: str) -> None:
    """Raise an error for a page that could run code, or publish scripts or files of the machine."""
    if text.startswith("---"):
        raise ValueError(f"docs/{page}.md:1: front matter replaces settings of conf.py: remove it")
    parser = MarkdownIt("commonmark").enable("table").disable(myst_disable_syntax, True)
    parser.validateLink = lambda _: True  # type: ignore[method-assign]
    for block in parser.parse(text):
        place = f"docs/{page}.md:{block.map[0] + 1 if block.map else 1}"
        for token in (block, *(block.children or ())):
            words = token.info.split() if token.type == "fence" else []
            if words and (words[0] in FENCES or words[0].startswith("{")):
                content = FENCES.get(" ".join(words))
                if not content or not content.fullmatch(token.content):
                    raise ValueError(f"{place}: {token.info}: a directive: remove it")
            attribute, form = ADDRESSES.get(token.type, ("", None))
            address = str(token.attrGet(attribute))
            if form and not form.fullmatch(address):
                raise ValueError(
                    f"{place}: {address}: not an image of docs/images, a page or https:"
                )


def _page(file: Path, root: Path) -> str | None:
    return str(file.relative_to(root)) if file.is_relative_to(root) else None


def setup(app: Any) -> None:
    """Connect the functions of this file."""
    app.connect("autoapi-skip-member", skip_private_module)
    app.connect("source-read", rewrite_links)
