"""The dashboard of the local SageMaker: a JSON document, and a page that shows it."""
