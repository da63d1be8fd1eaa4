"""Validation of requests, also of those that ministack answers.

`model` has the constraints of botocore's models, `members` the supported members of this package's
services, `documented` rules that only AWS's documents have, and `hosting` those of SageMaker.
"""
