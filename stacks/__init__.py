"""The stacks of a stage: the units of deployment."""

from stacks.stage_stacks import USER_ERRORS, add_stacks, synthesise

__all__ = ["USER_ERRORS", "add_stacks", "synthesise"]
