"""
Selective prediction
====================

The error rate of the observations that are kept when the most uncertain ones are referred to a person.
"""

from example import subject

import uq_report as uq

figure = uq.selective(subject)["selective.curve"].plot()
