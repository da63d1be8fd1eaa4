from dataclasses import dataclass
from functools import cache

from platform_facts._tables import find, read_table


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceAmi:
    """A value of InferenceAmiVersion with a GPU driver. Source: inference_amis.toml.

    `cuda` is the CUDA version of the driver ("13.0").
    """

    name: str
    cuda: str
    source: str


def inference_amis() -> tuple[InferenceAmi, ...]:
    """Return every inference AMI with a GPU driver, oldest driver first."""
    return tuple(_by_name().values())


def inference_ami(name: str) -> InferenceAmi:
    """Return the AMI with this InferenceAmiVersion. Raise UnknownFact."""
    return find("InferenceAmiVersion with a GPU driver", name, _by_name())


@cache
def _by_name() -> dict[str, InferenceAmi]:
    rows = read_table("inference_amis.toml")["inference_ami"]
    return {row["name"]: InferenceAmi(**row) for row in rows}
