"""Models with a trait of their own: random models, stored predictions, series."""
