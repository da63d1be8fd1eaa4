"""The local SageMaker's one URL: our own services answer, and ministack does the rest."""
