"""TorchScript files are read as a zip: torch would run what it loads."""

import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from model_build.formats.torchscript import tensors as torchscript_tensors
from model_build.formats.torchscript.tensors import NotTorchScript


class Pair(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> Any:
        return a + b, b


class Named(torch.nn.Module):
    def forward(self, a: torch.Tensor) -> Any:
        return {"x": a}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("module", "arguments", "outputs"),
    [(Pair(), ["a", "b"], 2), (Named(), ["a"], None), (torch.nn.Linear(1, 1), ["input"], 1)],
)
def test_arguments_and_outputs_are_those_that_torch_knows(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: torch.nn.Module,
    arguments: list[str],
    outputs: int | None,
) -> None:
    inputs = tuple(torch.ones(1) for _ in arguments)
    traced = torch.jit.trace(module, inputs, strict=False)  # type: ignore[no-untyped-call]
    torch.jit.save(traced, tmp_path / "model.pt")
    known = [it.name for it in traced.forward.schema.arguments]
    monkeypatch.delattr(torch.jit, "load")
    forward = torchscript_tensors._forward(tmp_path / "model.pt")
    assert forward is not None
    assert [it.arg for it in forward.args.args] == ["self", *arguments] == known
    assert torchscript_tensors._number_of_outputs(forward) == outputs


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"a/data.pkl": b"no pickle"},
        {"a/data.pkl": b"\x80\x02c__torch__\nM\n."},
        {"a/data.pkl": b"\x80\x02c__torch__\nM\n.", "a/code/__torch__.py": b"class ("},
        {"a/data.pkl": b"\x80\x02c__torch__\nM\n.", "a/code/__torch__.py": b"x = 1"},
        {"a/data.pkl": b"\x80\x02cos\nsystem\n(S'touch ran'\ntR."},
    ],
    ids=["empty", "no pickle", "no code", "no Python", "no class", "a pickle that runs"],
)
def test_a_zip_of_something_else_is_none(tmp_path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(tmp_path / "model.pt", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(NotTorchScript):
        torchscript_tensors._forward(tmp_path / "model.pt")


def test_a_member_that_unpacks_to_gigabytes_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torchscript_tensors, "LARGEST", 10)
    with zipfile.ZipFile(tmp_path / "model.pt", "w") as archive:
        archive.writestr("a/data.pkl", b"x" * 11)
    with pytest.raises(NotTorchScript, match="has more than 10 bytes"):
        torchscript_tensors._forward(tmp_path / "model.pt")
