"""Rules that relate the values of a stage or of an endpoint.

Each rule is a pure function over plain values; it returns violations with the path of a key. The
loader of stage files and the construct library call the rules. A rule over several values reports
one key, and its message names the fix.
"""

from platform_facts.rules.rule import RULES, Keys, Rule, Violation, prefix_violations

__all__ = ["RULES", "Keys", "Rule", "Violation", "prefix_violations"]
