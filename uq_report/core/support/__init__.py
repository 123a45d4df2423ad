"""Errors, text, numbers, arrays and processes: what every room uses."""
