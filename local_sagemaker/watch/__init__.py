"""What the local SageMaker does, to be looked at: one JSON document, and a page that shows it."""
