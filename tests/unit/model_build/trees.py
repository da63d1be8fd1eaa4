"""Hypothesis strategy of file trees, and a function that writes one to disk."""

from pathlib import Path

from hypothesis import strategies as st

Tree = dict[tuple[str, ...], bytes]
"""Parts of a path -> content of the file."""


def trees(names: st.SearchStrategy[str], *, max_bytes: int) -> st.SearchStrategy[Tree]:
    """Return a strategy of trees of up to five files, up to three levels deep."""
    paths = st.lists(names, min_size=1, max_size=3).map(tuple)
    contents = st.binary(max_size=max_bytes)
    return st.dictionaries(paths, contents, max_size=5).filter(is_writable)


def is_writable(tree: Tree) -> bool:
    """Return whether no path is both a file and a folder."""
    return not any(path[:depth] in tree for path in tree for depth in range(1, len(path)))


def write(tree: Tree, folder: Path) -> Path:
    """Write the files in the order of the tree, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in tree.items():
        file = folder.joinpath(*path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder
