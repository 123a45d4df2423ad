"""
Several models in one figure
============================

The same figure for each of several models or data sets.
"""

from example import X, model, y

import uq_report as uq

halves = {"first half": uq.explain(model, X[280:425], y[280:425]), "second half": uq.explain(model, X[425:], y[425:])}
figure = uq.importance(halves, "nll", n_repeats=5).plot()
