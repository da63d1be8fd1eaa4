import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class ComputeCapability:
    """The version of an NVIDIA GPU architecture, ordered numerically: 8.6 < 8.9 < 10.0."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> "ComputeCapability":
        """Parse a text such as "8.6". Raise `ValueError` for other formats."""
        match = re.fullmatch(r"([1-9][0-9]?)\.([0-9])", text, flags=re.ASCII)
        if match is None:
            raise ValueError(f'"{text}" is not a compute capability: write it like "8.6"')
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


AMPERE = ComputeCapability(8, 0)
"""The lowest compute capability that compiles and runs hardware-compatible TensorRT engines
(AMPERE_PLUS; TensorRT documentation, hardware compatibility)."""
