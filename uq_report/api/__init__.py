"""What users call: explain a model, ask for what drives it, audit it, look at one case, load the audit again."""
