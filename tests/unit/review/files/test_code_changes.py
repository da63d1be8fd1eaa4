"""What a report says about changed Python code: its statements, and checks that refuse less."""

from itertools import chain

import pytest

from review.files.code_changes import NO_EFFECT, RENAMED, SAME_PARTS, CodeChanges
from review.files.file_review import FileReview, compare_files

PATH = "constructs/triton_sagemaker/catalog_handler/index.py"
CODE = '''"""Counts shipments."""
import boto3
from re import match

LIMIT = 60 * 2

def handle(event, _context):
    """Return the number of parcels."""
    _check(event["Crate"], event)
    parcels = [row for row in _rows(event["Table"]) if row["weight"] > LIMIT]
    try:
        _publish(parcels)
    except KeyError:
        parcels = []
    return {"Count": str(len(parcels)), "Crate": event["Crate"]}

def _rows(table):
    pages = boto3.client("dynamodb").get_paginator("scan")
    return [row for page in pages.paginate(TableName=table) for row in page["Items"]]

def _check(crate, event):
    if crate != f"crates/{event['Digest']}.box" or event.get("Sealed") is None:
        raise ValueError(f"{crate} is not the crate")
    if not _is_known(crate) and not all(crate):
        raise LookupError(crate)

def _is_known(crate):
    return match("c[0-9]", crate) == crate

def _client(name):
    return boto3.client(name)

def _publish(parcels):
    boto3.client("sns").publish(TopicArn="parcels", Message=str(parcels))
'''


def review(after: str, path: str = PATH) -> FileReview:
    owners = {".github/CODEOWNERS": b"* @acme/ml"}
    sides = {**owners, path: CODE.encode()}, {**owners, path: after.encode()}
    return compare_files(*sides, frozenset({after.encode()}) if path == PATH else frozenset())


def edited(*edits: str) -> str:
    text = CODE
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("edits", "text"),
    [
        (("Return the number", "# why\n    Return no number", "60 * 2", "120"), NO_EFFECT),
        (("def _rows(table)", "def _rows(table: str) -> list[int]"), NO_EFFECT),
        (("import boto3\n", "import boto3\nfrom typing import Any\n"), NO_EFFECT),
        (("pages", "listing", "for page in", "for page  in"), RENAMED),
        (("    pages = boto3", "    client = boto3",
          '("dynamodb").get', '("dynamodb")\n    pages = client.get'), RENAMED),
        (("def _client", "def _aws"), "_client is renamed _aws"),
        (("> LIMIT", ">= LIMIT"), "parcels: row['weight'] > LIMIT -> row['weight'] >="),
        (('"sns"', '"sqs"'), "_publish (Counts shipments.): boto3.client: 'sns' -> 'sqs'"),
        (('str(len(parcels))', '"7"'), "return Count: str(len(parcels)) -> '7'"),
        (("        raise LookupError(crate)", "        return"), "gone: raise LookupError(crate)"),
    ],
)  # fmt: skip
def test_statements_of_a_change(edits: tuple[str, ...], text: str) -> None:
    after = edited(*edits)
    assert text in "; ".join(CodeChanges(CODE.encode(), after.encode()).texts(500))
    result = review(after)
    messages = [danger.message for danger in result.dangers]
    assert any(f"{PATH}: " in line for line in (*result.code, *messages))


@pytest.mark.parametrize(
    "edits",
    [
        ("def _rows(table)", "def _rows(table: print('x'))"),
        ("LIMIT = 60", "LIMIT: print('x') = 60"),
        ("import boto3\n", "import boto3\nimport sabotage\n"),
        ("import boto3\n", "import boto3\nfrom re import sabotage\n"),
        ("import boto3\n", "import boto3\nimport typing_sabotage\n"),
        ("import match", "import search as match"),
        ("LIMIT = 60", "if TYPE_CHECKING:\n    print('x')\nLIMIT = 60"),
        ("LIMIT = 60", "if TYPE_CHECKING:\n    import x\nelse:\n    print('x')\nLIMIT = 60"),
        ('"""Counts', '# coding: utf-7\n# +AAo-print(1)\n"""Counts'),
        ("pages", "rows", "def _rows(table):", "def _rows(table):\n    print(locals())"),
        ("LIMIT = 60 * 2\n\n", "", "def _rows", "LIMIT = 60 * 2\n\ndef _rows"),
        ("def handle", "def handle(:"),
    ],
)  # fmt: skip
def test_effect_is_not_taken_for_a_comment(edits: tuple[str, ...]) -> None:
    texts = CodeChanges(CODE.encode(), edited(*edits).encode()).texts(500)
    assert texts
    assert not {NO_EFFECT, RENAMED} & {*texts}


@pytest.mark.parametrize(
    ("steps", "joined", "is_same"),
    [
        ("a = load(x)\n return store(a)", "return store(load(x))", True),
        ("a = load(x)\n b = a * 2\n return b / 3", "return load(x) * 2 / 3", True),
        ("a = load(x)\n if a:\n  return 1", "if load(x):\n  return 1", True),
        ("a = load(x)\n return store(x) + a", "return store(x) + load(x)", False),
        ("a = load(x)\n return x.size + a", "return x.size + load(x)", False),
        ("a = load(x)\n return [b for b in x if a]", "return [b for b in x if load(x)]", False),
        ("a = load(x)\n return x or a", "return x or load(x)", False),
        ("global a\n a = load(x)\n return a", "global a\n return load(x)", False),
        ("a = load(x)\n return f'{a}'", "return f'{load(x)}'", True),
    ],
)
def test_variable_that_only_the_next_statement_reads(
    steps: str, joined: str, *, is_same: bool
) -> None:
    before, after = (f"def main(x):\n {body}\n".encode() for body in (steps, joined))
    assert (CodeChanges(before, after).texts(500) == [RENAMED]) is is_same


def test_escape_is_not_put_into_a_format_string() -> None:
    """Python 3.11 cannot write an f-string with a backslash in an expression."""
    before = "def main(x):\n a = x + '\\x1b'\n return f'{a}'\n"
    changes = CodeChanges(before.encode(), before.replace("{a}", "{a}!").encode())
    assert changes.warnings == []
    assert changes.texts(500) == ["main: return f'{a}' -> f'{a}!'"]


def test_deep_code_is_not_compared() -> None:
    nested = f"{CODE}\nx = {'-' * 500}1\n"
    (danger,) = (part for part in review(nested).dangers if part.rule == "unreadable_files")
    assert "nested too deeply" in danger.message
    assert "nested too deeply" in review(nested, "stacks/catalog.py").code[0]


def test_many_steps_are_compared() -> None:
    """Joined into one expression, they would be nested too deeply for recursive functions."""
    steps = "".join(f" x{number + 1} = f(x{number})\n" for number in range(400))
    before = f"def main(x0):\n{steps} return x400\n"
    changes = CodeChanges(before.encode(), before.replace("f(x399)", "g(x399)").encode())
    assert "f -> g" in changes.texts(500)[0]


def test_order_and_place_of_code() -> None:
    publishing = "    try:\n        _publish(parcels)\n    except KeyError:\n        parcels = []\n"
    check = '    _check(event["Crate"], event)\n'
    code = review(edited(check, "", publishing, publishing + check)).code[0]
    assert "handle: moved: _check(event['Crate'], event)" in code
    client = CODE[CODE.index("def _client") : CODE.index("def _publish")]
    other = "constructs/triton_sagemaker/clients.py"
    before = {PATH: CODE.encode(), other: b"import boto3\n"}
    after = {PATH: edited(client, "").encode(), other: f"import boto3\n{client}".encode()}
    lines = compare_files(before, after, frozenset(after.values())).code
    assert lines[1:] == (
        "catalog_handler/index.py: gone functions: _client",
        "clients.py: newly calls client; new: def _client(name):; return boto3.client(name)",
    )
    new = compare_files({}, {PATH: CODE.encode()}, frozenset({CODE.encode()})).code[0]
    assert "new functions: handle, _rows, _check" in new


def test_refactoring_keeps_its_parts() -> None:
    body = CODE[CODE.index("    pages") : CODE.index("def _check")]
    calls = 'boto3.client("dynamodb").get_paginator("scan").paginate(TableName=table)'
    after = edited(
        body,
        "    rows = []\n    for page in _pages(table):\n        rows += page['Items']\n"
        f"    return rows\n\ndef _pages(table):\n    return {calls}\n\n",
    )
    result = review(after)
    assert result.dangers == ()
    assert f"rewritten in _rows with {SAME_PARTS}; new: def _pages(table):" in result.code[0]
    assert SAME_PARTS not in review(after.replace('"scan"', '"query"')).code[0]


@pytest.mark.parametrize(
    ("edits", "text"),
    [
        ((" or event.get(\"Sealed\") is None", ""), "refuses less (ValueError)"),
        (("not _is_known(crate) and", "not _is_known(crate) and not event and"), "(LookupError)"),
        (("def _check(crate, event):", "def _check(crate, event):\n    if not event: return"),
         "_check: does not check if not event"),
        (("    _check(event[\"Crate\"], event)\n", ""), "no longer calls _check"),
        (("crates/{event['Digest']}.box", "crates/*.box"), "_check: accepts more: f\"crates/{"),
        (("except KeyError", "except Exception"), "errors of _publish(parcels)"),
        (("def _rows", "@cache\ndef _rows"),
         "_rows gets @cache, so that its result for handle is kept over"),
    ],
)  # fmt: skip
def test_check_that_refuses_less_is_a_danger(edits: tuple[str, ...], text: str) -> None:
    after = edited(*edits)
    if "except Exception" in after:
        after = after.replace("parcels = []", "pass")
    (danger,) = review(after).dangers
    assert danger.rule == "weakened_checks"
    assert text in danger.message
    # the effect of code that only describes a stack is in its template
    assert review(after, "stacks/catalog.py").dangers == ()


@pytest.mark.parametrize(
    "edits",
    [
        ("def _client", "@cache\ndef _client"),
        (" or event.get(\"Sealed\") is None", "", "    if not _is_known(crate) and",
         "    if event.get(\"Sealed\") is None:\n        raise ValueError(crate)\n"
         "    if not _is_known(crate) and"),
        ("crate != f\"crates/{event['Digest']}.box\" or event.get(\"Sealed\") is None",
         "event.get(\"Sealed\") is None or crate != f\"crates/{event['Digest']}.box\""),
        ("not _is_known(crate) and not all(crate)", "not (_is_known(crate) or all(crate))"),
        ("not all(crate)", "not all(crate) or not event"),
        ("    if not _is_known(crate) and not all(crate):\n        raise LookupError(crate)",
         "    if not _is_known(crate) and not all(crate) and not event:\n"
         "        raise LookupError(event)\n"
         "    elif not _is_known(crate) and not all(crate) and event:\n"
         "        raise LookupError(crate)"),
        ("_check", "_verify_crate"),
        ("    except KeyError:\n        parcels = []",
         "    except KeyError as error:\n        raise ValueError from error"),
    ],
)  # fmt: skip
def test_check_that_refuses_as_much(edits: tuple[str, ...]) -> None:
    assert review(edited(*edits)).dangers == ()


MOVED = """    if not _is_known(crate) and not all(crate):
        raise LookupError(crate)
"""
UNUSED = "def _unused(crate):\n"


@pytest.mark.parametrize(
    ("edits", "is_called"),
    [
        ((MOVED, "", "def _client", f"{UNUSED}{MOVED}\ndef _client"), False),
        ((MOVED, "    _unused\n", "def _client", f"{UNUSED}{MOVED}\ndef _client"), False),
        ((MOVED, "", "def _client(name):", f"{UNUSED}{MOVED}\ndef _client(name):\n    _unused(1)"),
         False),
        ((MOVED, "", "def _client", f"def get(crate):\n{MOVED}\ndef _client"), False),
        (("    _check(event[\"Crate\"], event)\n", "", "def _client",
          "def _unused(event):\n    _check(event[\"Crate\"], event)\n\ndef _client"), False),
        (("    try:\n        _publish(parcels)", "    try:\n        pass", "def _client",
          "def _unused(parcels):\n    _publish(parcels)\n\ndef _client"), False),
        ((MOVED, "    _refuse(crate)\n", "def _client",
          f"def _refuse(crate):\n    _used(crate)\n\ndef _used(crate):\n{MOVED}\ndef _client"),
         True),
        ((MOVED, "    Crate()._used(crate)\n", "def _client",
          f"class Crate:\n  def _used(self, crate):\n{MOVED}\ndef _client"), True),
        ((MOVED, "    Crate(crate)\n", "def _client",
          f"class Crate:\n  def __init__(self, crate):\n{MOVED}\ndef _client"), True),
    ],
)  # fmt: skip
def test_statement_that_moves_to_a_new_function(edits: tuple[str, ...], *, is_called: bool) -> None:
    after = edited(*edits)
    assert not review(after).dangers if is_called else review(after).dangers
    text = "; ".join(CodeChanges(CODE.encode(), after.encode()).texts(500))
    assert "nested otherwise" not in text


def test_check_that_moves_to_a_function_of_another_file() -> None:
    other = "delivery/crates.py"
    new = f"def refuse(crate):\n{MOVED}"
    for call, rules in (("crates.refuse(crate)", []), ("crate.refuse(crate)", ["weakened_checks"])):
        head = {"delivery/steps.py": edited(MOVED, f"    {call}\n").encode(), other: new.encode()}
        dangers = compare_files({"delivery/steps.py": CODE.encode()}, head).dangers
        assert [d.rule for d in dangers if d.rule == "weakened_checks"] == rules


@pytest.mark.parametrize(
    ("edits", "text"),
    [
        (("crate != f", "not crate.endswith(f", ".box\" or", ".box\") or"),
         ": the condition of raise ValueError(f'{crate} is not the crate') changes: crate"),
        (("not all(crate)", "not any(crate)"), "the condition of raise LookupError(crate) changes"),
        (("return match(\"c[0-9]\", crate) == crate", "return True"),
         ": no longer runs return match('c[0-9]', crate) == crate if match"),
        (("row[\"weight\"] > LIMIT]", "row]\n    heavy = len(parcels) > LIMIT",
          "heavy = len(parcels) > LIMIT", "heavy = len(parcels) > LIMIT\n    if heavy: return {}"),
         ""),
        (("return {\"Count\"", "return parcels and {\"Count\""), ""),
    ],
)  # fmt: skip
def test_other_condition_in_guarding_code(edits: tuple[str, ...], text: str) -> None:
    after = edited(*edits)
    messages = [
        [danger.message for danger in review(after, path).dangers
         if danger.rule == "weakened_checks"]
        for path in (PATH, "delivery/steps.py")
    ]  # fmt: skip
    assert [text in message for message in messages[0]] == ([True] if text else [])
    assert messages[1] == []


POOLING = """import numpy as np
import triton_python_backend_utils as pb_utils

def respond(request):
    scores = pb_utils.get_input_tensor_by_name(request, "SCORES").as_numpy()
    mask = pb_utils.get_input_tensor_by_name(request, "MASK").as_numpy()
    total = (scores * mask).sum(axis=1)
    return pb_utils.Tensor("MEAN", total / np.maximum(mask.sum(axis=1), 1e-9))
"""


@pytest.mark.parametrize(
    ("edits", "text"),
    [
        (("total / np.maximum(mask.sum(axis=1), 1e-9)", "scores.mean(axis=1)",
          "    mask = pb_utils.get_input_tensor_by_name(request, \"MASK\").as_numpy()\n", "",
          "    total = (scores * mask).sum(axis=1)\n", ""),
         "the model can answer differently: no longer reads the tensor MASK; respond: "),
        (("sum(axis=1)\n", "sum(axis=2)\n"), "respond: axis: 1 -> 2"),
        (("scores * mask", "scores / mask"), "scores * mask -> scores / mask"),
        (("total / np", "1e-9 / np", "1), 1e-9", "1), total"), "1e-09"),
        (("total", "weighted"), ""),
        (("    total = (scores * mask).sum(axis=1)\n", "",
          "total /", "(scores * mask).sum(axis=1) /"), ""),
        (("    total =", "    pb_utils.Logger.log_info('another request')\n    total ="), ""),
    ],
)  # fmt: skip
def test_model_that_can_answer_differently(edits: tuple[str, ...], text: str) -> None:
    after = POOLING
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        assert old in after
        after = after.replace(old, new)
    path = "models/scores/pooling/1/model.py"
    owners = {".github/CODEOWNERS": b"* @acme/ml"}
    before, head = ({**owners, path: side.encode()} for side in (POOLING, after))
    dangers = compare_files(before, head).dangers
    assert [text in danger.message for danger in dangers] == ([True] if text else [])
    assert [danger.rule for danger in dangers] == (["changed_behaviour"] if text else [])


def test_renamed_functions_and_variables_act_alike() -> None:
    assert review(edited("_publish", "_announce")).dangers == ()
    (danger,) = review(edited("_rows", "query", "get_paginator(", "query(")).dangers
    assert "get_paginator" in danger.message
    own, other = "def get(x):\n return x.get()\n", "def drop(x):\n return x.drop()\n"
    assert CodeChanges(own.encode(), other.encode()).texts(500) != ["get is renamed drop"]
    after = edited(
        "def _check(crate, event):\n    if crate != f\"crates/{event['Digest']}.box\" or",
        "def _check(crate, event):\n    box = f\"crates/{event['Digest']}.box\"\n"
        "    if crate != box or",
    )
    assert review(after).dangers == ()


def test_another_function_is_not_a_renamed_method() -> None:
    before = """
class Crate:
    def check(self, event):
        return event["Seal"]

def handle(event):
    check(event)
"""
    after = before.replace("def check", "def skip").replace("    check(event)", "    skip(event)")
    text = "; ".join(CodeChanges(before.encode(), after.encode()).texts(500))
    assert "check -> skip" in text
    assert "Crate.check is renamed Crate.skip" in text
    own = before.replace("def check(self, event):\n        return",
                         "def check(self, event):\n        return self.skip(event) or")  # fmt: skip
    after = own.replace("def check", "def skip")
    assert "renamed" not in "; ".join(CodeChanges(own.encode(), after.encode()).texts(500))


def test_function_that_can_act_differently() -> None:
    after = edited('"sns"', '"sqs"')
    (danger,) = review(after).dangers
    assert danger.message == (
        f"{PATH}: code in AWS can act differently: _publish (Counts shipments.): boto3.client: "
        "'sns' -> 'sqs'"
    )
    assert review(after, "stacks/catalog.py").dangers == ()
    (danger,) = review(after, "delivery/steps.py").dangers
    assert "deliveries can act differently" in danger.message


def test_change_has_what_the_old_documentation_says() -> None:
    documented = {
        "LIMIT = 60 * 2": 'LIMIT = 60 * 2\n"""Maximum kg of a parcel."""',
        "def _client(name):": 'class Depot:\n  """Pays the carriers."""\n  def pay(self, name):',
    }
    before = edited(*chain(*documented.items()))
    after = before.replace("2\n", "3\n").replace("return boto3.client(name)", "return name")
    after = after.replace("Pays the carriers.", "Logs.")
    text = "; ".join(CodeChanges(before.encode(), after.encode()).texts(500))
    assert "LIMIT: 120 -> 180 (Maximum kg of a parcel.)" in text
    assert "Depot.pay (Pays the carriers.): return boto3.client(name) -> name" in text


def test_lost_condition_can_make_code_act_differently() -> None:
    before = "def own(x):\n  if x['a'] == x['b']:\n    return x['b']\n  return x['a']\n"
    nested = "def own(x):\n  return x['b'] if x['a'] == x['b'] else x['a']\n"
    lost = "def own(x):\n  return x['a'] or x['b']\n"
    path = "endpoint_client/items.py"
    for after, rules in ((nested, set[str]()), (lost, {"changed_behaviour"})):
        dangers = compare_files({path: before.encode()}, {path: after.encode()}).dangers
        assert {danger.rule for danger in dangers} - {"unowned_code"} == rules


def test_new_setting_can_make_code_act_differently() -> None:
    path = "endpoint_client/errors.py"
    before = "class Own(Exception):\n    safe = False\n\nclass Other(Own):\n    pass\n"
    after = f"{before}    safe = True\n"
    dangers = compare_files({path: before.encode()}, {path: after.encode()}).dangers
    assert "changed_behaviour" in {danger.rule for danger in dangers}


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("if not x <= limit: raise E", "if x > limit: raise E", "NaN passes: x <= limit -> x > l"),
        ("if x > limit: raise E", "if not x <= limit: raise E", ""),
        ("if not len(x) <= limit: raise E", "if len(x) > limit: raise E", ""),
        ("if not limit <= 3: raise E", "if limit > 3: raise E", ""),
    ],
)
def test_comparison_that_nan_passes(before: str, after: str, text: str) -> None:
    code = "import numpy as np\ndef compare(x, limit):\n    {}\n    return np.max(x)\n"
    changes = CodeChanges(code.format(before).encode(), code.format(after).encode())
    warnings = "; ".join(map(str, changes.warnings))
    assert text in warnings
    assert ("NaN" in warnings) == bool(text)


def test_danger_names_the_other_functions_that_can_act_differently() -> None:
    weaker = edited(' or event.get("Sealed") is None', "", '"sns"', '"sqs"')
    (danger,) = review(weaker).dangers
    assert danger.consequences == ("code in AWS can act differently also in _publish",)
    assert review(weaker, "stacks/catalog.py").dangers == ()


def test_danger_of_the_module_explains_no_function_of_its_first_word() -> None:
    before = "LIMIT = read()\n\ndef errors(event):\n    return event.a(1)\n"
    after = before.replace("LIMIT = read()", "try:\n    LIMIT = read()\nexcept Exception: pass")
    after = after.replace("event.a(1)", "event.b(1)")
    (danger,) = compare_files({PATH: before.encode()}, {PATH: after.encode()},
                              frozenset({after.encode()})).dangers[:1]  # fmt: skip
    assert "code in AWS can act differently also in errors" in danger.consequences


def test_answer_that_depends_on_another_condition() -> None:
    before = '''def _restore(item, digest):
    """Restore what this deploy wrote.

    Other writers keep theirs.
    """
    if item.get("list") != digest:
        return None
    if not item["archive"]:
        print("none")
        return None
    return item["previous"]
'''

    def messages(old: str, new: str) -> str:
        files = {PATH: before.encode()}, {PATH: before.replace(old, new).encode()}
        dangers = compare_files(*files).dangers
        return "\n".join(danger.message for danger in dangers if danger.rule == "weakened_checks")

    text = "_restore (Restore what this deploy wrote.): the condition of return None changes: "
    assert f"{text}item.get('list') != digest -> not item" in messages(
        'item.get("list") != digest', "not item"
    )
    assert "no longer runs return None if not item['archive']" in messages(
        '        print("none")\n        return None\n', '        print("none")\n'
    )
    flipped = '    if item["archive"]:\n        return item["previous"]\n    return None\n'
    start = before.index('    if not item["archive"]')
    assert messages(before[start:], flipped) == ""
    assert "changes: not item['archive'] -> item['archive']" in messages(
        'if not item["archive"]', 'if item["archive"]'
    )
