"""
Residuals against predictions
=============================

Outcomes minus predictions, and their mean by quantile of the prediction.
"""

from example import regressor

import uq_report as uq

figure = uq.calibration(regressor)["calibration.residuals"].plot()
