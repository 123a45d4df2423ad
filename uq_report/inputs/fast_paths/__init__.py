"""Shortcuts to predictions of changed rows, one file a structure of models."""
