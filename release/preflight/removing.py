"""What a preflight makes in the account, and removes again whatever ends it."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from botocore.exceptions import BotoCoreError, ClientError

from release.preflight.answers import why
from release.preflight.rows import Row, Topic


class Made(ExitStack):
    """What was made, removed at the end of the `with` block, the last first.

    What cannot be removed becomes a row of `left` and hinders neither the other removals nor what
    ended the block: an interrupt goes through, with a note of what it leaves.
    """

    def __init__(self, topic: Topic, left: list[Row]) -> None:
        super().__init__()
        self._topic, self._left = topic, left

    def remove(self, what: str, do: str, remove: Callable[[], object]) -> None:
        """Remove it at the end. `do`: the command by which a person does."""
        self.push(partial(self._removed, what, do, remove))

    def _removed(
        self,
        what: str,
        do: str,
        remove: Callable[[], object],
        _: object,
        ending: BaseException | None,
        __: object,
    ) -> bool:
        try:
            remove()
        except (ClientError, BotoCoreError) as error:
            row = self._topic.unknown(what, f"is left: {why(error)}", do)
            self._left.append(row)
            if isinstance(ending, KeyboardInterrupt):
                ending.add_note(f"{row.subject} {row.said}: {do}")
        except KeyboardInterrupt as again:
            again.add_note(f"{what} may be left: {do}")
            raise
        return False
