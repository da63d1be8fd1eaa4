"""YAML files read into pydantic models, with every error at its file and line."""

from checked_yaml._load import InvalidFile, Problem, line_of, load

__all__ = ["InvalidFile", "Problem", "line_of", "load"]
