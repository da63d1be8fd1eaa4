"""The count of code lines."""

from tools.lint import lines

SOURCE = '''\
"""A docstring,
of two lines."""

# A comment.
TEXT = """
a value is code"""


def f(a: int) -> int:
    """Return a."""

    return a  # code with a comment
'''


def test_docstrings_comments_and_blank_lines_are_not_counted() -> None:
    assert lines.code_lines(SOURCE) == 4
    assert lines.code_lines("") == 0
