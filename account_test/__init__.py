"""Answers the open questions of docs/aws.md in an AWS account: `make account-test`."""
