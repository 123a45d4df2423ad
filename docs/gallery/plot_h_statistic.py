"""
H-statistic
===========

The strength of interactions.
"""

from example import subject

import uq_report as uq

uq.audit(subject, explainers=["h_statistic"], progress=False).result("h_statistic").plot()
