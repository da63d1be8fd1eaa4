"""SageMaker hosting: its control plane, its runtime, and its CloudFormation types."""
