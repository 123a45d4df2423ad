"""How well the other features tell a feature: what dependence does to importances."""
