"""The model under audit: subject, adapter, measures, variants, results."""
