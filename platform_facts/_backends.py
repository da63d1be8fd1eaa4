from dataclasses import dataclass
from functools import cache

from platform_facts._tables import find, read_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """A Triton backend in current or earlier SageMaker images. Source: releases.toml.

    `name` is the name in config.pbtxt. `last_release` is the last NVIDIA container with the
    backend, None if the newest one has it.
    """

    name: str
    last_release: str | None = None

    def is_in(self, release_name: str) -> bool:
        """Return whether the release with this name ("25.09") has the backend."""
        # Names "YY.MM" have leading zeros, so text comparison works.
        return self.last_release is None or release_name <= self.last_release


def backends() -> tuple[Backend, ...]:
    """Return every backend of at least one release."""
    return tuple(_by_name().values())


def backend(name: str) -> Backend:
    """Return the backend called `name`, such as "onnxruntime". Raise `UnknownFact`."""
    return find("Triton backend", name, _by_name())


@cache
def _by_name() -> dict[str, Backend]:
    return {
        row["name"]: Backend(name=row["name"], last_release=row.get("last_release"))
        for row in read_table("releases.toml")["backend"]
    }
