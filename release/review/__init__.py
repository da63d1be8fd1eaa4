"""What a pull request will do to running endpoints, models, access and money."""
