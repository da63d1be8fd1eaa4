from dataclasses import dataclass
from functools import cache

from platform_facts._tables import find, read_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """A Triton backend that SageMaker's images have or had. Source: releases.toml.

    `name` is what config.pbtxt calls it. `last_release` is the last NVIDIA container that has it,
    None while it is still shipped.
    """

    name: str
    last_release: str | None
    source: str
    unsourced: tuple[str, ...]

    def is_in(self, release_name: str) -> bool:
        """Whether the release of that name ("25.09") has this backend."""
        # "YY.MM" with its leading zero sorts as text.
        return self.last_release is None or release_name <= self.last_release


def backends() -> tuple[Backend, ...]:
    """Return every backend that some release has."""
    return tuple(_by_name().values())


def backend(name: str) -> Backend:
    """Return the backend called `name`, such as "onnxruntime". Raises UnknownFact."""
    return find("Triton backend", name, _by_name())


@cache
def _by_name() -> dict[str, Backend]:
    return {
        row["name"]: Backend(
            name=row["name"],
            last_release=row.get("last_release"),
            source=row["source"],
            unsourced=tuple(row.get("unsourced", ())),
        )
        for row in read_table("releases.toml")["backend"]
    }
