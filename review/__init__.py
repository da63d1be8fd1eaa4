"""What a pull request will do to running endpoints, models and access."""
