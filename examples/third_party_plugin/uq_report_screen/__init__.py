"""One plugin of each kind: they show where along a feature the log loss exceeds the entropy."""
