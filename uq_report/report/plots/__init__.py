"""Figures of the report itself; those of a method stand with the method."""
