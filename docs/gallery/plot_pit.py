"""
Probability integral transform
==============================

Outcomes on the scale of the predictive distribution: uniform if the distribution is calibrated.
"""

from example import regressor

import uq_report as uq

figure = uq.calibration(regressor)["calibration.pit"].plot()
