"""Deliver a commit to a stage, verify it, and roll back."""
