"""What holds for the tests of every tier."""

from hypothesis import HealthCheck, settings

# How long an example takes, or is drawn for, says how busy the machine is and nothing of the code.
settings.register_profile(
    "unhurried", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")
