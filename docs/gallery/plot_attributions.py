"""
Shapley values
==============

Mean absolute Shapley values of the prediction and of the entropy.
"""

from example import subject

import uq_report as uq

figure = uq.attributions(subject, measures=["prediction", "entropy"]).plot()
