"""
Decision curve
==============

The net benefit of deciding by the model, beside that of treating all and none.
"""

from example import subject

import uq_report as uq

figure = uq.calibration(subject)["calibration.net_benefit"].plot()
