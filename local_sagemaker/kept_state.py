"""The state that `up --keep` restores: one file, which is replaced after changes.

ministack's process writes the file (`state_file`), with its own services and the records of the
main process (`front.saver`), so that both are of the same moment.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, NamedTuple

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.folder import Folder

FORMAT = f"1, ministack {version('ministack')}"
"""The format of the file: that of this package and of ministack's services."""
SAVE_PATH = "/_local_sagemaker/save"
"""Path of ministack's process to which the main process sends its records."""
CONFLICT = 409
"""HTTP status of the answer while a stack is changing: nothing is saved."""


class KeptServices(NamedTuple):
    """The services of the main process whose records are in the file, under the fields' names."""

    hosting: Any
    scaling: Any
    codebuild: Any


@dataclass(frozen=True)
class KeptState:
    """The content of the file; `port` is the port of the local SageMaker that wrote it.

    `has_ended` is False if that was killed, or ended while a stack was changing.
    """

    text: str
    records: dict[str, Any]
    port: int
    saved_at: datetime
    has_ended: bool

    @classmethod
    def read(cls, folder: Folder) -> "KeptState | None":
        """Return the state of a folder, None if there is none. Raise `LocalSageMakerError`."""
        try:
            text = folder.kept_state.read_text()
            state = json.loads(text)
            if state["format"] != FORMAT:
                raise _unusable(folder, f"has the format {state['format']}, not {FORMAT}")
            port, saved_at = int(state["port"]), datetime.fromtimestamp(state["saved_at"], UTC)
            if not 1 <= port <= 65535:
                raise _unusable(folder, f"is damaged (port {port})")
            records = {name: state["records"][name] for name in KeptServices._fields}
            return cls(text, records, port, saved_at, folder.kept_end.exists())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise _unusable(folder, f"is damaged ({type(error).__name__}: {error})") from None

    @property
    def message(self) -> str:
        """What is restored, and what is lost."""
        restored = f"restored the state of {self.saved_at:%F %T} UTC"
        if self.has_ended:
            return f"{restored}, without metrics and log events"
        return (
            f"{restored}, without metrics and log events. The local SageMaker was killed, or ended "
            "while a stack was changing: later changes of stacks, endpoints, tables and other "
            "resources are lost, and buckets created later; objects of other buckets are the latest"
        )


def _unusable(folder: Folder, problem: str) -> LocalSageMakerError:
    return LocalSageMakerError(
        f"{folder.kept_state} {problem}: run `up` without --keep, which deletes it and starts empty"
    )
