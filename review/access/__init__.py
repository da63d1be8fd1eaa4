"""Comparison of policies by the permissions that they grant."""
