"""Schema of a stage file: its types, names and enumerations.

Endpoints and stages pass their values to the rules in `platform_facts.rules`, which report an error
with its key and therefore its line.
"""
