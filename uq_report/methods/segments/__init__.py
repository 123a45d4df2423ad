"""Uncertainty by segment: where the model is uncertain or wrong, by small trees grown on one half of the rows."""
