"""Literals of Python code that change, and texts that are put together from several."""

import pytest

from review.files.code_changes import CodeChanges
from review.files.file_review import compare_files
from review.files.python_code import texts

PATH = "constructs/triton_sagemaker/build_handler/index.py"
CODE = '''
RETRY = 3
MAX_BUILDS, GRACE = 4, 60 * 2
"""Not compared: 5."""
def handle(event, attempts=3):
    """Not compared: 6."""
    if len(event) > 10:
        return {"Timeout": 30}
    return client("build", verify=True, pause=1.5)
'''
CHANGES = {
    "assigned": ("MAX_BUILDS, GRACE = 4", "MAX_BUILDS, GRACE = 64", ("MAX_BUILDS", 4, 64)),
    "computed": ("60 * 2", "60 // 2", ("GRACE", 120, 30)),
    "default": ("attempts=3", "attempts=30", ("attempts", 3, 30)),
    "compared": ("> 10", "> 100", ("len(event)", 10, 100)),
    "value of a key": ('"Timeout": 30', '"Timeout": 3', ("Timeout", 30, 3)),
    "argument": ("verify=True", "verify=False", ("verify", True, False)),
    "text": ('client("build"', 'client("s3"', ("client", "build", "s3")),
}
EQUAL = {
    "another spelling": ("60 * 2", "120"),
    "docstring": ("Not compared: 6", "Not compared: 7"),
    "other name": ("MAX_BUILDS", "BUILDS"),
    "other limit": ("RETRY = 3", "RETRIES = 100"),
}


def literal_changes(before: bytes, after: bytes) -> list[tuple[str, object, object]]:
    changes = CodeChanges(before, after).changes
    return [(change.name, *change.literals) for change in changes if change.literals]


@pytest.mark.parametrize("title", CHANGES)
def test_changed_literal(title: str) -> None:
    old, new, change = CHANGES[title]
    before, after = CODE.encode(), CODE.replace(old, new).encode()
    assert literal_changes(before, after) == [change]


@pytest.mark.parametrize("title", EQUAL)
def test_equal_literals(title: str) -> None:
    old, new = EQUAL[title]
    assert not literal_changes(CODE.encode(), CODE.replace(old, new).encode())


def test_limit_of_code_in_aws_is_a_danger() -> None:
    before, after = CODE.encode(), CODE.replace("= 4", "= 64").encode()
    owners = {".github/CODEOWNERS": b"* @acme/ml"}
    sides = {**owners, PATH: before}, {**owners, PATH: after}
    (danger,) = compare_files(*sides, frozenset({after})).dangers
    assert (danger.rule, danger.message) == ("changed_limits", f"{PATH}: MAX_BUILDS 4 -> 64")
    review = compare_files(*sides)
    assert review.dangers == ()
    assert review.code[0].endswith("index.py: MAX_BUILDS: 4 -> 64")


@pytest.mark.parametrize(
    "expression",
    [
        '"AKIAW63OC" "BK3VFZRRRAD"',
        '"AKIAW63OC" + "BK3VFZRRRAD"',
        '"".join(["AKIAW63OC", "BK3VFZRRRAD"])',
        'f"{PREFIX}BK3VFZRRRAD"',
        '"DARRRZFV3KBCO36WAIKA"[::-1]',
        'base64.b64decode("QUtJQVc2M09DQkszVkZaUlJSQUQ=").decode()',
    ],
)
def test_text_in_pieces(expression: str) -> None:
    code = f'PREFIX = "AKIAW63OC"\nclient(key={expression})\n'
    assert 'key = "AKIAW63OCBK3VFZRRRAD"' in [*texts(code.encode())]


@pytest.mark.parametrize(
    ("old", "new", "other", "is_lost"),
    [
        ('raise Refused("no owner")', "pass", "", True),
        ('raise Refused("no owner")', 'raise Refused("no owner at all")', "", False),
        ('raise Refused("no owner")', "raise NoOwner(x)", "", False),
        ('raise Refused("no owner")', "check(x)", 'def check(x): raise Refused("no owner")', False),
    ],
)
def test_check_that_no_longer_refuses(old: str, new: str, other: str, *, is_lost: bool) -> None:
    code = f"def deliver(x):\n    if not x:\n        {old}\n"
    base = {"delivery/a.py": code.encode(), "delivery/b.py": b""}
    head = {"delivery/a.py": code.replace(old, new).encode(), "delivery/b.py": other.encode()}
    messages = [danger.message for danger in compare_files(base, head).dangers
                if danger.rule == "weakened_checks"]  # fmt: skip
    text = "delivery/a.py: no longer refuses: raise Refused('no owner') if not x"
    assert messages == ([text] if is_lost else [])


@pytest.mark.parametrize(
    ("after", "other", "is_lost"),
    [("", "", True), ("refuse_gold(x)", "", False), ("", "verify_hull(1)", False)],
)
def test_check_of_another_file_that_is_no_longer_called(
    after: str, other: str, *, is_lost: bool
) -> None:
    paths = "delivery/ferry.py", "delivery/harbour.py"
    code = "def sail(x):\n    {}\n    return x\n"
    sides = code.format("verify_hull(x)"), code.format(after or "pass")
    base, head = (
        dict(zip(paths, (text.encode(), content), strict=True))
        for text, content in zip(sides, (b"", other.encode()), strict=True)
    )
    messages = [danger.message for danger in compare_files(base, head).dangers
                if danger.rule == "weakened_checks"]  # fmt: skip
    assert messages == (["delivery/ferry.py: no longer calls verify_hull"] if is_lost else [])
