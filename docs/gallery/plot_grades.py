"""
Calibration by grade
====================

Stated probabilities and observed frequencies by the grades of the owner.
"""

from example import subject

import uq_report as uq

figure = uq.calibration(subject, grades=[0.2, 0.5, 0.8])["calibration.grades"].plot()
