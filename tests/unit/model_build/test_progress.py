import pytest

from model_build.progress import Printer


def test_line_has_model_and_elapsed_seconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([100.0, 100.0, 112.34])
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    progress = Printer("minilm")
    progress("exporting")
    progress("packing")
    captured = capsys.readouterr()
    assert captured.err == "minilm    0.0 s  exporting\nminilm   12.3 s  packing\n"
    assert captured.out == ""
