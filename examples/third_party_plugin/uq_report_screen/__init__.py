"""One plugin of each kind around one idea: does the model's doubt follow a feature, and rightly so."""
