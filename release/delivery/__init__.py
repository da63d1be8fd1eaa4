"""The way of a commit to a stage, and back."""
