"""The file that `up --keep` restores, in ministack's process."""

import json
import os
import re
import shutil
import time
from typing import Any

from ministack import app
from ministack.core import persistence
from ministack.services import cloudwatch, cloudwatch_logs, lambda_svc, s3
from ministack.services.cloudformation import _stacks

from local_sagemaker.api import send_response
from local_sagemaker.folder import Folder
from local_sagemaker.front.ministack import request_body
from local_sagemaker.hosting.invocation import Receive, Send
from local_sagemaker.kept_state import CONFLICT, FORMAT, SAVE_PATH, KeptState

CLOUDWATCH = (
    "alarms", "composite_alarms", "composite_triggers", "alarm_history", "dashboards",
    "resource_tags",
)  # fmt: skip
LOGS = "resource_policies", "metric_filters"
"""Stores of two services that are saved: metrics and log events are large, and change always."""


class StateFile:
    """An ASGI application that writes the file when it is sent the records of the main process.

    Other requests are forwarded to ministack. `port` is the public port of the local SageMaker.
    This class uses private names of the pinned version of ministack. Its own persistence saves only
    at the end, and starts empty if a file is damaged.
    """

    def __init__(self, folder: Folder, port: int) -> None:
        self._folder, self._port = folder, port

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request; a request to save gets `CONFLICT` while a stack is changing."""
        if scope.get("path") != SAVE_PATH:
            await app.app(scope, receive, send)
            return
        records = json.loads(b"".join([part async for part in request_body(receive)]))
        is_changing = any(_is_changing(stack["StackStatus"]) for stack in _stacks._data.values())
        if not is_changing:
            self._write(records)
            if scope["query_string"] == b"end":
                self._folder.kept_end.touch()
        await send_response(send, (CONFLICT if is_changing else 200, {}, b""))

    def _write(self, records: dict[str, Any]) -> None:
        """Replace the file atomically, also for a crash of the machine."""
        state = {
            "format": FORMAT,
            "port": self._port,
            "saved_at": time.time(),
            "records": records,
            "services": _services(),
        }
        new = self._folder.kept_state.with_suffix(".new")
        new.unlink(missing_ok=True)
        with new.open("x") as file:
            json.dump(state, file, default=persistence._json_default)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._folder.kept_state)

    def restore(self) -> None:
        """Restore ministack's services from the file, if there is one."""
        # Otherwise it deletes code that the file still names, before the file is replaced.
        lambda_svc._prune_orphan_code_blobs = lambda _: None
        kept = KeptState.read(self._folder)
        self._folder.kept_end.unlink(missing_ok=True)
        if kept is None:
            return
        url = re.compile(rf"(127\.0\.0\.1|localhost):{kept.port}\b")
        text = url.sub(rf"\1:{self._port}", kept.text)
        services = json.loads(text, object_hook=persistence._json_object_hook)["services"]
        for name, state in services.items():
            app._get_module(app._state_map[name]).load_persisted_state(state)
        for account, bucket in s3._buckets._data.keys() - services["s3"]["buckets_meta"]._data:
            del s3._buckets._data[account, bucket]  # created after the file was written
            shutil.rmtree(self._folder.objects / account / bucket, ignore_errors=True)


def _is_changing(status: str) -> bool:
    """Return whether an operation of CloudFormation is in progress; not if it only has a change
    set."""
    return status.endswith("_IN_PROGRESS") and status != "REVIEW_IN_PROGRESS"


def _services() -> dict[str, Any]:
    """Return the state of ministack's services."""
    groups = type(cloudwatch_logs._log_groups)()
    for key, group in cloudwatch_logs._log_groups._data.items():
        groups._data[key] = {**group, "streams": {}}
    states = app._build_persistence_save_dict()
    del states["cloudwatch"], states["cloudwatch_logs"]
    return {
        **{name: get() for name, get in states.items()},
        "cloudwatch": {name: getattr(cloudwatch, f"_{name}") for name in CLOUDWATCH},
        "cloudwatch_logs": {
            "log_groups": groups,
            **{name: getattr(cloudwatch_logs, f"_{name}") for name in LOGS},
        },
    }
