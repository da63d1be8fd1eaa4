"""Times in the time zone of this machine."""

from datetime import datetime


def on_the_clock(time: datetime, now: datetime) -> str:
    """Return a time in this machine's zone, with its day where that is not today."""
    local = time.astimezone()
    return (
        f"{local:%H:%M:%S}" if local.date() == now.astimezone().date() else f"{local:%F %H:%M:%S}"
    )
