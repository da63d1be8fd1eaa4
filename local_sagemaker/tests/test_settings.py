import pytest

from local_sagemaker import settings
from local_sagemaker.errors import LocalSageMakerError


@pytest.mark.parametrize(("value", "expected"), [(None, 2), ("", 2), ("1", 1), ("12", 12)])
def test_limit_of_processes_per_variant(
    monkeypatch: pytest.MonkeyPatch, value: str | None, expected: int
) -> None:
    monkeypatch.delenv(settings.INSTANCES, raising=False)
    if value is not None:
        monkeypatch.setenv(settings.INSTANCES, value)
    assert settings.max_processes() == expected


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", " 2", "4 GiB"])
def test_invalid_whole_number_is_rejected(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(settings.DISK, value)
    with pytest.raises(LocalSageMakerError, match=f"{settings.DISK} is '{value}': expected"):
        settings.whole_number(settings.DISK)


def test_speed_defaults_to_60(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(settings.SPEED, raising=False)
    assert settings.speed() == 60
    monkeypatch.setenv(settings.SPEED, "0.5")
    assert settings.speed() == 0.5


@pytest.mark.parametrize("value", ["fast", "0", "0.0", "-1", "inf", "nan"])
def test_invalid_speed_is_rejected(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(settings.SPEED, value)
    with pytest.raises(LocalSageMakerError, match="expected a number above 0, such as 60"):
        settings.speed()
