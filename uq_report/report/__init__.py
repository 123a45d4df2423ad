"""A run becomes a document."""
