"""The HTTP front of the local SageMaker: own services, and a proxy to ministack."""
