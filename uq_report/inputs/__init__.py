"""What users bring: models of every family, and files of every format."""
