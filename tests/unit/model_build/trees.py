"""Folders of files, drawn and written."""

from pathlib import Path

from hypothesis import strategies as st

Tree = dict[tuple[str, ...], bytes]
"""The parts of a file's path -> its content."""


def trees(names: st.SearchStrategy[str], *, bytes_of_a_file: int) -> st.SearchStrategy[Tree]:
    """Draw up to five files, up to three levels deep."""
    paths = st.lists(names, min_size=1, max_size=3).map(tuple)
    contents = st.binary(max_size=bytes_of_a_file)
    return st.dictionaries(paths, contents, max_size=5).filter(can_be_written)


def can_be_written(tree: Tree) -> bool:
    """Whether no file is a folder too."""
    return not any(path[:cut] in tree for path in tree for cut in range(1, len(path)))


def write(tree: Tree, folder: Path) -> Path:
    """Write the files in the tree's order; return the folder, which is there even without any."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in tree.items():
        file = folder.joinpath(*path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder
