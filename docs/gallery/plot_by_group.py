"""
Profile by group
================

The average effect of a feature in each protected group.
"""

from example import regressor

import uq_report as uq

figure = uq.profile(regressor, "bmi", "prediction").plot(by="age_group")
