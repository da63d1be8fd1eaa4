"""The schema of a stage's YAML file: its types, names and enumerations.

Endpoints and stages hand their values to the rules of `platform_facts.rules`, so that an error
stands at the line that causes it.
"""
