"""YAML files read into pydantic models, with every error at its file and line."""

from checked_yaml._load import InvalidFile, Problem, load

__all__ = ["InvalidFile", "Problem", "load"]
