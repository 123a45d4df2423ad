"""Selective prediction: whether referring the most uncertain cases removes errors."""
