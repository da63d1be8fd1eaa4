"""The metrics of endpoints that SageMaker publishes to CloudWatch."""
