"""
Coverage of central intervals
=============================

The share of outcomes inside central prediction intervals, against the stated share.
"""

from example import regressor

import uq_report as uq

figure = uq.calibration(regressor)["calibration.coverage"].plot()
