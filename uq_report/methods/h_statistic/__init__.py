"""Friedman's H: which features act together."""
