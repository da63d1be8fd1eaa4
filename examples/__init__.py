"""The client half of the articles: short scripts to copy from.

Each does its work twice: by a model's name through `endpoint_client`, and with plain boto3 and
tritonclient, which is all that it does inside.
"""
