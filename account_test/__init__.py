"""Test of the open assumptions of docs/aws.md in an AWS account: `make account-test`."""
