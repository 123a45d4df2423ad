"""
ROC curve
=========

The true-positive rate against the false-positive rate at every decision threshold.
"""

from example import subject

import uq_report as uq

figure = uq.calibration(subject)["calibration.roc"].plot()
