"""Mixtures over members."""
