"""The local AWS's one URL: our own services answer, and ministack does the rest."""
