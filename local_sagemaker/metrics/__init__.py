"""What SageMaker publishes of endpoints into CloudWatch."""
