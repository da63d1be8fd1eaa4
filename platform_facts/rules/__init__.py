"""Rules that relate the values of a stage or of an endpoint.

Each is a pure function over plain values: it returns the problems, each with the path of a key.
A stage's file is checked by them when it is loaded, and the construct library calls the same ones.
A rule over several values is about one key, which the message tells how to mend.
"""

from platform_facts.rules.rule import RULES, Keys, Rule, Violation, prefix_violations

__all__ = ["RULES", "Keys", "Rule", "Violation", "prefix_violations"]
