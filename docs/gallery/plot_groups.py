"""
Protected groups
================

Differences between protected groups, with intervals.
"""

from example import regressor

import uq_report as uq

figure = uq.groups(regressor).plot()
