"""The file that `up --keep` restores, without a server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ministack.services.cloudformation import _stacks

from local_sagemaker.folder import Folder
from local_sagemaker.kept_state import CONFLICT, SAVE_PATH, KeptServices
from local_sagemaker.state_file import StateFile

SAVED = dict.fromkeys(KeptServices._fields)
KEY = "000000000000", "us-east-1", "stage"


@pytest.fixture
def stack() -> Iterator[dict[str, Any]]:
    """The only stack."""
    _stacks._data[KEY] = stack = {
        "StackStatus": "CREATE_COMPLETE",
        "URL": "http://127.0.0.1:1111/x",
    }
    yield stack
    del _stacks._data[KEY]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    folder.kept.mkdir()
    return folder


async def save(folder: Folder, *, query: bytes = b"") -> int:
    """Save records of the main process; return the HTTP status."""
    sent: list[dict[str, Any]] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": json.dumps(SAVED).encode()}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "path": SAVE_PATH, "query_string": query}
    await StateFile(folder, 1111)(scope, receive, send)
    return int(sent[0]["status"])


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        ("CREATE_COMPLETE", 200),
        ("REVIEW_IN_PROGRESS", 200),
        ("CREATE_IN_PROGRESS", CONFLICT),
        ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", CONFLICT),
        ("DELETE_IN_PROGRESS", CONFLICT),
    ],
)
async def test_a_changing_stack_is_not_saved(
    folder: Folder, stack: dict[str, Any], status: str, answer: int
) -> None:
    stack["StackStatus"] = status
    assert await save(folder, query=b"end") == answer
    assert folder.kept_state.exists() == folder.kept_end.exists() == (answer == 200)


async def test_urls_have_the_new_port(folder: Folder, stack: dict[str, Any]) -> None:
    stack["Other"] = "127.0.0.1:11110"
    assert await save(folder) == 200
    assert json.loads(folder.kept_state.read_text())["records"] == SAVED
    StateFile(folder, 2222).restore()
    assert _stacks._data[KEY]["URL"] == "http://127.0.0.1:2222/x"
    assert _stacks._data[KEY]["Other"] == "127.0.0.1:11110"
