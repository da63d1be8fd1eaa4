"""The review of a change: its effect on endpoints, models, access and cost."""
