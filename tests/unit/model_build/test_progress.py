import pytest

from model_build.progress import printer


def test_a_line_says_what_begins_for_which_model_and_after_how_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([100.0, 100.0, 112.34])
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    say = printer("minilm")
    say("exporting")
    say("packing")
    captured = capsys.readouterr()
    assert captured.err == "minilm    0.0 s  exporting\nminilm   12.3 s  packing\n"
    assert captured.out == ""  # standard output is for results
