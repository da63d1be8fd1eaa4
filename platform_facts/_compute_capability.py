import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class ComputeCapability:
    """NVIDIA's version of a GPU architecture, ordered as a number pair: 8.6 < 8.9 < 10.0."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> "ComputeCapability":
        """Read "8.6". Raises ValueError for anything else, "86" and "sm_86" included."""
        match = re.fullmatch(r"([1-9][0-9]?)\.([0-9])", text, flags=re.ASCII)
        if match is None:
            raise ValueError(f'"{text}" is not a compute capability: write it like "8.6"')
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


AMPERE = ComputeCapability(8, 0)
"""The first on which hardware-compatible TensorRT engines (AMPERE_PLUS) are compiled and run
(TensorRT documentation, hardware compatibility)."""
