import pytest

from platform_facts import ComputeCapability


def test_parse_and_format() -> None:
    assert ComputeCapability.parse("8.6") == ComputeCapability(8, 6)
    assert str(ComputeCapability(10, 0)) == "10.0"


def test_order_is_numeric() -> None:
    in_order = ["3.7", "7.5", "8.6", "8.9", "9.0", "10.0", "12.1"]
    assert sorted(map(ComputeCapability.parse, reversed(in_order))) == [
        ComputeCapability.parse(text) for text in in_order
    ]


@pytest.mark.parametrize("text", ["86", "sm_86", "8.", ".6", "8.6.1", "08.6", " 8.6", ""])
def test_invalid_notation_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r'is not a compute capability: write it like "8\.6"'):
        ComputeCapability.parse(text)
